"""The command group."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import click

from cli.terminal.failures import STATUSES

_COMMANDS = (
    *("up", "ask", "search", "ingest", "collection", "document", "snapshot", "restore"),
    *("eval", "mcp", "doctor", "mesh", "policy", "config", "completion"),
)


class _OnDemand(click.Group):
    """Imports a command's module when it is used: `ask` needn't wait for what `doctor` looks at."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order a newcomer needs them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        return _command(cmd_name)


def _command(name: str) -> click.Command | None:
    match name:
        case "up" | "doctor" | "mesh" | "policy" | "config" | "mcp" | "eval" | "completion":
            return _operation(name)
        case "ask" | "search":
            from cli.questions import ask, search

            return {"ask": ask.ask, "search": search.search}[name]
        case "ingest" | "document":
            from cli.documents import document, ingest

            return {"ingest": ingest.ingest, "document": document.document}[name]
        case "collection" | "snapshot" | "restore":
            from cli.storage import collection, restore, snapshot

            return {"collection": collection.collection, "snapshot": snapshot.snapshot, "restore": restore.restore}[
                name
            ]
    return None


def _operation(name: str) -> click.Command:
    match name:
        case "up":
            from cli.operations.up import up as command
        case "doctor":
            from cli.operations.doctor import doctor as command
        case "mesh":
            from cli.operations.mesh import mesh as command
        case "policy":
            from cli.operations.policy import policy as command
        case "config":
            from cli.operations.config import config as command
        case "mcp":
            from cli.operations.mcp import mcp as command
        case "eval":
            from cli.operations.eval import eval as command
        case _:
            from cli.operations.completion import completion as command
    return command


def _version() -> str:
    try:
        return version("citemesh")
    except PackageNotFoundError:
        return "unknown"


@click.group(cls=_OnDemand, epilog=STATUSES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_version(), prog_name="citemesh")
def main() -> None:
    """CiteMesh answers questions over your documents, and every sentence points at what supports it."""
