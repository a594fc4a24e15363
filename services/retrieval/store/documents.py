"""Rows of documents, and all that hangs on them."""

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from citemesh.errors import NotFound
from services.retrieval.domains import domain
from services.retrieval.engine import DocumentInfo, NewDocument
from services.retrieval.store.schema import lexicon

# The order of DocumentInfo's fields.
COLUMNS = """d.id, d.document_id, c.name, d.title, d.uri, d.source_type, d.language, d.content_sha256, d.size_bytes,
d.characters, d.chunks, d.pages, d.ingested_at, d.published_at"""
_FROM = f"SELECT {COLUMNS} FROM documents d JOIN collections c ON c.id = d.collection"


def find(connection: sqlite3.Connection, collection: int, document_id: str) -> tuple[int, DocumentInfo]:
    """Row number of a document and what is known of it. Raises NotFound."""
    row = connection.execute(
        f"{_FROM} WHERE d.collection = ? AND d.document_id = ?", (collection, document_id)
    ).fetchone()
    if row is None:
        raise NotFound("document", document_id, "ListDocuments answers the ids of a collection")
    return int(row[0]), info(connection, row)


def text(connection: sqlite3.Connection, number: int) -> str:
    """The extracted text."""
    return str(connection.execute("SELECT text FROM texts WHERE document = ?", (number,)).fetchone()[0])


def page(connection: sqlite3.Connection, collection: int, after: str, limit: int) -> tuple[DocumentInfo, ...]:
    """Reads those after an id, in order of ids."""
    rows = connection.execute(
        f"{_FROM} WHERE d.collection = ? AND d.document_id > ? ORDER BY d.document_id LIMIT ?",
        (collection, after, limit),
    ).fetchall()
    return tuple(info(connection, row) for row in rows)


def insert(connection: sqlite3.Connection, collection: int, document: NewDocument) -> int:
    """Adds a document's row, text and metadata; returns the row's number."""
    new = document.info
    published = new.published_at.timestamp() if new.published_at else None
    cursor = connection.execute(
        f"INSERT INTO documents VALUES (NULL{', ?' * 14})",
        (collection, new.document_id, new.title, new.uri, domain(new.uri), new.source_type, new.language,
         new.content_sha256, new.size_bytes, new.characters, new.chunks, new.pages, new.ingested_at.isoformat(),
         published),
    )  # fmt: skip
    number = int(cursor.lastrowid or 0)
    connection.execute("INSERT INTO texts VALUES (?, ?)", (number, document.text))
    connection.executemany(
        "INSERT INTO metadata VALUES (?, ?, ?)", [(number, key, value) for key, value in new.metadata.items()]
    )
    return number


def remove(connection: sqlite3.Connection, collection: int, document_ids: Sequence[str]) -> dict[str, list[int]]:
    """Removes those of the ids that are there; returns the chunks' numbers by id."""
    return {
        document_id: _remove(connection, collection, number)
        for document_id in dict.fromkeys(document_ids)
        if (number := _number(connection, collection, document_id)) is not None
    }


def info(connection: sqlite3.Connection, row: tuple[Any, ...]) -> DocumentInfo:
    """A document from a row of COLUMNS."""
    number, *said, ingested_at, published_at = row
    found = connection.execute("SELECT key, value FROM metadata WHERE document = ? ORDER BY key", (number,))
    published = None if published_at is None else datetime.fromtimestamp(published_at, UTC)
    fields: list[Any] = [*said, datetime.fromisoformat(ingested_at), published, dict(found.fetchall())]
    return DocumentInfo(*fields)


def _number(connection: sqlite3.Connection, collection: int, document_id: str) -> int | None:
    row = connection.execute(
        "SELECT id FROM documents WHERE collection = ? AND document_id = ?", (collection, document_id)
    ).fetchone()
    return int(row[0]) if row else None


def _remove(connection: sqlite3.Connection, collection: int, number: int) -> list[int]:
    chunks = [row[0] for row in connection.execute("SELECT id FROM chunks WHERE document = ?", (number,))]
    words = f"DELETE FROM {lexicon(collection)} WHERE rowid = ?"
    connection.executemany(words, [(chunk,) for chunk in chunks])
    connection.execute("DELETE FROM documents WHERE id = ?", (number,))
    return chunks
