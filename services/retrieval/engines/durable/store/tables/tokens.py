"""Rows of token ids and of token vectors."""

import sqlite3
from collections.abc import Mapping, Sequence

import numpy as np

from services.retrieval.engines.durable.store.database import number_list
from services.retrieval.types.chunk import Chunk, PackedTokenVectors, TokenIds


def insert(connection: sqlite3.Connection, numbers: Sequence[int], chunks: Sequence[Chunk]) -> None:
    """Adds the token ids and token vectors that chunks have."""
    pairs = list(zip(numbers, chunks, strict=True))
    connection.executemany(
        "INSERT INTO tokens VALUES (?, ?, ?)",
        [(number, chunk.tokens.digest, _pack(chunk.tokens.ids)) for number, chunk in pairs if chunk.tokens.digest],
    )
    vectors = [(number, chunk.token_vectors) for number, chunk in pairs if chunk.token_vectors.digest]
    connection.executemany(
        "INSERT INTO token_vectors VALUES (?, ?, ?)",
        [(number, packed.digest, packed.packed) for number, packed in vectors],
    )


def ids(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, TokenIds]:
    """Token ids by number; chunks that have none are missing."""
    sql = "SELECT chunk, digest, ids FROM json_each(?) j CROSS JOIN tokens t ON t.chunk = j.value"
    rows = connection.execute(sql, (number_list(numbers),))
    return {row[0]: TokenIds(tuple(np.frombuffer(row[2], dtype="<u4").tolist()), row[1]) for row in rows}


def vectors(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, PackedTokenVectors]:
    """Token vectors by number; chunks that have none are missing."""
    sql = "SELECT chunk, digest, packed FROM json_each(?) j CROSS JOIN token_vectors t ON t.chunk = j.value"
    return {row[0]: PackedTokenVectors(row[2], row[1]) for row in connection.execute(sql, (number_list(numbers),))}


def fill(connection: sqlite3.Connection, tokens: Mapping[str, TokenIds]) -> None:
    """Stores token ids by chunk id, over older ones."""
    connection.executemany(
        "INSERT OR REPLACE INTO tokens SELECT id, ?, ? FROM chunks WHERE chunk_id = ?",
        [(new.digest, _pack(new.ids), chunk_id) for chunk_id, new in tokens.items()],
    )


def _pack(ids: Sequence[int]) -> bytes:
    """Token ids as little-endian 32-bit numbers."""
    return np.asarray(ids, dtype="<u4").tobytes()
