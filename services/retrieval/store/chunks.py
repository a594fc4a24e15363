"""Rows of chunks: places and texts, vectors, token ids, and what search needs of them."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.retrieval import lexical
from services.retrieval.engine import Chunk, DocumentInfo, Filter, NewDocument, Place, TokenIds, Vector
from services.retrieval.store import documents
from services.retrieval.store.filters import where
from services.retrieval.store.schema import lexicon

Numbers = NDArray[np.int64]
Words = tuple[str, str]
_READ_AT_ONCE = 1024


def words(document: NewDocument) -> list[Words]:
    """What each chunk is looked up by."""
    return [_words(document.info.title, chunk.place.headings, chunk.text) for chunk in document.chunks]


def index_words_anew(connection: sqlite3.Connection, collection: int) -> None:
    """Fills a collection's empty lexical table from its chunks, a chunk at a time."""
    rows = connection.execute(
        "SELECT k.id, d.title, k.headings, k.text FROM chunks k JOIN documents d ON d.id = k.document"
        " WHERE k.collection = ? ORDER BY k.id",
        (collection,),
    )
    found = ((number, *_words(title, json.loads(headings), text)) for number, title, headings, text in rows)
    connection.executemany(f"INSERT INTO {lexicon(collection)} (rowid, headings, body) VALUES (?, ?, ?)", found)


def insert(
    connection: sqlite3.Connection,
    collection: int,
    number: int,
    document: NewDocument,
    found: Sequence[Words],
) -> list[int]:
    """Adds a document's chunks with vectors, words and token ids; returns their numbers."""
    numbers = [_insert(connection, collection, number, chunk) for chunk in document.chunks]
    vectors = [vector.tobytes() for vector in np.asarray(document.vectors, dtype="<f4")]
    connection.executemany("INSERT INTO vectors VALUES (?, ?)", zip(numbers, vectors, strict=True))
    connection.executemany(
        f"INSERT INTO {lexicon(collection)} (rowid, headings, body) VALUES (?, ?, ?)",
        [(chunk, *pair) for chunk, pair in zip(numbers, found, strict=True)],
    )
    tokens = [
        (chunk, new.tokens.digest, pack(new.tokens.ids))
        for chunk, new in zip(numbers, document.chunks, strict=True)
        if new.tokens.digest
    ]
    connection.executemany("INSERT INTO tokens VALUES (?, ?, ?)", tokens)
    return numbers


def numbers_of(connection: sqlite3.Connection, collection: int) -> Numbers:
    """Numbers of all chunks of a collection, ascending."""
    rows = connection.execute("SELECT id FROM chunks WHERE collection = ? ORDER BY id", (collection,))
    return np.fromiter((row[0] for row in rows), dtype=np.int64)


def passing(connection: sqlite3.Connection, collection: int, chosen: Filter) -> Numbers:
    """Numbers of the chunks that pass a filter."""
    condition = where(collection, chosen)
    rows = connection.execute(
        f"SELECT k.id FROM documents d JOIN chunks k ON k.document = d.id WHERE {condition.sql}",
        condition.values,
    )
    return np.fromiter((row[0] for row in rows), dtype=np.int64)


def vectors(connection: sqlite3.Connection, numbers: Numbers, dimension: int) -> Iterator[tuple[Numbers, Vector]]:
    """Reads vectors in portions of at most 1024, so that a start needs little memory."""
    for start in range(0, len(numbers), _READ_AT_ONCE):
        portion = numbers[start : start + _READ_AT_ONCE]
        rows = connection.execute(
            f"SELECT chunk, vector FROM vectors WHERE chunk IN ({_marks(portion)})", portion.tolist()
        ).fetchall()
        stacked = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), dimension)
        yield np.array([row[0] for row in rows], dtype=np.int64), stacked.astype(np.float32)


