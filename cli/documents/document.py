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
            documents, more = await some_documents(mesh, collection, table_id, limit)
        show(documents, as_json)
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
            shown_document, text = await mesh.documents.get(
                document_id, collection, stretch, without_text=not text_wanted
            )
        if as_json:
            click.echo(
                json.dumps(as_plain(shown_document) | ({"text": text} if text_wanted else {}), ensure_ascii=False)
            )
        elif text_wanted:
            console().print(Text(printable(text)))
        else:
            console().print(_facts(shown_document))
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
                portion = document_ids[start : start + MOST_DELETED]
                deleted_ids, absent = await mesh.documents.delete(portion, collection)
                deleted, missing = [*deleted, *deleted_ids], [*missing, *absent]
        if as_json:
            click.echo(json.dumps({"deleted": deleted, "missing": missing}, ensure_ascii=False))
        else:
            _tell_deleted(deleted, missing)
        return 1 if missing else 0

    return run(work(connect_documents(state_dir, timeout_s, target, key)))


async def some_documents(mesh: Mesh, collection: str, table_id: str, limit: int) -> tuple[list[Document], bool]:
    """The first documents by id, at most `limit`, and whether there are more."""
    documents: list[Document] = []
    token = ""
    while True:
        page, token = await mesh.documents.list(collection, min(MOST_PAGE, limit - len(documents)), token, table_id)
        documents += page
        if not token or len(documents) >= limit:
            return documents, bool(token)


def as_plain(document: Document) -> dict[str, Any]:
    """A document as JSON values."""
    return asdict(document) | {"ingested_at": document.ingested_at.isoformat()}


def show(documents: Sequence[Document], as_json: bool) -> None:
    """Prints documents, as a table or a JSON object a line."""
    if as_json:
        for document in documents:
            click.echo(json.dumps(as_plain(document), ensure_ascii=False))
        return
    if not documents:
        console().print("No document. `citemesh ingest PATH` adds some.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("id", no_wrap=True)
    for column in ("title", "kind", "language"):
        table.add_column(column, overflow="fold")
    table.add_column("passages", justify="right")
    table.add_column("address", overflow="fold")
    for document in documents:
        kind, language = printable(document.source_type), printable(document.language)
        table.add_row(
            document.document_id,
            _one_line(document.title),
            kind,
            language,
            str(document.chunks),
            _one_line(document.uri),
        )
    console().print(table)


def _facts(document: Document) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in as_plain(document).items():
        if value in ("", 0, {}):
            continue
        pairs = value.items() if isinstance(value, dict) else [("", value)]
        for key, fact in pairs:
            label = f"{name}.{key}" if key else name
            table.add_row(Text(printable(label.replace("_", " ")), style="bold"), _one_line(str(fact)))
    return table


def _tell_deleted(deleted: Sequence[str], missing: Sequence[str]) -> None:
    out = console()
    for document_id in deleted:
        out.print(Text(printable(f"deleted {document_id}")))
    for document_id in missing:
        out.print(Text(printable(f"not there: {document_id}"), style="yellow"))


def _one_line(text: str) -> Text:
    return Text(" ".join(printable(text).split()))
