"""`citemesh snapshot`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.text import Text

from citemesh.client.mesh import Mesh
from cli.terminal.connect import connect_documents, connection_options, json_option, reporting, run
from cli.terminal.terminal import console, count, printable

_LONGEST_S = 600.0
"""A copy of a large store takes its time; the mesh allows it as much."""


@click.command()
@click.argument("collection", default="")
@connection_options
@json_option
@reporting
def snapshot(
    collection: str, target: str | None, key: str | None, state_dir: Path | None, timeout_s: float | None, as_json: bool
) -> int:
    """Copy COLLECTION, or everything, while the mesh serves.

    `citemesh restore` makes a store of the copy. It is consistent: what was acknowledged before is in it whole, what
    came after is not. It lies in a directory on the machine where the retrieval service runs; its path is printed.
    """

    async def work(mesh: Mesh) -> int:
        async with mesh:
            copied = await mesh.collections.snapshot(collection)
        if as_json:
            click.echo(json.dumps(asdict(copied), ensure_ascii=False))
        else:
            contents = f"{count(copied.documents, 'document')} in {count(copied.chunks, 'passage')}"
            console().print(Text(printable(f"{copied.directory}\n{contents}, as of change {copied.sequence}")))
        return 0

    return run(work(connect_documents(state_dir, timeout_s or _LONGEST_S, target, key)))
