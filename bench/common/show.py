"""Predictions, progress and reports for people: rich on a terminal, plain text otherwise."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from bench.common.report import Cell, Figure, Question, Report, Table

PLAIN_WIDTH = 120
_WIDEST = 400
out = Console(highlight=False)
if not out.is_terminal:
    out = Console(highlight=False, width=PLAIN_WIDTH)
errors = Console(stderr=True, highlight=False)


def predictions(title: str, questions: Sequence[Question]) -> None:
    """Says what is going to be measured and what is expected, before anything runs."""
    out.print(f"[bold]{title}[/bold]")
    rows = [
        (q.name, f"{q.prediction.low:g} … {q.prediction.high:g}", str(q.aim or ""), q.prediction.why)
        for q in questions
        if q.prediction
    ]
    grid(Table("Predicted, before measuring", ("figure", "expected", "aim", "because"), rows))


def report(found: Report) -> None:
    """Says what was found."""
    rows = [_figure_row(figure) for figure in found.figures]
    columns = ("figure", "value", "95 % interval", "rounds", "expected", "aim")
    for table in (*found.tables, Table("Figures", columns, rows)):
        grid(table)
    for note in found.notes:
        out.print(f"- {note}", markup=False)
    if found.busy:
        one, five, _ = found.load_before
        out.print(f"- The machine was busy before this began (load {one:.1f}, over 5 minutes {five:.1f}).")
    out.print(found.machine.line(), style="dim", markup=False)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Shows how far a loop is; yields what to call after each round."""
    if errors.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=errors, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda: bar.advance(task)
        return
    done = 0

    def step() -> None:
        nonlocal done
        before, done = 4 * done // total, done + 1
        if 4 * done // total != before:
            say(f"{what}: {done}/{total}")

    yield step


def say(line: str) -> None:
    """A line on standard error about what goes on."""
    errors.print(line, markup=False, style="dim")


def _wide_enough(lines: Grid) -> Console:
    """The terminal; elsewhere one that is so wide that no word has to be broken."""
    if out.is_terminal:
        return out
    unbroken = Measurement.get(out, out.options.update(max_width=_WIDEST), lines).minimum
    return Console(highlight=False, width=max(PLAIN_WIDTH, unbroken))


def _figure_row(figure: Figure) -> tuple[Cell, ...]:
    question, answer = figure.question, figure.answer
    expected = {None: "", True: "yes", False: "NO"}[figure.as_predicted]
    if question.prediction:
        expected = f"{expected} ({question.prediction.low:g} … {question.prediction.high:g})"
    aim = {None: "", True: "met", False: "MISSED"}[figure.aim_met]
    if question.aim:
        aim = f"{aim} ({question.aim})"
    value = f"{number(answer.value)} {question.unit}".strip()
    return question.name, value, f"{number(answer.low)} … {number(answer.high)}", answer.samples, expected, aim


def number(value: Cell) -> str:
    """A number with three or so digits; other cells as they are."""
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
    return str(value)


def grid(shown: Table) -> None:
    """Says a table."""
    lines = Grid(title=shown.title, title_justify="left", box=box.SIMPLE_HEAD if out.is_terminal else box.ASCII)
    for at, name in enumerate(shown.columns):
        numeric = bool(shown.rows) and all(isinstance(row[at], int | float) for row in shown.rows)
        lines.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in shown.rows:
        lines.add_row(*(number(cell) for cell in row))
    _wide_enough(lines).print(lines)
