"""Chooses the words of a query that a large collection is searched for: the rarest, up to a number of passages.

FTS5 scores every passage that holds any word of a query, so a search grows with its collection, and most of it goes
into the words that tell least. Counting a word's passages costs a twentieth of scoring them, and is remembered.
"""

import sqlite3
from collections.abc import Sequence

from services.retrieval.engines.durable.store.schema import lexicon

MOST = 200_000
_REMEMBERED = 65_536
_GROWTH = 1.1
_ALWAYS = 2


class Postings:
    """Chooses the words.

    Args:
        most: passages that the words of a query may have together; the two rarest words are always asked for.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._counted: dict[tuple[int, str], tuple[int, int]] = {}

    def affordable(
        self, connection: sqlite3.Connection, collection: int, passages: int, terms: Sequence[str]
    ) -> list[str]:
        """Those of a query's FTS5 terms that a collection of so many passages is asked for, in their order: all where
        it is small."""
        if len(terms) <= _ALWAYS or passages * len(terms) <= self._most:
            return list(terms)
        counts = {term: self._count(connection, collection, passages, term) for term in terms}
        affordable, left = set[str](), self._most
        for term in sorted(counts, key=counts.__getitem__):
            left -= counts[term]
            if left < 0 and len(affordable) >= _ALWAYS:
                break
            affordable.add(term)
        return [term for term in terms if term in affordable]

    def _count(self, connection: sqlite3.Connection, collection: int, passages: int, term: str) -> int:
        """Passages that hold a word; counted again once the collection has grown or shrunk by a tenth."""
        size, count = self._counted.get((collection, term), (0, 0))
        if size and size / _GROWTH <= passages <= size * _GROWTH:
            return count
        table = lexicon(collection)
        count = int(connection.execute(f"SELECT COUNT(*) FROM {table} WHERE {table} MATCH ?", (term,)).fetchone()[0])
        if len(self._counted) >= _REMEMBERED:
            self._counted.clear()
        self._counted[collection, term] = (passages, count)
        return count
