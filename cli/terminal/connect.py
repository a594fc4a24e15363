"""How a command reaches the mesh: by its options, its settings, or the note of the mesh that runs here."""

from __future__ import annotations

import asyncio
import functools
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click

from citemesh.client.mesh import Mesh
from citemesh.errors import CiteMeshError
from cli.local_mesh.keys import Keyring
from cli.local_mesh.runtime import find_running
from cli.terminal.failures import INTERRUPTED, report
from cli.terminal.settings import CliSettings, cli_settings

F = TypeVar("F", bound=Callable[..., Any])


def connection_options(command: F) -> F:
    """`--target`, `--key`, `--state-dir` and `--timeout`."""
    for option in (
        click.option(
            "--timeout", "timeout_s", type=click.FloatRange(min=0, min_open=True), help="Seconds it may take."
        ),
        click.option("--key", help="API key; the running mesh's default key when left out."),
        click.option("--target", help="gRPC address, host:port or unix:path; the running mesh's when left out."),
        state_dir_option,
    ):
        command = option(command)
    return command


def state_dir_option(command: F) -> F:
    """`--state-dir`."""
    kind = click.Path(path_type=Path, file_okay=False)
    help_text = "What the mesh keeps on this machine (default: CITEMESH_STATE_DIR or .citemesh)."
    return click.option("--state-dir", type=kind, help=help_text)(command)


def json_option(command: F) -> F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")(command)


def reporting(command: Callable[..., int | None]) -> Callable[..., None]:
    """Turns a command's failures into text (events with `--json`) and its answer into the exit status."""

    @functools.wraps(command)
    def run(**options: Any) -> None:
        try:
            status = command(**options) or 0
        except CiteMeshError as error:
            status = report(error, bool(options.get("as_json")))
        except KeyboardInterrupt:
            status = INTERRUPTED
        except BrokenPipeError:  # the reader of our output left, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            status = 0
        sys.exit(status)

    return run


def run(work: Coroutine[Any, Any, int | None]) -> int:
    """Runs a command's asynchronous part; Ctrl-C cancels it, and with it its calls."""
    return asyncio.run(work) or 0


def settings_for(state_dir: Path | None) -> CliSettings:
    """The settings, with the state directory of the command's own option where one is given."""
    settings = cli_settings()
    return settings.model_copy(update={"state_dir": state_dir}) if state_dir else settings


def connect(service: str, settings: CliSettings, target: str | None, key: str | None) -> Mesh:
    """A client with one target: the gateway's or, for documents, retrieval's ingress.

    Raises:
        PreconditionFailed: nothing says where the mesh is.
    """
    configured = settings.documents_target if service == "retrieval" else settings.target
    given_address = target or configured
    running = None if given_address else find_running(settings.state_dir)
    address, shards = (running.targets[service], running.shards) if running else (given_address or "", 1)
    return Mesh({service: address}, key or settings.key or _own_key(settings), settings.timeout_s, shards)


def connect_documents(state_dir: Path | None, timeout_s: float | None, target: str | None, key: str | None) -> Mesh:
    """A client of the retrieval service by a command's own options. Raises as `connect`."""
    settings = settings_for(state_dir)
    if timeout_s:
        settings = settings.model_copy(update={"timeout_s": timeout_s})
    return connect("retrieval", settings, target, key)


def _own_key(settings: CliSettings) -> str:
    """The default key of this machine; none where there is none: the mesh says then that it wants one."""
    keyring = Keyring(settings.state_dir)
    return keyring.default_key() if keyring.default_file.exists() else ""
