"""Rows of near-duplicate signatures. Those that are missing, or of another version, are made of the text when asked."""

import sqlite3
from collections.abc import Sequence

from services.retrieval.engines.durable.store.tables.number_list import listed
from services.retrieval.search import near_duplicates
from services.retrieval.types.document import NewDocument


def of_document(document: NewDocument) -> list[bytes]:
    """A signature of each chunk."""
    return [near_duplicates.signature(chunk.text) for chunk in document.chunks]


def insert(connection: sqlite3.Connection, numbers: Sequence[int], made: Sequence[bytes]) -> None:
    """Adds chunks' signatures by their numbers."""
    connection.executemany(
        "INSERT INTO signatures VALUES (?, ?, ?)",
        [(number, near_duplicates.VERSION, signature) for number, signature in zip(numbers, made, strict=True)],
    )


def read(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[bytes]:
    """Signatures in the order of the numbers; of a chunk that is gone by now, one that is near to nothing."""
    rows = connection.execute(
        "SELECT chunk, signature FROM json_each(?) j CROSS JOIN signatures s ON s.chunk = j.value WHERE version = ?",
        (listed(numbers), near_duplicates.VERSION),
    )
    known: dict[int, bytes] = dict(rows.fetchall())
    if missing := [number for number in numbers if number not in known]:
        texts = connection.execute(
            "SELECT k.id, text FROM json_each(?) j CROSS JOIN chunks k ON k.id = j.value", (listed(missing),)
        )
        known.update((number, near_duplicates.signature(text)) for number, text in texts)
    return [known.get(number) or number.to_bytes(16, "little") for number in numbers]


class Signatures(dict[int, bytes]):
    """Those that were read from one state of the store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._connection = connection

    def of(self, numbers: Sequence[int]) -> list[bytes]:
        """In the order of the numbers; those that are not known yet are read at once."""
        if unknown := [number for number in dict.fromkeys(numbers) if number not in self]:
            self.update(zip(unknown, read(self._connection, unknown), strict=True))
        return [self[number] for number in numbers]
