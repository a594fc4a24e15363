"""`citemesh collection`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from citemesh.client.mesh import Mesh
from citemesh.client.types import Collection
from citemesh.errors import InvalidInput
from cli.terminal.connect import connect_documents, connection_options, json_option, reporting, run
from cli.terminal.terminal import console, count, printable


@click.group()
def collection() -> None:
    """Make, show and delete collections: sets of documents that are searched together."""


@collection.command("list")
@connection_options
@json_option
@reporting
def list_(target: str | None, key: str | None, state_dir: Path | None, timeout_s: float | None, as_json: bool) -> int:
    """Show all collections."""

    async def work(mesh: Mesh) -> int:
        async with mesh:
            show(await mesh.collections.list(), as_json)
        return 0

    return run(work(connect_documents(state_dir, timeout_s, target, key)))


@collection.command("show")
@click.argument("name")
@connection_options
@json_option
@reporting
def show_(
    name: str, target: str | None, key: str | None, state_dir: Path | None, timeout_s: float | None, as_json: bool
) -> int:
    """Show one collection."""

    async def work(mesh: Mesh) -> int:
        async with mesh:
            show([await mesh.collections.get(name)], as_json)
        return 0

    return run(work(connect_documents(state_dir, timeout_s, target, key)))


@collection.command()
@click.argument("name")
@click.option("--embedding-model", default="", help="Model that it is fixed to; the service's own when left out.")
@connection_options
@json_option
@reporting
def create(
    name: str,
    embedding_model: str,
    target: str | None,
    key: str | None,
    state_dir: Path | None,
    timeout_s: float | None,
    as_json: bool,
) -> int:
    """Make a collection: NAME has up to 64 of a-z, 0-9, "-" and "_", and starts with a letter or digit."""

    async def work(mesh: Mesh) -> int:
        async with mesh:
            show([await mesh.collections.create(name, embedding_model)], as_json)
        return 0

    return run(work(connect_documents(state_dir, timeout_s, target, key)))


@collection.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Don't ask for the name again.")
@connection_options
@json_option
@reporting
def delete(
    name: str,
    yes: bool,
    target: str | None,
    key: str | None,
    state_dir: Path | None,
    timeout_s: float | None,
    as_json: bool,
) -> int:
    """Delete a collection with all its documents. Asks for the name again."""

    async def work(mesh: Mesh) -> int:
        async with mesh:
            info = await mesh.collections.get(name)
            if not yes:
                _confirm(info)
            await mesh.collections.delete(name)
        if as_json:
            click.echo(json.dumps({"deleted": name, "documents": info.documents}, ensure_ascii=False))
        else:
            console().print(f"deleted {name}: {count(info.documents, 'document')}")
        return 0

    return run(work(connect_documents(state_dir, timeout_s, target, key)))


def show(collections: Sequence[Collection], as_json: bool) -> None:
    """Prints collections, as a table or a JSON object a line."""
    if as_json:
        for info in collections:
            click.echo(json.dumps(asdict(info), ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("collection", overflow="fold")
    for column in ("documents", "passages", "unreadable"):
        table.add_column(column, justify="right")
    for column in ("index", "embedding model", "dimension"):
        table.add_column(column)
    for info in collections:
        numbers = (str(info.documents), str(info.chunks), str(info.unreadable_chunks))
        model = Text(printable(info.embedding_model))
        table.add_row(Text(printable(info.name)), *numbers, printable(info.index), model, str(info.dimension))
    console().print(table)


def _confirm(info: Collection) -> None:
    """Raises InvalidInput unless the name is typed again."""
    if not _is_asked():
        raise InvalidInput("--yes", "nobody is there to confirm it", "add --yes to delete without being asked")
    warning = f"{count(info.documents, 'document')} will be gone. Type {info.name} to delete it"
    if click.prompt(warning, default="", show_default=False, err=True) != info.name:
        raise InvalidInput("name", "that is not its name; nothing was deleted", "type it exactly, or leave it")


def _is_asked() -> bool:
    return sys.stdin.isatty()
