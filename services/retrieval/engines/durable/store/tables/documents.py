"""Rows of documents, with their texts and metadata."""

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from citemesh.errors import NotFound
from services.retrieval.engines.durable.store.database import number_list
from services.retrieval.engines.durable.store.schema import lexicon
from services.retrieval.search.filter_values import domain, number_of
from services.retrieval.types.document import DocumentInfo, NewDocument

COLUMNS = """d.id, d.document_id, c.name, d.title, d.uri, d.source_type, d.language, d.content_sha256, d.size_bytes,
d.characters, d.chunks, d.pages, d.table_id, d.ingested_at, d.published_at"""
_FROM = f"SELECT {COLUMNS} FROM documents d JOIN collections c ON c.id = d.collection"


_BY_ID = "SELECT id FROM documents WHERE collection = :collection AND document_id = :name"
# Two looks, each by an index of its own: SQLite answers an OR of the two by reading the whole collection.
_BY_ID_OR_TABLE = (
    f"{_BY_ID} UNION SELECT id FROM documents WHERE collection = :collection AND table_id = :name AND table_id <> ''"
)


def find(connection: sqlite3.Connection, collection: int, document_id: str) -> tuple[int, DocumentInfo]:
    """Row number of a document and what is known of it. Raises NotFound."""
    row = connection.execute(
        f"{_FROM} WHERE d.collection = ? AND d.document_id = ?", (collection, document_id)
    ).fetchone()
    if row is None:
        raise NotFound("document", document_id, "ListDocuments answers the ids of a collection")
    return int(row[0]), infos(connection, [row])[0]


def text(connection: sqlite3.Connection, number: int) -> str:
    """The extracted text."""
    return str(connection.execute("SELECT text FROM texts WHERE document = ?", (number,)).fetchone()[0])


def page(
    connection: sqlite3.Connection, collection: int, after: str, limit: int, table_id: str = ""
) -> tuple[DocumentInfo, ...]:
    """Reads those after an id, in order of ids; of one table where it is named."""
    only, table = ("AND d.table_id = ? AND d.table_id <> ''", (table_id,)) if table_id else ("", ())
    rows = connection.execute(
        f"{_FROM} WHERE d.collection = ? AND d.document_id > ? {only} ORDER BY d.document_id LIMIT ?",
        (collection, after, *table, limit),
    ).fetchall()
    return tuple(infos(connection, rows))


def insert(connection: sqlite3.Connection, collection: int, document: NewDocument) -> int:
    """Adds a document's row, text and metadata; returns the row's number."""
    new = document.info
    published = new.published_at.timestamp() if new.published_at else None
    cursor = connection.execute(
        f"INSERT INTO documents VALUES (NULL{', ?' * 16})",
        (collection, new.document_id, new.title, new.uri, domain(new.uri), new.source_type, new.language,
         new.content_sha256, new.size_bytes, new.characters, new.chunks, new.pages, new.ingested_at.isoformat(),
         published, new.table_id, len(document.unreadable)),
    )  # fmt: skip
    number = int(cursor.lastrowid or 0)
    connection.execute("INSERT INTO texts VALUES (?, ?)", (number, document.text))
    connection.executemany(
        "INSERT INTO metadata VALUES (?, ?, ?, ?)",
        [(number, key, value, number_of(value)) for key, value in new.metadata.items()],
    )
    return number


def remove_replaced(connection: sqlite3.Connection, collection: int, new: DocumentInfo) -> list[int]:
    """Removes what a document replaces: that of its id, all rows of a table of its id, and, where it is a row itself,
    the document of its table's id. Returns the chunks' numbers."""
    removed, _ = _remove(connection, collection, _BY_ID_OR_TABLE, new.document_id)
    if new.table_id:
        removed += _remove(connection, collection, _BY_ID, new.table_id)[0]
    return removed


def remove_all(connection: sqlite3.Connection, collection: int, ids: Sequence[str]) -> dict[str, list[int]]:
    """Removes the documents of the ids, and all rows of a table's id; returns the removed chunks' numbers by id."""
    removed = {name: _remove(connection, collection, _BY_ID_OR_TABLE, name) for name in dict.fromkeys(ids)}
    return {name: chunks for name, (chunks, documents) in removed.items() if documents}


def read(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, DocumentInfo]:
    """Documents by number; deleted ones are missing."""
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM json_each(?) j CROSS JOIN documents d ON d.id = j.value"
        " JOIN collections c ON c.id = d.collection",
        (number_list(numbers),),
    ).fetchall()
    return dict(zip((row[0] for row in rows), infos(connection, rows), strict=True))


def infos(connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> list[DocumentInfo]:
    """Documents from rows of COLUMNS, whose metadata is read at once."""
    metadata: dict[int, dict[str, str]] = {int(row[0]): {} for row in rows}
    entries = connection.execute(
        "SELECT m.document, m.key, m.value FROM json_each(?) j CROSS JOIN metadata m ON m.document = j.value"
        " ORDER BY m.document, m.key",
        (number_list(list(metadata)),),
    )
    for number, key, value in entries.fetchall():
        metadata[number][key] = value
    return [_info(row, metadata[row[0]]) for row in rows]


def _info(row: tuple[Any, ...], metadata: dict[str, str]) -> DocumentInfo:
    _, *descriptive, table_id, ingested_at, published_at = row
    published = None if published_at is None else datetime.fromtimestamp(published_at, UTC)
    fields: list[Any] = [*descriptive, datetime.fromisoformat(ingested_at), published, metadata, table_id]
    return DocumentInfo(*fields)


def _remove(connection: sqlite3.Connection, collection: int, query: str, name: str) -> tuple[list[int], int]:
    """Removes the documents that a query selects; returns their chunks' numbers, and how many documents."""
    rows = connection.execute(query, {"name": name, "collection": collection}).fetchall()
    chunks: list[int] = []
    for row in rows:
        chunks += (chunk for (chunk,) in connection.execute("SELECT id FROM chunks WHERE document = ?", row))
    connection.executemany(f"DELETE FROM {lexicon(collection)} WHERE rowid = ?", [(chunk,) for chunk in chunks])
    connection.executemany("DELETE FROM documents WHERE id = ?", rows)
    return chunks, len(rows)
