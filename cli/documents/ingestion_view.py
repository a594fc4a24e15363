"""What `citemesh ingest` shows of its files: bars on a terminal, lines in a log, events for machines."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from cli.documents.ingestion_run import ENDS, STATES, Item
from cli.terminal.terminal import count, printable

_NAME_CHARACTERS = 40


class Totals:
    """Sums over the files of an ingestion, kept up while they change: there may be very many."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.files = len(items)
        self.done = 0
        self.chunks = 0
        self._bytes = sum(item.size for item in items)
        self._bytes_done = 0
        self._started = time.monotonic()
        self._counted: dict[int, int] = {}
        self._ended: set[int] = set()

    def take(self, item: Item) -> None:
        """Counts what changed of an item. Chunks count once they are kept: a table's row by row."""
        if item.state == "committed" or (item.rows and item.state not in ENDS):
            self.chunks += item.chunks - self._counted.get(id(item), 0)
            self._counted[id(item)] = item.chunks
        if item.state in ENDS and id(item) not in self._ended:
            self._ended.add(id(item))
            self.done += 1
            self._bytes_done += item.size

    @property
    def seconds(self) -> float:
        """Since the start."""
        return max(time.monotonic() - self._started, 1e-6)

    @property
    def seconds_left(self) -> float | None:
        """By the bytes that are done; None before anything is, and at the end."""
        if not self._bytes_done or self.done == self.files:
            return None
        return self.seconds * (self._bytes - self._bytes_done) / self._bytes_done


class IntakeView(Protocol):
    """What takes the news of an ingestion."""

    def update(self, item: Item) -> None:
        """An item changed."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class _Plain:
    """Nothing is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to close."""


class JsonLines(_Plain):
    """Every change of a file as one JSON object a line."""

    def update(self, item: Item) -> None:
        """Writes it."""
        click.echo(json.dumps(item_json(item), ensure_ascii=False))


class Lines(_Plain):
    """One line a file, for a pipe or a log."""

    def __init__(self, out: Console) -> None:
        self._out = out

    def update(self, item: Item) -> None:
        """Prints it once the file is done."""
        if item.state in ENDS:
            self._out.print(printable(f"{item.state} {item.file.uri} ({outcome(item)})"))
            for notice in item.notices:
                self._out.print(Text(printable(f"  {notice}"), style="yellow"))


class Bars:
    """A bar for the whole, and one for each file on its way."""

    def __init__(self, out: Console, items: Sequence[Item]) -> None:
        self._totals = Totals(items)
        self._notices: dict[str, int] = {}
        self._out = out
        columns = (TextColumn("{task.description}", markup=False), BarColumn(30), MofNCompleteColumn())
        self._progress = Progress(
            *columns, TextColumn("{task.fields[note]}", markup=False), TimeElapsedColumn(), console=out
        )
        self._total = self._progress.add_task("all files", total=len(items), note="")
        self._tasks: dict[int, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
        for notice, files in self._notices.items():
            self._out.print(
                Text(printable(f"{notice} ({count(files, 'file')})" if files > 1 else notice), style="yellow")
            )

    def update(self, item: Item) -> None:
        """Shows an item's new state."""
        self._totals.take(item)
        if item.state in ENDS:
            self._end(item)
        else:
            self._show(item)
        self._show_total()

    def _end(self, item: Item) -> None:
        if (task := self._tasks.pop(id(item), None)) is not None:
            self._progress.remove_task(task)
        for notice in item.notices:
            self._notices[notice] = self._notices.get(notice, 0) + 1

    def _show(self, item: Item) -> None:
        if id(item) not in self._tasks:
            name = printable(item.file.uri)[-_NAME_CHARACTERS:]
            self._tasks[id(item)] = self._progress.add_task(name, total=len(STATES) - 1, note="")
        step = STATES.index(item.state) if item.state in STATES else 0
        note = f"{item.rows} rows" if item.rows else item.state
        self._progress.update(self._tasks[id(item)], completed=step, note=note)

    def _show_total(self) -> None:
        note = f"{self._totals.chunks / self._totals.seconds:.1f} chunks/s"
        if (left := self._totals.seconds_left) is not None:
            note += f", {duration(left)} left"
        self._progress.update(self._total, completed=self._totals.done, note=note)


def view_of(out: Console, items: Sequence[Item], as_json: bool) -> IntakeView:
    """The view that fits where the output goes."""
    if as_json:
        return JsonLines()
    return Bars(out, items) if out.is_terminal else Lines(out)


def item_json(item: Item) -> dict[str, Any]:
    """A file's state for machines."""
    fields: dict[str, Any] = {"uri": item.file.uri, "state": item.state, "chunks": item.chunks}
    fields["document_id"] = item.document_id
    if item.rows or item.failed_rows:
        fields |= {"rows": item.rows, "failed_rows": item.failed_rows}
    if item.notices:
        fields["notices"] = item.notices
    if item.faulty:
        fields["error"] = {"reason": item.reason, "message": item.message, "remedy": item.remedy}
    return fields


def outcome(item: Item) -> str:
    """How a file ended, in a few words."""
    if item.state == "failed":
        return f"{item.reason}: {item.message}"
    chunks = count(item.chunks, "chunk")
    if not item.rows and not item.failed_rows:
        return chunks
    failed = f", {count(item.failed_rows, 'row')} failed" if item.failed_rows else ""
    return f"{count(item.rows, 'row')}, {chunks}{failed}"


def summarise(out: Console, items: Sequence[Item], seconds: float) -> None:
    """Prints what became of all of them, and what can be done about those that failed."""
    committed = [item for item in items if item.state == "committed"]
    unchanged = sum(item.state == "unchanged" for item in items)
    failed = sum(item.state == "failed" for item in items)
    rows = sum(item.rows for item in committed)
    chunks = count(sum(item.chunks for item in committed), "chunk")
    parts = [f"{len(committed)} taken in ({count(rows, 'row') + ', ' if rows else ''}{chunks})"]
    parts += [f"{unchanged} there already"] if unchanged else []
    parts += [f"{failed} failed"] if failed else []
    out.print(f"{', '.join(parts)} in {duration(seconds)}")
    if faulty := [item for item in items if item.faulty]:
        out.print(_failures(faulty))


def _failures(faulty: Sequence[Item]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("failed", overflow="fold")
    table.add_column("reason", style="red", no_wrap=True)
    table.add_column("what to do", overflow="fold")
    for item in faulty:
        reason = Text(printable("; ".join(part.rstrip(" .") for part in (item.message, item.remedy) if part)))
        name = item.file.uri if item.state == "failed" else f"{item.file.uri}: {count(item.failed_rows, 'row')}"
        table.add_row(Text(printable(name)), Text(printable(item.reason)), reason)
    return table


def duration(seconds: float) -> str:
    """A length of time for people."""
    whole_seconds = int(seconds)
    return f"{seconds:.1f} s" if whole_seconds < 60 else f"{whole_seconds // 60} min {whole_seconds % 60:02d} s"
