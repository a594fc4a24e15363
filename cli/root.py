"""The command group."""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version

import click

from cli.failures import STATUSES

_COMMANDS = (
    *("up", "ask", "search", "ingest", "collection", "document", "snapshot", "restore"),
    *("eval", "mcp", "doctor", "mesh", "policy", "config"),
)


class _OnDemand(click.Group):
    """Imports a command's module when it is used: `ask` needn't wait for what `doctor` looks at."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order a newcomer needs them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; a module holds the one it is named for."""
        if cmd_name not in _COMMANDS:
            return None
        found = getattr(importlib.import_module(f"cli.{cmd_name}"), cmd_name)
        return found if isinstance(found, click.Command) else None


def _version() -> str:
    try:
        return version("citemesh")
    except PackageNotFoundError:
        return "unknown"


@click.group(cls=_OnDemand, epilog=STATUSES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_version(), prog_name="citemesh")
def main() -> None:
    """CiteMesh answers questions over your documents, and every sentence points at what supports it."""
