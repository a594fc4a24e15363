"""The note that a running mesh leaves in its state directory, by which other commands find it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from citemesh.errors import PreconditionFailed

_REMEDY = (
    "start one with `citemesh up`, run this in its directory, set CITEMESH_STATE_DIR, or name an address with --target"
)


@dataclass(frozen=True, slots=True)
class Running:
    """A mesh that runs."""

    pid: int
    """Of `citemesh up`."""
    mesh: bool
    """False without sidecars."""
    port_base: int
    targets: Mapping[str, str]
    """gRPC address of each service, for callers outside the mesh."""
    rest: str
    """Base URL of the REST API."""
    shards: int = 1
    """Over how many replicas retrieval's collections are spread."""


def note_path(state_dir: Path) -> Path:
    """Where the note lies."""
    return state_dir / "run" / "mesh.json"


def write_note(state_dir: Path, running: Running) -> None:
    """Leave the note; the directory exists."""
    note_path(state_dir).write_text(json.dumps(asdict(running), indent=1) + "\n", encoding="utf-8")


def remove_note(state_dir: Path) -> None:
    """Takes the note away; none there is no error."""
    note_path(state_dir).unlink(missing_ok=True)


def find_running(state_dir: Path) -> Running:
    """The mesh that runs in a state directory.

    Raises:
        PreconditionFailed: there is none, or it has gone without a word.
    """
    try:
        running = Running(**json.loads(note_path(state_dir).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        raise PreconditionFailed("MESH_NOT_RUNNING", f"no mesh runs in {state_dir}", _REMEDY) from None
    if not _alive(running.pid):
        raise PreconditionFailed("MESH_NOT_RUNNING", f"the mesh in {state_dir} has gone", _REMEDY)
    return running


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
