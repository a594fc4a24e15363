"""Rows of near-duplicate signatures. Those that are missing, or of another version, are made of the text when asked."""

import sqlite3
from collections.abc import Sequence

from services.retrieval import near
from services.retrieval.engine import NewDocument

_READ_AT_ONCE = 10_000
"""SQLite takes 32,766 values in a statement."""


def of_document(document: NewDocument) -> list[bytes]:
    """A signature of each chunk."""
    return [near.signature(chunk.text) for chunk in document.chunks]


def insert(connection: sqlite3.Connection, numbers: Sequence[int], made: Sequence[bytes]) -> None:
    """Adds chunks' signatures by their numbers."""
    connection.executemany(
        "INSERT INTO signatures VALUES (?, ?, ?)",
        [(number, near.VERSION, signature) for number, signature in zip(numbers, made, strict=True)],
    )


def read(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[bytes]:
    """Signatures in the order of the numbers; of a chunk that is gone by now, one that is near to nothing."""
    known: dict[int, bytes] = {}
    for start in range(0, len(numbers), _READ_AT_ONCE):
        known |= _read(connection, numbers[start : start + _READ_AT_ONCE])
    return [known.get(number) or number.to_bytes(16, "little") for number in numbers]


def _read(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, bytes]:
    marks = ", ".join("?" * len(numbers))
    rows = connection.execute(
        f"SELECT chunk, signature FROM signatures WHERE chunk IN ({marks}) AND version = ?", [*numbers, near.VERSION]
    )
    known = dict(rows.fetchall())
    missing = [number for number in numbers if number not in known]
    if missing:
        marks = ", ".join("?" * len(missing))
        texts = connection.execute(f"SELECT id, text FROM chunks WHERE id IN ({marks})", missing)
        known.update((number, near.signature(text)) for number, text in texts)
    return known