def lexical_scores(
    connection: sqlite3.Connection, collection: int, query: str, chosen: Filter, limit: int
) -> dict[int, float]:
    """BM25 of the best chunks that pass a filter, by number; higher is better."""
    expression = lexical.match_expression(query)
    if not expression:
        return {}
    table = lexicon(collection)
    if chosen.empty:
        sql = f"SELECT rowid, -rank FROM {table} WHERE {table} MATCH ? ORDER BY rank, rowid LIMIT ?"
        return dict(connection.execute(sql, (expression, limit)).fetchall())
    condition = where(collection, chosen)
    sql = (
        f"SELECT l.rowid, -l.rank FROM {table} l JOIN chunks k ON k.id = l.rowid"
        f" JOIN documents d ON d.id = k.document WHERE {table} MATCH ? AND {condition.sql}"
        f" ORDER BY l.rank, l.rowid LIMIT ?"
    )
    return dict(connection.execute(sql, (expression, *condition.values, limit)).fetchall())


def read(
    connection: sqlite3.Connection, numbers: Sequence[int], with_token_ids: bool
) -> dict[int, tuple[Chunk, DocumentInfo]]:
    """Chunks and their documents by number; those that are gone are missing."""
    rows = connection.execute(
        f"SELECT k.id, k.chunk_id, k.start, k.end, k.page, k.headings, k.text, {documents.COLUMNS}"
        " FROM chunks k JOIN documents d ON d.id = k.document JOIN collections c ON c.id = d.collection"
        f" WHERE k.id IN ({_marks(numbers)})",
        list(numbers),
    ).fetchall()
    tokens = _tokens(connection, numbers) if with_token_ids else {}
    infos = {row[7]: row[7:] for row in rows}
    known = {number: documents.info(connection, row) for number, row in infos.items()}
    return {row[0]: (_chunk(row, tokens.get(row[0], TokenIds())), known[row[7]]) for row in rows}


def without_tokens(connection: sqlite3.Connection, digest: str, limit: int) -> tuple[Chunk, ...]:
    """Chunks without token ids of a tokenizer."""
    rows = connection.execute(
        "SELECT k.id, k.chunk_id, k.start, k.end, k.page, k.headings, k.text FROM chunks k"
        " LEFT JOIN tokens t ON t.chunk = k.id WHERE t.digest IS NULL OR t.digest <> ? ORDER BY k.id LIMIT ?",
        (digest, limit),
    )
    return tuple(_chunk(row, TokenIds()) for row in rows)


def fill_tokens(connection: sqlite3.Connection, tokens: Mapping[str, TokenIds]) -> None:
    """Stores token ids by chunk id, over older ones."""
    connection.executemany(
        "INSERT OR REPLACE INTO tokens SELECT id, ?, ? FROM chunks WHERE chunk_id = ?",
        [(new.digest, pack(new.ids), chunk_id) for chunk_id, new in tokens.items()],
    )


def pack(ids: Sequence[int]) -> bytes:
    """Token ids as little-endian 32-bit numbers."""
    return np.asarray(ids, dtype="<u4").tobytes()


def _tokens(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, TokenIds]:
    rows = connection.execute(
        f"SELECT chunk, digest, ids FROM tokens WHERE chunk IN ({_marks(numbers)})", list(numbers)
    )
    return {row[0]: TokenIds(tuple(np.frombuffer(row[2], dtype="<u4").tolist()), row[1]) for row in rows}


def _words(title: str, headings: Sequence[str], text: str) -> Words:
    """Words of title and headings, and of the text."""
    return lexical.indexed(" ".join((title, *headings))), lexical.indexed(text)


def _insert(connection: sqlite3.Connection, collection: int, document: int, chunk: Chunk) -> int:
    place = chunk.place
    headings = json.dumps(place.headings, ensure_ascii=False)
    cursor = connection.execute(
        "INSERT INTO chunks VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
        (document, collection, chunk.chunk_id, place.start, place.end, place.page, headings, chunk.text),
    )
    return int(cursor.lastrowid or 0)


def _chunk(row: tuple[Any, ...], tokens: TokenIds) -> Chunk:
    _, chunk_id, start, end, page, headings, text = row[:7]
    place = Place(start, end, page, tuple(json.loads(headings)))
    return Chunk(chunk_id, place, text, tokens)


def _marks(items: Sequence[int] | Numbers) -> str:
    return ", ".join("?" * len(items))
