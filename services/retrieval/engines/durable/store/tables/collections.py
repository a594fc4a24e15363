"""Rows of collections."""

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime

from citemesh.errors import AlreadyExists, NotFound
from services.retrieval.engines.durable.store.schema import create_lexicon, drop_lexicon
from services.retrieval.types.collection import CollectionInfo, Embedding, model_mismatch

_COLUMNS = "SELECT name, model, digest, dimension, documents, chunks, created_at, unreadable FROM collections"
_NAMED_IN_ERRORS = 20


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A collection's row number and what it is fixed to."""

    id: int
    name: str
    embedding: Embedding


@dataclass(frozen=True, slots=True)
class CollectionState:
    """A collection, its chunks, how many of them have no vector, and the number of its last change."""

    row: CollectionRow
    chunks: int
    unreadable: int
    changed: int


def create(connection: sqlite3.Connection, name: str, embedding: Embedding) -> CollectionRow:
    """Adds a collection. Raises AlreadyExists."""
    try:
        cursor = connection.execute(
            "INSERT INTO collections (name, model, digest, dimension, created_at) VALUES (?, ?, ?, ?, ?)",
            (name, embedding.model, embedding.digest, embedding.dimension, datetime.now(UTC).isoformat()),
        )
    except sqlite3.IntegrityError:
        raise AlreadyExists("collection", name) from None
    row = CollectionRow(int(cursor.lastrowid or 0), name, embedding)
    create_lexicon(connection, row.id)
    return row


def drop(connection: sqlite3.Connection, name: str) -> CollectionRow:
    """Removes a collection and all that is in it; its number is never used again. Raises NotFound."""
    row = find(connection, name)
    connection.execute("DELETE FROM collections WHERE id = ?", (row.id,))
    drop_lexicon(connection, row.id)
    return row


def state(connection: sqlite3.Connection, name: str) -> CollectionState:
    """State of a collection, for a search. Raises NotFound, which names those that exist."""
    row = connection.execute(
        "SELECT id, model, digest, dimension, chunks, unreadable, changed FROM collections WHERE name = ?", (name,)
    ).fetchone()
    if row is None:
        raise NotFound("collection", name, _existing(connection))
    return CollectionState(CollectionRow(row[0], name, Embedding(*row[1:4])), *row[4:])


def changed(connection: sqlite3.Connection, row: CollectionRow) -> int:
    """Number of a collection's last committed change. It rises with its changes alone, and with being made anew."""
    return int(connection.execute("SELECT changed FROM collections WHERE id = ?", (row.id,)).fetchone()[0])


def find(connection: sqlite3.Connection, name: str) -> CollectionRow:
    """Finds a collection by name. Raises NotFound, which names those that exist."""
    row = connection.execute("SELECT id, model, digest, dimension FROM collections WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise NotFound("collection", name, _existing(connection))
    return CollectionRow(row[0], name, Embedding(row[1], row[2], row[3]))


def rows(connection: sqlite3.Connection) -> list[CollectionRow]:
    """All collections."""
    selected = connection.execute("SELECT id, name, model, digest, dimension FROM collections ORDER BY id")
    return [CollectionRow(row[0], row[1], Embedding(row[2], row[3], row[4])) for row in selected]


def info(connection: sqlite3.Connection, name: str) -> CollectionInfo:
    """Reads a collection with its counts. Raises NotFound."""
    find(connection, name)
    return _info(connection.execute(f"{_COLUMNS} WHERE name = ?", (name,)).fetchone())


def page(connection: sqlite3.Connection, after: str, limit: int) -> tuple[CollectionInfo, ...]:
    """Reads those after a name, in order of names."""
    selected = connection.execute(f"{_COLUMNS} WHERE name > ? ORDER BY name LIMIT ?", (after, limit))
    return tuple(_info(row) for row in selected)


def require(row: CollectionRow, embedding: Embedding) -> None:
    """Raises PreconditionFailed where a collection was made for another embedding."""
    if row.embedding != embedding:
        raise model_mismatch(row.name, row.embedding, embedding)


def _existing(connection: sqlite3.Connection) -> str:
    selected = connection.execute("SELECT name FROM collections ORDER BY name LIMIT ?", (_NAMED_IN_ERRORS + 1,))
    names = [str(row[0]) for row in selected]
    more = ", ..." if len(names) > _NAMED_IN_ERRORS else ""
    return f"there are: {', '.join(names[:_NAMED_IN_ERRORS])}{more}" if names else "create one first"


def _info(row: tuple[str, str, str, int, int, int, str, int]) -> CollectionInfo:
    name, model, digest, dimension, documents, chunks, created_at, unreadable = row
    created = datetime.fromisoformat(created_at)
    return CollectionInfo(name, Embedding(model, digest, dimension), documents, chunks, created, unreadable)
