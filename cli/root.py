"""The command group."""

from __future__ import annotations

import click

from citemesh.version import own_version
from cli.terminal.failures import STATUSES

_COMMANDS = (
    *("up", "ask", "search", "ingest", "collection", "document", "snapshot", "restore"),
    *("eval", "mcp", "doctor", "mesh", "policy", "config", "completion"),
)


class _OnDemand(click.Group):
    """Imports a command's module, and no other's, when it is used: `ask` needn't wait for what `doctor` looks at."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order a newcomer needs them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        return _command(cmd_name)


def _command(name: str) -> click.Command | None:
    match name:
        case "ask":
            from cli.questions.ask import ask as command
        case "search":
            from cli.questions.search import search as command
        case "ingest":
            from cli.documents.ingest import ingest as command
        case "document":
            from cli.documents.document import document as command
        case "collection":
            from cli.storage.collection import collection as command
        case "snapshot":
            from cli.storage.snapshot import snapshot as command
        case "restore":
            from cli.storage.restore import restore as command
        case _:
            return _operation(name)
    return command


def _operation(name: str) -> click.Command | None:
    match name:
        case "up":
            from cli.operations.up import up as command
        case "eval":
            from cli.operations.eval import eval as command
        case "mcp":
            from cli.operations.mcp import mcp as command
        case "doctor":
            from cli.operations.doctor import doctor as command
        case "mesh":
            from cli.operations.mesh import mesh as command
        case "policy":
            from cli.operations.policy import policy as command
        case "config":
            from cli.operations.config import config as command
        case "completion":
            from cli.operations.completion import completion as command
        case _:
            return None
    return command


@click.group(cls=_OnDemand, epilog=STATUSES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(own_version("unknown"), prog_name="citemesh")
def main() -> None:
    """CiteMesh answers questions over your documents, and every sentence points at what supports it."""
