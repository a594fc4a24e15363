"""A few vectors of each collection, drawn evenly over its age: what an unrelated passage scores is read off them."""

import sqlite3
import threading
from collections import OrderedDict

import numpy as np

from services.retrieval.engines.durable.index.vectors import VectorIndex
from services.retrieval.engines.durable.store.tables import vectors
from services.retrieval.engines.durable.store.tables.collections import CollectionRow
from services.retrieval.types.chunk import Vector

DRAWN = 256
_COLLECTIONS = 64


class VectorSample:
    """Draws anew when a collection has changed in size by half; vectors that were deleted since may be among them."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[int, Vector]] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, connection: sqlite3.Connection, row: CollectionRow, index: VectorIndex) -> Vector:
        """At most 256 vectors, shape (drawn, dimension)."""
        size = len(index)
        with self._guard:
            known = self._known.get(row.id)
        if known is not None and 2 * known[0] <= 3 * size <= 4.5 * known[0]:
            return known[1]
        numbers = np.sort(index.numbers())
        some = numbers[np.linspace(0, len(numbers) - 1, min(DRAWN, len(numbers))).astype(np.int64)]
        read = [found for _, found in vectors.read(connection, some, row.embedding.dimension)]
        drawn = np.concatenate(read) if read else np.empty((0, row.embedding.dimension), np.float32)
        with self._guard:
            self._known[row.id] = (size, drawn)
            self._known.move_to_end(row.id)
            if len(self._known) > _COLLECTIONS:
                self._known.popitem(last=False)
        return drawn
