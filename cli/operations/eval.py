"""`citemesh eval`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from citemesh.client.mesh import Mesh
from citemesh.client.types import Question, SearchFilter
from citemesh.contract.bounds import MOST_HOPS
from citemesh.evaluation import questions, record, report
from citemesh.evaluation.certainty import Difference
from citemesh.evaluation.questions import EvaluationQuestion
from citemesh.evaluation.record import EvaluationRecord
from citemesh.evaluation.run import MeasuredAnswer, evaluate
from cli.terminal.connect import connect, connection_options, reporting, run, settings_for
from cli.terminal.options import collections_option, filter_options
from cli.terminal.terminal import console, printable

QUICK = 20
TIMEOUT_S = 300.0
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(name="eval")
@click.argument("file", type=_FILE)
@collections_option
@click.option("--mode", type=click.Choice(["generated", "extractive"]), default=None, help="How to answer.")
@click.option(
    "--max-hops", type=click.IntRange(0, MOST_HOPS), default=0, help="Most searches a question; 0: the gateway's."
)
@click.option("--name", default="", help="What to call this run; the file's name when left out.")
@click.option("--concurrency", type=click.IntRange(1, 64), default=2, show_default=True, help="Questions at once.")
@click.option("--quick", is_flag=True, help=f"Asks the first {QUICK} questions only.")
@click.option("--json", "json_file", type=_FILE, help="Writes the whole run to a file, which --compare reads.")
@click.option("--html", "html_file", type=_FILE, help="Writes a report with the worst cases first.")
@click.option("--compare", type=_FILE, help="An earlier run's --json file: differences, question by question.")
@connection_options
@reporting
@filter_options
def eval(
    file: Path,
    collections: tuple[str, ...],
    mode: str | None,
    max_hops: int,
    name: str,
    concurrency: int,
    quick: bool,
    json_file: Path | None,
    html_file: Path | None,
    compare: Path | None,
    source_filter: SearchFilter,
    target: str | None,
    key: str | None,
    state_dir: Path | None,
    timeout_s: float | None,
) -> int:
    """Ask a set of questions and measure the answers.

    FILE is JSON Lines: {"question": "…", "answers": ["…"], "evidence": [{"document_id" | "title" | "quote": "…"}]}, of
    which only the question must be there. Said are evidence recall, citation precision and recall, the share of
    supported sentences, the match with right answers, time and tokens, each with its 95 % interval over the questions.
    """
    file_questions = questions.read(file)[: QUICK if quick else None]
    before = record.read(compare) if compare else None
    form = Question(
        question="",
        collection=collections[0] if collections else "",
        more_collections=collections[1:],
        mode=mode or "",
        max_hops=max_hops,
        filter=source_filter,
        skip_cache=True,
    )
    mesh = connect("gateway", settings_for(state_dir), target, key)
    return run(
        _eval(
            mesh,
            file_questions,
            form,
            concurrency,
            timeout_s or TIMEOUT_S,
            _Output(name or file.name, before, json_file, html_file),
        )
    )


class _Output:
    """Where a run's figures go."""

    def __init__(
        self, name: str, before: EvaluationRecord | None, json_file: Path | None, html_file: Path | None
    ) -> None:
        self._name = name
        self._before = before
        self._json_file = json_file
        self._html_file = html_file

    def write(self, answers: Sequence[MeasuredAnswer], asked_with: Mapping[str, Any]) -> None:
        """Prints the figures and writes the files."""
        evaluation = EvaluationRecord(self._name, asked_with, tuple(map(record.case, answers)))
        differences = record.compare(self._before, evaluation) if self._before else {}
        if self._json_file:
            text = json.dumps(record.to_json(evaluation, differences), ensure_ascii=False, indent=1)
            self._json_file.write_text(text + "\n", encoding="utf-8")
        if self._html_file:
            against = self._before.name if self._before else ""
            self._html_file.write_text(report.page(evaluation, differences, against), encoding="utf-8")
        show(evaluation, differences)


def show(evaluation: EvaluationRecord, differences: Mapping[str, Difference]) -> None:
    """Prints the figures of a run, and what differs from the run before."""
    table = Table("measure", "mean", "95 %", "questions", *(["difference", "p"] if differences else []), box=None)
    for name, figure in evaluation.figures().items():
        row = [name, f"{figure.mean:.3f}", f"{figure.low:.3f} to {figure.high:.3f}", str(figure.questions)]
        other = differences.get(name)
        table.add_row(*row, *([f"{other.mean:+.3f}", f"{other.p:.3f}"] if other else []))
    out = console()
    out.print(table)
    errors = [case for case in evaluation.cases if case.error]
    for case in errors[:3]:
        out.print(printable(f"not answered: {case.question[:80]} ({case.error})"), style="red")


async def _eval(
    mesh: Mesh,
    file_questions: Sequence[EvaluationQuestion],
    form: Question,
    concurrency: int,
    timeout_s: float,
    output: _Output,
) -> int:
    with _progress(len(file_questions)) as done:
        async with mesh:
            answers = await evaluate(mesh.query, file_questions, form, concurrency, timeout_s, done)
    conditions = {
        "collection": form.collection or "default",
        "mode": form.mode or "automatic",
        "max_hops": form.max_hops,
    }
    output.write(answers, conditions)
    return 0 if any(not answer.outcome.error for answer in answers) else 1


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    columns = (TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), disable=not console(stderr=True).is_terminal) as progress:
        task = progress.add_task("asking", total=total)
        yield lambda: progress.advance(task)
