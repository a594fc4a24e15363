"""`citemesh ingest`."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from citemesh.client.mesh import Mesh
from citemesh.errors import InvalidInput
from cli.documents.ingestion_run import IngestionRun
from cli.documents.ingestion_view import summarise, view_of
from cli.documents.journal import Journal
from cli.documents.walk import KINDS, require, walk
from cli.documents.watch import Watch, WatchOptions
from cli.documents.watch_view import JsonWatchView, TextWatchView, WatchView
from cli.terminal.connect import connect, json_option, reporting, run, settings_for, state_dir_option
from cli.terminal.options import collection_option
from cli.terminal.settings import CliSettings
from cli.terminal.terminal import console

_HELP = f"""Take in documents: files or whole folders, once or for good.

{KINDS} are read. The same bytes twice are one document; each row of a table is
one. In folders, hidden files and files of other kinds are passed over. Exit status 1 when a file, or a row of one,
could not be taken in; the others are.

With --watch the folders are followed until Ctrl-C: new and changed files are taken in once they have been left alone
for a second. A document whose file is gone stays, unless --delete is given; then what was deleted between two watches
goes too. When the mesh goes away, the watch waits for it."""


@click.command(help=_HELP)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@collection_option("Collection to put them in (default: default).")
@click.option("--replace", is_flag=True, help="Let a changed file replace what was taken in from the same path.")
@click.option("--watch", is_flag=True, help="Follow the folders until Ctrl-C; a changed file replaces its document.")
@click.option("--delete", is_flag=True, help="With --watch: delete the documents of files that are gone.")
@click.option(
    "--patience",
    "patience_s",
    type=click.FloatRange(min=0),
    default=3600.0,
    show_default=True,
    help="With --watch: seconds that the mesh may stay away.",
)
@click.option("--target", help="gRPC address of the retrieval service; the running mesh's when left out.")
@click.option("--key", help="API key; the running mesh's default key when left out.")
@state_dir_option
@json_option
@reporting
def ingest(
    paths: tuple[Path, ...],
    collection: str,
    replace: bool,
    watch: bool,
    delete: bool,
    patience_s: float,
    target: str | None,
    key: str | None,
    state_dir: Path | None,
    as_json: bool,
) -> int:
    """The command; see its help."""
    settings = settings_for(state_dir)

    def connected() -> Mesh:
        return connect("retrieval", settings, target, key)

    if watch:
        options = WatchOptions(paths, collection, delete, patience_s)
        return run(_watch(options, connected, _journal(settings, options, target), as_json))
    if delete:
        raise InvalidInput("--delete", "it needs --watch", "`citemesh document delete ID` deletes single documents")
    return run(follow(connected(), IngestionRun.of(walk(paths), collection, replace), as_json))


async def follow(mesh: Mesh, intake: IngestionRun, as_json: bool = False) -> int:
    """Runs an intake with its progress shown; answers the exit status."""
    out, start_s = console(), time.monotonic()
    async with mesh:
        with view_of(out, intake.items, as_json) as view:
            intake.changed = view.update
            await intake.run(mesh)
    if not as_json:
        summarise(out, intake.items, time.monotonic() - start_s)
    return 1 if intake.faulty else 0


def _journal(settings: CliSettings, options: WatchOptions, target: str | None) -> Journal | None:
    """Only who deletes needs to know what was there."""
    if not options.delete:
        return None
    return Journal(settings.state_dir, options.paths, options.collection, target or "")


async def _watch(options: WatchOptions, connected: Callable[[], Mesh], journal: Journal | None, as_json: bool) -> int:
    require(options.paths)
    out = console()
    view: WatchView = JsonWatchView() if as_json else TextWatchView(out)
    working = asyncio.ensure_future(Watch(options, connected, view, journal).run())
    stopped = _cancel_on_signals(working, (signal.SIGINT, signal.SIGTERM))
    try:
        await working
    except asyncio.CancelledError:
        if not stopped.is_set():
            raise
    if not as_json:
        out.print("Stopped watching. What was taken in stays.")
    return 0


def _cancel_on_signals(task: asyncio.Future[None], numbers: Sequence[signal.Signals]) -> asyncio.Event:
    """The event says that it was a signal, and no failure, that ended the task."""
    signalled = asyncio.Event()

    def stop() -> None:
        signalled.set()
        task.cancel()

    for number in numbers:
        asyncio.get_running_loop().add_signal_handler(number, stop)
    return signalled
