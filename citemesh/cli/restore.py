"""`citemesh restore`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

from citemesh.cli.connect import json_option, reporting, settings_for, state_dir_option
from citemesh.cli.runtime import find_running
from citemesh.cli.settings import CliSettings
from citemesh.errors import InvalidInput, PreconditionFailed
from citemesh.kit.settings import PREFIX

_MODULE = "services.retrieval.restore"


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Put it in place of a store that holds documents, which is kept aside.")
@state_dir_option
@json_option
@reporting
def restore(directory: Path, force: bool, state_dir: Path | None, as_json: bool) -> int:
    """Make a store of what `citemesh snapshot` copied.

    The mesh must not run here. The copy is proved first: that its documents, passages and vectors agree. A store that
    holds documents is left alone unless --force is given.
    """
    settings = settings_for(state_dir)
    if not directory.is_dir():
        raise InvalidInput("DIRECTORY", f"{directory} is no directory", "name what `citemesh snapshot` printed")
    _require_stopped(settings)
    command = [sys.executable, "-P", "-m", _MODULE, str(directory)]
    command += ["--force"] if force else []
    command += ["--json"] if as_json else []
    environment = os.environ | {f"{PREFIX}STATE_DIR": str(settings.state_dir)}
    return subprocess.run(command, env=environment, check=False).returncode


def _require_stopped(settings: CliSettings) -> None:
    """Raises PreconditionFailed where a mesh runs on the store."""
    try:
        running = find_running(settings.state_dir)
    except PreconditionFailed:
        return
    fault = f"a mesh runs in {settings.state_dir} (process {running.pid})"
    raise PreconditionFailed("MESH_RUNNING", fault, "stop it with Ctrl-C where it runs, then restore")
