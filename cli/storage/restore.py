"""`citemesh restore`."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from citemesh.errors import DataLoss, InvalidInput, PreconditionFailed
from cli.local_mesh.runtime import find_running
from cli.terminal.connect import json_option, reporting, settings_for, state_dir_option
from cli.terminal.settings import CliSettings
from cli.terminal.terminal import console, count, printable

_MODULE = "services.retrieval.restore"
_REMEDY = "stop it with Ctrl-C where it runs, then restore"


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--prove", is_flag=True, help="Only prove the copy; nothing is changed, and the mesh may run.")
@click.option("--force", is_flag=True, help="Restore over a store that is there, which is kept under another name.")
@state_dir_option
@json_option
@reporting
def restore(directory: Path, prove: bool, force: bool, state_dir: Path | None, as_json: bool) -> int:
    """Make a store of what `citemesh snapshot` copied.

    The copy is proved first: it is whole, its counts agree, and every document is found by its own text. The mesh must
    not run here meanwhile. A store that is there already is left alone unless --force is given.
    """
    settings = settings_for(state_dir)
    if not directory.is_dir():
        raise InvalidInput("DIRECTORY", f"{directory} is no directory", "name what `citemesh snapshot` printed")
    if prove:
        _tell(_run(directory, None), as_json)
        return 0
    _require_stopped(settings)
    store = settings.state_dir / "store"
    with _made_way(store, force) as backup:
        report = _run(directory, store)
    _tell(report | ({"aside": str(backup)} if backup else {}), as_json)
    return 0


def _run(directory: Path, into: Path | None) -> dict[str, Any]:
    """Has the service restore, or only prove. Raises PreconditionFailed where it does not."""
    # Safe path, as for the apps: a folder named `services` where the user stands must not shadow ours.
    command = [sys.executable, "-P", "-m", _MODULE, str(directory), "--json"]
    command += ["--into", str(into)] if into else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        words = (done.stderr.splitlines() or ["it said nothing"])[-1]
        fault = f"the retrieval service could not restore: {words}"
        raise PreconditionFailed(
            "SERVICE_FAILED", fault, "install it, as in pip install 'citemesh[retrieval]'"
        ) from None
    if not report["ok"]:
        error = report["error"]
        if error["reason"] == DataLoss.reason:
            raise DataLoss(error["message"], error["remedy"])
        raise PreconditionFailed(error["reason"], error["message"], error["remedy"])
    return report


def _require_stopped(settings: CliSettings) -> None:
    """Raises PreconditionFailed where a mesh runs on the store."""
    try:
        running = find_running(settings.state_dir)
    except PreconditionFailed:
        return
    fault = f"a mesh runs in {settings.state_dir} (process {running.pid})"
    raise PreconditionFailed("MESH_RUNNING", fault, _REMEDY)


@contextmanager
def _made_way(store: Path, force: bool) -> Iterator[Path | None]:
    """Moves a store aside that is there, and back where the restoring fails; answers where it is.

    Raises PreconditionFailed for a store that is there without force, or that a process holds open.
    """
    if not store.is_dir() or not any(path.name != "lock" for path in store.iterdir()):
        yield None
        return
    if not force:
        remedy = "give another --state-dir, or --force to keep it aside"
        raise PreconditionFailed("STORE_NOT_EMPTY", f"there is a store in {store}", remedy)
    _require_unlocked(store / "lock")
    backup = store.with_name(f"{store.name}.{time.strftime('%Y%m%d-%H%M%S')}")
    store.rename(backup)
    try:
        yield backup
    except BaseException:
        shutil.rmtree(store, ignore_errors=True)  # what was begun; the store itself is aside
        backup.rename(store)
        raise


def _require_unlocked(lock: Path) -> None:
    """A service that was started by hand leaves no note of a mesh, but it holds its store's lock."""
    if not lock.exists():
        return
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = file.read(32).decode("ascii", "replace").strip() or "unknown"
            fault = f"the store {lock.parent} is held by process {holder}"
            raise PreconditionFailed("STORE_IN_USE", fault, _REMEDY) from None


def _tell(report: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(report, ensure_ascii=False))
        return
    out = console()
    for collection in report["collections"]:
        contents = f"{count(collection['documents'], 'document')} in {count(collection['chunks'], 'passage')}"
        out.print(Text(printable(f"{collection['name']}: {contents}")))
    into = f"restored into {report['into']}" if report["into"] else "proved; nothing was changed"
    out.print(Text(printable(f"{into}, as of change {report['sequence']}"), style="green"))
    if report.get("aside"):
        out.print(Text(printable(f"the store that was there is {report['aside']}")))
