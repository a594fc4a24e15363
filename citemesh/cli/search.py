"""`citemesh search`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from citemesh.cli.answer import quote_line, source_line
from citemesh.cli.connect import connect, connection_options, json_option, reporting, run, settings_for
from citemesh.cli.terminal import console
from citemesh.client.mesh import Mesh
from citemesh.client.types import Source


@click.command()
@click.argument("query")
@click.option("--collection", default="", help="Collection to search (default: default).")
@click.option("--top-k", type=click.IntRange(1, 100), default=10, show_default=True, help="Most to show.")
@click.option("--source-type", "source_types", multiple=True, help="Kind of source to use; may be repeated.")
@connection_options
@json_option
@reporting
def search(
    query: str,
    collection: str,
    top_k: int,
    source_types: tuple[str, ...],
    target: str | None,
    key: str | None,
    state_dir: Path | None,
    timeout_s: float | None,
    as_json: bool,
) -> int:
    """Find passages as `ask` would, without an answer."""
    settings = settings_for(state_dir)
    if timeout_s:
        settings = settings.model_copy(update={"timeout_s": timeout_s})
    mesh = connect("gateway", settings, target, key)
    return run(_search(mesh, query, collection, top_k, source_types, as_json))


async def _search(
    mesh: Mesh, query: str, collection: str, top_k: int, source_types: Sequence[str], as_json: bool
) -> int:
    async with mesh:
        sources = await mesh.query.search(query, collection, top_k, source_types)
    if as_json:
        for source in sources:
            click.echo(json.dumps(asdict(source), ensure_ascii=False))
    else:
        show(sources)
    return 0


def show(sources: Sequence[Source]) -> None:
    """Print passages, best first."""
    out = console()
    for source in sources:
        line = source_line(source)
        line.append(f"  {source.score:.2f}", style="dim")
        out.print(line)
        out.print(quote_line(source.text))
    if not sources:
        out.print("Nothing found. `citemesh ingest PATH` adds documents.")
