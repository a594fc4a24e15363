"""`citemesh up`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any

import click

from citemesh.errors import CiteMeshError, NotFound
from cli.documents.ingestion_run import IngestionRun
from cli.documents.walk import FoundFile, walk
from cli.local_mesh.layout import Layout, StackOptions
from cli.local_mesh.stack import Stack
from cli.operations import checks
from cli.operations.model_preparation import prepare_all
from cli.operations.service_settings import model_references
from cli.operations.up_view import JsonView, LineView, View
from cli.terminal.connect import json_option, reporting, run, settings_for, state_dir_option
from cli.terminal.settings import CliSettings
from cli.terminal.terminal import console

_LOOK_S = 0.2
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command()
@click.option("--mesh/--no-mesh", default=True, help="Run a sidecar beside each app (default), or none, to debug.")
@click.option(
    "--port-base", type=click.IntRange(1, 65000), help="Port of the public ingress; the others follow from it."
)
@click.option("--fake", is_flag=True, help="Use engines that need no model: fast, and their answers mean nothing.")
@click.option("--ingest/--no-ingest", default=True, help="Fill an empty store with the project's own documents.")
@state_dir_option
@json_option
@reporting
def up(mesh: bool, port_base: int | None, fake: bool, ingest: bool, state_dir: Path | None, as_json: bool) -> int:
    """Start the whole mesh on this machine and keep it running until Ctrl-C.

    Prepares the models that aren't ready, makes the first API key, starts the apps and their sidecars, and says where
    and how to ask. A program that crashes is started again. Ctrl-C lets calls in flight end; a second one doesn't.
    """
    settings = settings_for(state_dir)
    options = StackOptions(
        state_dir=settings.state_dir,
        port_base=port_base or settings.port_base,
        mesh=mesh,
        fake=fake,
        otlp_endpoint=settings.otlp_endpoint,
        models_dir=settings.models_dir,
        origins=settings.http_origins,
    )
    _get_ready(options, settings)
    view: View = JsonView() if as_json else LineView(console())
    return run(_up(Stack(options), view, ingest))


def _get_ready(options: StackOptions, settings: CliSettings) -> None:
    """Looks for what would fail later with a worse message, and prepare models."""
    looked = [checks.python(), checks.disk(settings.state_dir, "state"), checks.full_text_search()]
    if options.mesh:
        looked += [checks.envoy(), checks.policy(Layout(options))]
    checks.require(looked)
    if options.fake:
        return
    checks.require(
        [*checks.packages(without=() if options.mesh else ("mesh",)), checks.disk(settings.models_dir, "models")]
    )
    prepare_all(model_references(), settings.models_dir, console(stderr=True))


async def _up(stack: Stack, view: View, ingest: bool) -> int:
    stop = _stop_on_signals(stack)
    try:
        await _unless(stop, _start(stack, view))
        if ingest:
            await _unless(stop, _fill(stack, view))
        if not stop.is_set():
            view.ready(stack)
        await _watch(stack, view, stop)
    finally:
        if stack.started:
            view.say("stopping", "\nStopping: calls in flight may end; Ctrl-C again ends them now.")
        await stack.stop()
        view.say("stopped", "Stopped." if stack.started else "")
    return 0


async def _start(stack: Stack, view: View) -> None:
    await stack.start()
    view.begin(stack)
    waiting = asyncio.create_task(stack.wait_ready())
    try:
        while not waiting.done():
            view.update(stack)
            await asyncio.wait([waiting], timeout=_LOOK_S)
        await waiting
    finally:
        waiting.cancel()
        view.update(stack)
        view.close()


async def _watch(stack: Stack, view: View, stop: asyncio.Event) -> None:
    """Tells what changes until it is time to stop."""
    while not stop.is_set():
        view.update(stack)
        await _unless(stop, asyncio.sleep(_LOOK_S))


async def _fill(stack: Stack, view: View) -> None:
    """Takes in the sample corpus when nothing is stored yet. A failure is told, and the mesh stays up."""
    try:
        async with stack.client() as mesh:
            try:
                count = (await mesh.collections.get("default")).documents
            except NotFound:
                count = 0
            if count:
                return
            intake = IngestionRun.of(sample_corpus(stack.layout.root))
            view.say(
                "ingesting",
                f"Taking in the project's own {len(intake.items)} documents, to have something to ask about.",
            )
            await intake.run(mesh)
    except CiteMeshError as error:
        view.say("ingest_failed", f"The sample documents could not be taken in: {error}", reason=error.reason)
        return
    chunks = sum(item.chunks for item in intake.items)
    for item in intake.failed:
        view.say("ingest_failed", f"{item.file.uri}: {item.message}", uri=item.file.uri, reason=item.reason)
    count = len(intake.items) - len(intake.failed)
    view.say("ingested", f"{count} documents in {chunks} passages.", documents=count, chunks=chunks)


def sample_corpus(root: Path) -> list[FoundFile]:
    """The project's own pages: the README in each language it is there, and docs/.

    The site's first page is left out: it says the README again, as links, and would be cited in its place.
    """
    pages = [*root.glob("README*.md"), *root.glob("docs/*.md")]
    pages = sorted(page for page in pages if page.name != "index.md")
    return walk(pages, root) if pages else []


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do the work, but give it up when it is time to stop."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            await working
    finally:
        await _cancelled((working, stopping))


async def _cancelled(tasks: Iterable[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _stop_on_signals(stack: Stack) -> asyncio.Event:
    """An event that the first signal sets; the second ends everything at once."""
    stop = asyncio.Event()

    def stopping() -> None:
        if stop.is_set():
            stack.kill_all()
        stop.set()

    for number in _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, stopping)
    return stop
