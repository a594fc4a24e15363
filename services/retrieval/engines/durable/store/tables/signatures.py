"""Rows of near-duplicate signatures. Missing ones, and those of another version, are made when they are read."""

import sqlite3
from collections.abc import Sequence

from services.retrieval.engines.durable.store.database import number_list
from services.retrieval.search import near_duplicates
from services.retrieval.types.document import NewDocument


def of_document(document: NewDocument) -> list[bytes]:
    """A signature of each chunk."""
    return [near_duplicates.signature(chunk.text) for chunk in document.chunks]


def insert(connection: sqlite3.Connection, numbers: Sequence[int], signatures: Sequence[bytes]) -> None:
    """Adds chunks' signatures by their numbers."""
    connection.executemany(
        "INSERT INTO signatures VALUES (?, ?, ?)",
        [(number, near_duplicates.VERSION, signature) for number, signature in zip(numbers, signatures, strict=True)],
    )


def read(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[bytes]:
    """Signatures in the order of the numbers; a deleted chunk gets one that is near to nothing."""
    rows = connection.execute(
        "SELECT chunk, signature FROM json_each(?) j CROSS JOIN signatures s ON s.chunk = j.value WHERE version = ?",
        (number_list(numbers), near_duplicates.VERSION),
    )
    by_number: dict[int, bytes] = dict(rows.fetchall())
    if missing := [number for number in numbers if number not in by_number]:
        texts = connection.execute(
            "SELECT k.id, text FROM json_each(?) j CROSS JOIN chunks k ON k.id = j.value", (number_list(missing),)
        )
        by_number.update((number, near_duplicates.signature(text)) for number, text in texts)
    return [by_number.get(number) or number.to_bytes(16, "little") for number in numbers]


class Signatures(dict[int, bytes]):
    """Signatures that were read from one state of the store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._connection = connection

    def of(self, numbers: Sequence[int]) -> list[bytes]:
        """Signatures in the order of the numbers; those that were not read yet are read at once."""
        if unknown := [number for number in dict.fromkeys(numbers) if number not in self]:
            self.update(zip(unknown, read(self._connection, unknown), strict=True))
        return [self[number] for number in numbers]
