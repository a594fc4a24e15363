"""`citemesh completion`: a shell's script that completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_CITEMESH_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Prints the script for SHELL, as in: eval "$(citemesh completion bash)".

    bash and zsh evaluate it from ~/.bashrc or ~/.zshrc; fish reads it from ~/.config/fish/completions/citemesh.fish.
    """
    complete = get_completion_class(shell)
    if complete is None:
        raise click.UsageError(f"no completion for {shell}; use {', '.join(SHELLS)}")
    click.echo(complete(context.find_root().command, {}, "citemesh", _VARIABLE).source())
