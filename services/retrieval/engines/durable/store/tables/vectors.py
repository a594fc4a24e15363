"""Rows of vectors. A chunk that the embedding model can't read has none, and is marked instead."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from services.retrieval.types.chunk import Vector
from services.retrieval.types.document import NewDocument

Numbers = NDArray[np.int64]
READ_AT_ONCE = 1024


def insert(connection: sqlite3.Connection, numbers: Sequence[int], document: NewDocument) -> tuple[list[int], Vector]:
    """Adds a document's vectors; returns the numbers of chunks that have one, and these vectors."""
    readable = [at for at in range(len(numbers)) if at not in document.unreadable]
    vectors = np.asarray(document.vectors, dtype="<f4")[readable]
    with_vector = [numbers[at] for at in readable]
    connection.executemany(
        "INSERT INTO vectors VALUES (?, ?)", zip(with_vector, (vector.tobytes() for vector in vectors), strict=True)
    )
    connection.executemany("INSERT INTO unreadable VALUES (?)", [(numbers[at],) for at in document.unreadable])
    return with_vector, vectors.astype(np.float32, copy=False)


def numbers_of(connection: sqlite3.Connection, collection: int) -> Numbers:
    """Numbers of all chunks of a collection that have a vector, ascending."""
    rows = connection.execute("SELECT id FROM chunks WHERE collection = ? ORDER BY id", (collection,))
    unreadable = connection.execute(
        "SELECT u.chunk FROM unreadable u JOIN chunks k ON k.id = u.chunk WHERE k.collection = ?", (collection,)
    )
    return np.setdiff1d(numbers_from(rows), numbers_from(unreadable), assume_unique=True)


def numbers_from(rows: Iterable[tuple[int]]) -> Numbers:
    """The first column of rows."""
    return np.fromiter((row[0] for row in rows), dtype=np.int64)


def read(connection: sqlite3.Connection, numbers: Numbers, dimension: int) -> Iterator[tuple[Numbers, Vector]]:
    """Reads vectors in portions of at most 1024, to save memory; deleted ones are missing."""
    for start in range(0, len(numbers), READ_AT_ONCE):
        portion = numbers[start : start + READ_AT_ONCE].tolist()
        marks = ", ".join("?" * len(portion))
        rows = connection.execute(f"SELECT chunk, vector FROM vectors WHERE chunk IN ({marks})", portion).fetchall()
        stacked = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), dimension)
        yield np.array([row[0] for row in rows], dtype=np.int64), stacked.astype(np.float32)
