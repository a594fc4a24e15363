"""`citemesh ingest`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from citemesh.cli.connect import connect, json_option, reporting, run, settings_for, state_dir_option
from citemesh.cli.intake import ENDS, STATES, Intake, Item
from citemesh.cli.terminal import console, printable
from citemesh.cli.walk import walk
from citemesh.client.mesh import Mesh


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--collection", default="", help="Collection to put them in (default: default).")
@click.option("--replace", is_flag=True, help="Let a changed file replace what was taken in from the same path.")
@click.option("--target", help="gRPC address of the retrieval service; the running mesh's when left out.")
@click.option("--key", help="API key; the running mesh's default key when left out.")
@state_dir_option
@json_option
@reporting
def ingest(
    paths: tuple[Path, ...],
    collection: str,
    replace: bool,
    target: str | None,
    key: str | None,
    state_dir: Path | None,
    as_json: bool,
) -> int:
    """Take in documents: Markdown, text, HTML and PDF, files or whole folders.

    The same bytes twice are one document. Exit status 1 when a file could not be taken in; the others are.
    """
    settings = settings_for(state_dir)
    intake = Intake.of(walk(paths), collection, replace)
    mesh = connect("retrieval", settings, target, key)
    return run(follow(mesh, intake, as_json))


async def follow(mesh: Mesh, intake: Intake, as_json: bool = False) -> int:
    """Run an intake with its progress shown; answers the exit status."""
    out = console()
    started = time.monotonic()
    async with mesh:
        if as_json:
            intake.changed = lambda item: click.echo(json.dumps(item_json(item), ensure_ascii=False))
            await intake.run(mesh)
        elif out.is_terminal:
            with Bars(out, intake) as bars:
                intake.changed = bars.update
                await intake.run(mesh)
        else:
            intake.changed = lambda item: _say(out, item)
            await intake.run(mesh)
    if not as_json:
        _summarise(out, intake, time.monotonic() - started)
    return 1 if intake.failed else 0


def item_json(item: Item) -> dict[str, Any]:
    """A file's state for machines."""
    shown: dict[str, Any] = {"uri": item.found.uri, "state": item.state, "chunks": item.chunks}
    shown["document_id"] = item.document_id
    if item.state == "failed":
        shown["error"] = {"reason": item.reason, "message": item.message, "remedy": item.remedy}
    return shown


class Bars:
    """A bar for the whole, and one for each file on its way."""

    def __init__(self, out: Console, intake: Intake) -> None:
        self._intake = intake
        self._started = time.monotonic()
        columns = (TextColumn("{task.description}", markup=False), BarColumn(30), MofNCompleteColumn())
        self._progress = Progress(
            *columns, TextColumn("{task.fields[note]}", markup=False), TimeElapsedColumn(), console=out
        )
        self._total = self._progress.add_task("all files", total=len(intake.items), note="")
        self._tasks: dict[int, TaskID] = {}

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def update(self, item: Item) -> None:
        """Show an item's new state."""
        if item.state in ENDS:
            if (task := self._tasks.pop(id(item), None)) is not None:
                self._progress.remove_task(task)
            self._show_total()
            return
        if id(item) not in self._tasks:
            name = printable(item.found.uri)[-40:]
            self._tasks[id(item)] = self._progress.add_task(name, total=len(STATES) - 1, note="")
        step = STATES.index(item.state) if item.state in STATES else 0
        self._progress.update(self._tasks[id(item)], completed=step, note=item.state)

    def _show_total(self) -> None:
        done = [item for item in self._intake.items if item.state in ENDS]
        seconds = max(time.monotonic() - self._started, 1e-6)
        chunks = sum(item.chunks for item in done if item.state == "committed")
        note = f"{chunks / seconds:.1f} chunks/s"
        done_bytes = sum(item.size for item in done)
        if done_bytes and len(done) < len(self._intake.items):
            left_bytes = sum(item.size for item in self._intake.items) - done_bytes
            note += f", {_duration(seconds * left_bytes / done_bytes)} left"
        self._progress.update(self._total, completed=len(done), note=note)


def _say(out: Console, item: Item) -> None:
    """One line a file, for a pipe or a log."""
    if item.state in ENDS:
        detail = f"{item.reason}: {item.message}" if item.state == "failed" else f"{item.chunks} chunks"
        out.print(printable(f"{item.state} {item.found.uri} ({detail})"))


def _summarise(out: Console, intake: Intake, seconds: float) -> None:
    committed = [item for item in intake.items if item.state == "committed"]
    unchanged = sum(item.state == "unchanged" for item in intake.items)
    chunks = sum(item.chunks for item in committed)
    parts = [f"{len(committed)} taken in ({chunks} chunks)"]
    parts += [f"{unchanged} there already"] if unchanged else []
    parts += [f"{len(intake.failed)} failed"] if intake.failed else []
    out.print(f"{', '.join(parts)} in {_duration(seconds)}")
    if intake.failed:
        out.print(_failures(intake.failed))


def _failures(failed: list[Item]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("failed", overflow="fold")
    table.add_column("reason", style="red", no_wrap=True)
    table.add_column("what to do", overflow="fold")
    for item in failed:
        what = Text(printable("; ".join(part.rstrip(" .") for part in (item.message, item.remedy) if part)))
        table.add_row(Text(printable(item.found.uri)), Text(printable(item.reason)), what)
    return table


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{seconds:.1f} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"
