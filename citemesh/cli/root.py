"""The command group."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import click

from citemesh.cli.ask import ask
from citemesh.cli.config import config
from citemesh.cli.doctor import doctor
from citemesh.cli.failures import STATUSES
from citemesh.cli.ingest import ingest
from citemesh.cli.mesh import mesh
from citemesh.cli.policy import policy
from citemesh.cli.search import search
from citemesh.cli.up import up


def _version() -> str:
    try:
        return version("citemesh")
    except PackageNotFoundError:
        return "unknown"


@click.group(epilog=STATUSES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_version(), prog_name="citemesh")
def main() -> None:
    """CiteMesh answers questions over your documents, and every sentence points at what supports it."""


for command in (up, ask, search, ingest, doctor, mesh, policy, config):
    main.add_command(command)
