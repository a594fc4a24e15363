"""Proves that a store's database holds what it should: every document whole, and found by its own text."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from citemesh.errors import DataLoss
from services.retrieval.engines.durable.store.backup.manifest import CopiedCollection
from services.retrieval.engines.durable.store.schema import lexicon
from services.retrieval.engines.durable.store.tables import collections
from services.retrieval.engines.durable.store.tables.collections import CollectionRow
from services.retrieval.search import lexical

_WORDS = 16
_REMEDY = "take another copy"


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found whole. wordless: documents without a word to find them by, such as those of punctuation alone."""

    collections: tuple[CopiedCollection, ...]
    documents: int
    chunks: int
    wordless: int


def prove(connection: sqlite3.Connection, path: Path) -> Proof:
    """Checks pages, references, counts, spans, vectors and words. Raises DataLoss, which names what is wrong."""
    _check(connection, path, "PRAGMA integrity_check", [("ok",)], "its pages are damaged")
    _check(connection, path, "PRAGMA foreign_key_check", [], "rows point at nothing")
    rows = collections.rows(connection)
    wordless = sum(_collection(connection, path, row) for row in rows)
    infos = [(row, collections.info(connection, row.name)) for row in rows]
    proved = tuple(
        CopiedCollection(row.name, row.embedding.model, row.embedding.dimension, info.documents, info.chunks,
             info.unreadable_chunks)
        for row, info in infos
    )  # fmt: skip
    by_name = tuple(sorted(proved, key=lambda collection: collection.name))
    return Proof(by_name, sum(info.documents for info in proved), sum(info.chunks for info in proved), wordless)


def _collection(connection: sqlite3.Connection, path: Path, row: CollectionRow) -> int:
    """Documents of a collection without words."""
    _check(
        connection,
        path,
        "SELECT documents, chunks, unreadable FROM collections WHERE id = :id EXCEPT SELECT"
        " COUNT(*), COALESCE(SUM(chunks), 0), COALESCE(SUM(unreadable), 0) FROM documents WHERE collection = :id",
        [],
        f"the counts of collection {row.name!r} are wrong",
        row,
    )
    _check(
        connection,
        path,
        "SELECT k.id FROM chunks k LEFT JOIN vectors v ON v.chunk = k.id LEFT JOIN unreadable u ON u.chunk = k.id"
        " WHERE k.collection = :id AND COALESCE(LENGTH(v.vector), 0) <> iif(u.chunk IS NULL, 4 * :dimension, 0)"
        " LIMIT 1",
        [],
        f"vectors of collection {row.name!r} are missing or cut",
        row,
    )
    _check(
        connection,
        path,
        f"SELECT id FROM chunks WHERE collection = :id EXCEPT SELECT rowid FROM {lexicon(row.id)} LIMIT 1",
        [],
        f"words of collection {row.name!r} are missing",
        row,
    )
    rows = connection.execute("SELECT id, document_id, chunks FROM documents WHERE collection = ?", (row.id,))
    return sum(not _document(connection, path, row, *columns) for columns in rows)


def _document(
    connection: sqlite3.Connection, path: Path, row: CollectionRow, number: int, document_id: str, chunks: int
) -> bool:
    """Whether a document has words. Raises DataLoss where it isn't whole, or isn't found by them."""
    text = connection.execute("SELECT text FROM texts WHERE document = ?", (number,)).fetchone()
    parts = connection.execute("SELECT id, start, end, text FROM chunks WHERE document = ?", (number,)).fetchall()
    if text is None or len(parts) != chunks or any(text[0][start:end] != part for _, start, end, part in parts):
        raise DataLoss(f"{path}: document {document_id!r} of collection {row.name!r} is not whole", _REMEDY)
    worded = [(chunk, expression) for chunk, _, _, part in parts if (expression := _expression(part))]
    for chunk, expression in worded[:1]:
        sql = f"SELECT 1 FROM {lexicon(row.id)} WHERE {lexicon(row.id)} MATCH ? AND rowid = ?"
        if connection.execute(sql, (expression, chunk)).fetchone() is None:
            fault = f"{path}: document {document_id!r} of collection {row.name!r} is not found by its own text"
            raise DataLoss(fault, _REMEDY)
    return bool(worded)


def _expression(text: str) -> str:
    """An FTS5 expression that finds chunks with all of a text's first words."""
    words = lexical.query_words(text[:2000])[:_WORDS]
    return " AND ".join(filter(None, map(lexical.match_expression, words)))


def _check(
    connection: sqlite3.Connection, path: Path, sql: str, expected: list[tuple[object, ...]], fault: str,
    row: CollectionRow | None = None,
) -> None:  # fmt: skip
    values = {"id": row.id, "dimension": row.embedding.dimension} if row else {}
    try:
        result = connection.execute(sql, values).fetchmany(2)
    except sqlite3.DatabaseError as error:
        raise DataLoss(f"{path}: {fault}: {error}", _REMEDY) from None
    if result != expected:
        raise DataLoss(f"{path}: {fault}", _REMEDY)
