"""Rows of chunks: their places and texts."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from services.retrieval.engines.durable.store.database import number_list
from services.retrieval.engines.durable.store.tables import documents, signatures, tokens, vectors, words
from services.retrieval.engines.durable.store.tables.filters import where
from services.retrieval.engines.durable.store.tables.vectors import Numbers, numbers_from
from services.retrieval.types.chunk import NOWHERE, Chunk, Place, Vector
from services.retrieval.types.document import DocumentInfo, NewDocument, reference
from services.retrieval.types.query import Filter

_COLUMNS = "k.id, k.chunk_id, k.start, k.end, k.page, k.headings, k.text"
_LISTED = "FROM json_each(?) j CROSS JOIN chunks k ON k.id = j.value"
_NO_HEADINGS = "[]"
ChunkAndDocument = tuple[Chunk, DocumentInfo]


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document, and the words and signatures of its chunks, which are made before it is written."""

    document: NewDocument
    words: Sequence[words.Words]
    signatures: Sequence[bytes]


def prepared(document: NewDocument) -> PreparedDocument:
    """Makes words and signatures of a document. Takes about a millisecond a chunk."""
    return PreparedDocument(document, words.of_document(document), signatures.of_document(document))


def insert(
    connection: sqlite3.Connection, collection: int, number: int, new: PreparedDocument
) -> tuple[list[int], Vector]:
    """Adds a document's chunks; returns numbers of those that have a vector, and these vectors."""
    document = new.document
    numbers = [_insert(connection, collection, number, chunk) for chunk in document.chunks]
    words.insert(connection, collection, numbers, new.words)
    signatures.insert(connection, numbers, new.signatures)
    tokens.insert(connection, numbers, document.chunks)
    return vectors.insert(connection, numbers, document)


def passing(connection: sqlite3.Connection, collection: int, chunk_filter: Filter) -> Numbers:
    """Numbers of the chunks that pass a filter."""
    condition = where(collection, chunk_filter)
    rows = connection.execute(
        f"SELECT k.id FROM documents d JOIN chunks k ON k.document = d.id WHERE {condition.sql}",
        condition.values,
    )
    return numbers_from(rows)


def read(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, ChunkAndDocument]:
    """Chunks, without token ids and vectors, and their documents, by number; deleted ones are missing."""
    rows = connection.execute(f"SELECT {_COLUMNS}, k.document {_LISTED}", (number_list(numbers),)).fetchall()
    by_number = documents.read(connection, list({row[7] for row in rows}))
    return {row[0]: (_chunk(row), by_number[row[7]]) for row in rows}


def references(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, ChunkAndDocument]:
    """As `read`, with nothing but ids."""
    rows = connection.execute(
        f"SELECT k.id, k.chunk_id, k.document, d.document_id, c.name {_LISTED} JOIN documents d ON d.id = k.document"
        " JOIN collections c ON c.id = d.collection",
        (number_list(numbers),),
    ).fetchall()
    by_number = {number: reference(name, collection) for number, name, collection in {row[2:] for row in rows}}
    return {row[0]: (Chunk(row[1], NOWHERE, ""), by_number[row[2]]) for row in rows}


def without_tokens(connection: sqlite3.Connection, digest: str, limit: int) -> tuple[Chunk, ...]:
    """Chunks without token ids of a tokenizer."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM chunks k LEFT JOIN tokens t ON t.chunk = k.id"
        " WHERE t.digest IS NULL OR t.digest <> ? ORDER BY k.id LIMIT ?",
        (digest, limit),
    )
    return tuple(map(_chunk, rows))


def _insert(connection: sqlite3.Connection, collection: int, document: int, chunk: Chunk) -> int:
    place = chunk.place
    headings = json.dumps(place.headings, ensure_ascii=False)
    cursor = connection.execute(
        "INSERT INTO chunks VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
        (document, collection, chunk.chunk_id, place.start, place.end, place.page, headings, chunk.text),
    )
    return int(cursor.lastrowid or 0)


def _chunk(row: tuple[Any, ...]) -> Chunk:
    _, chunk_id, start, end, page, headings, text = row[:7]
    above = tuple(json.loads(headings)) if headings != _NO_HEADINGS else ()
    return Chunk(chunk_id, Place(start, end, page, above), text)
