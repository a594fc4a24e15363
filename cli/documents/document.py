"""`citemesh document`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from citemesh.client.mesh import Mesh
from citemesh.client.types import Document, Span
from citemesh.contract.bounds import DEFAULT_PAGE, MOST_DELETED, MOST_PAGE
from cli.terminal.connect import connect_documents, connection_options, json_option, reporting, run
from cli.terminal.options import collection_option
from cli.terminal.terminal import console, printable

_kept_in = collection_option("Their collection (default: default).")


@click.group()
def document() -> None:
    """Show and delete stored documents."""


@document.command("list")
@_kept_in
@click.option("--table", "table_id", default="", help="Only the rows of the table of this id.")
@click.option("--limit", type=click.IntRange(1), default=DEFAULT_PAGE, show_default=True, help="Most to show.")
@connection_options
@json_option
@reporting
def list_(
    collection: str,
    table_id: str,
    limit: int,
    target: str | None,
    key: str | None,
    state_dir: Path | None,
    timeout_s: float | None,
    as_json: bool,
) -> int:
    """Show documents by id."""

    async def work(mesh: Mesh) -> int:
        async with mesh:
            found, more = await some_documents(mesh, collection, table_id, limit)
        show(found, as_json)
        if more and not as_json:
            console(stderr=True).print(f"There are more than {limit}; --limit shows more.")
        return 0

    return run(work(connect_documents(state_dir, timeout_s, target, key)))


@document.command("show")
@click.argument("document_id")
@_kept_in
@click.option("--text", "with_text", is_flag=True, help="Print its extracted text, and nothing else.")
@click.option("--span", nargs=2, type=click.IntRange(0), metavar="START END", help="Print only these characters.")
@connection_options
@json_option
@reporting
def show_(
    document_id: str,
    collection: str,
    with_text: bool,
    span: tuple[int, int] | None,
    target: str | None,
    key: str | None,
    state_dir: Path | None,
    timeout_s: float | None,
    as_json: bool,
) -> int:
    """Show what is known of a document, or its text."""
    text_wanted = with_text or span is not None
    stretch = Span(*span) if span else None

    async def work(mesh: Mesh) -> int:
        async with mesh:
            found, text = await mesh.documents.get(document_id, collection, stretch, without_text=not text_wanted)
        if as_json:
            click.echo(json.dumps(as_plain(found) | ({"text": text} if text_wanted else {}), ensure_ascii=False))
        elif text_wanted:
            console().print(Text(printable(text)))
        else:
            console().print(_facts(found))
        return 0

    return run(work(connect_documents(state_dir, timeout_s, target, key)))


@document.command()
@click.argument("document_ids", nargs=-1, required=True)
@_kept_in
@connection_options
@json_option
@reporting
def delete(
    document_ids: tuple[str, ...],
    collection: str,
    target: str | None,
    key: str | None,
    state_dir: Path | None,
    timeout_s: float | None,
    as_json: bool,
) -> int:
    """Delete documents by their ids; a table's id takes all its rows. Exit status 1 when one was not there."""

    async def work(mesh: Mesh) -> int:
        deleted: list[str] = []
        missing: list[str] = []
        async with mesh:
            for start in range(0, len(document_ids), MOST_DELETED):
                some = document_ids[start : start + MOST_DELETED]
                gone, absent = await mesh.documents.delete(some, collection)
                deleted, missing = [*deleted, *gone], [*missing, *absent]
        if as_json:
            click.echo(json.dumps({"deleted": deleted, "missing": missing}, ensure_ascii=False))
        else:
            _tell_deleted(deleted, missing)
        return 1 if missing else 0

    return run(work(connect_documents(state_dir, timeout_s, target, key)))


async def some_documents(mesh: Mesh, collection: str, table_id: str, limit: int) -> tuple[list[Document], bool]:
    """The first documents by id, at most `limit`, and whether there are more."""
    found: list[Document] = []
    token = ""
    while True:
        page, token = await mesh.documents.list(collection, min(MOST_PAGE, limit - len(found)), token, table_id)
        found += page
        if not token or len(found) >= limit:
            return found, bool(token)


def as_plain(found: Document) -> dict[str, Any]:
    """A document as JSON values."""
    return asdict(found) | {"ingested_at": found.ingested_at.isoformat()}


def show(found: Sequence[Document], as_json: bool) -> None:
    """Print documents, as a table or a JSON object a line."""
    if as_json:
        for one in found:
            click.echo(json.dumps(as_plain(one), ensure_ascii=False))
        return
    if not found:
        console().print("No document. `citemesh ingest PATH` adds some.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("id", no_wrap=True)
    for column in ("title", "kind", "language"):
        table.add_column(column, overflow="fold")
    table.add_column("passages", justify="right")
    table.add_column("address", overflow="fold")
    for one in found:
        kind, language = printable(one.source_type), printable(one.language)
        table.add_row(one.document_id, _one_line(one.title), kind, language, str(one.chunks), _one_line(one.uri))
    console().print(table)


def _facts(found: Document) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in as_plain(found).items():
        if value in ("", 0, {}):
            continue
        pairs = value.items() if isinstance(value, dict) else [("", value)]
        for key, one in pairs:
            label = f"{name}.{key}" if key else name
            table.add_row(Text(printable(label.replace("_", " ")), style="bold"), _one_line(str(one)))
    return table


def _tell_deleted(deleted: Sequence[str], missing: Sequence[str]) -> None:
    out = console()
    for one in deleted:
        out.print(Text(printable(f"deleted {one}")))
    for one in missing:
        out.print(Text(printable(f"not there: {one}"), style="yellow"))


def _one_line(text: str) -> Text:
    return Text(" ".join(printable(text).split()))
