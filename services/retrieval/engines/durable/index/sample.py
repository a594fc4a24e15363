"""Samples a few vectors of each collection, evenly over its age: they say what an unrelated passage scores."""

import sqlite3
import threading
from collections import OrderedDict

import numpy as np

from services.retrieval.engines.durable.index.vectors import VectorIndex
from services.retrieval.engines.durable.store.tables import vectors
from services.retrieval.engines.durable.store.tables.collections import CollectionRow
from services.retrieval.types.chunk import Vector

SAMPLE_SIZE = 256
_COLLECTIONS = 64


class VectorSample:
    """Samples again when a collection has changed in size by half; may hold vectors that were deleted since."""

    def __init__(self) -> None:
        self._samples: OrderedDict[int, tuple[int, Vector]] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, connection: sqlite3.Connection, row: CollectionRow, index: VectorIndex) -> Vector:
        """At most 256 vectors, shape (vectors, dimension)."""
        size = len(index)
        with self._guard:
            former_size, sample = self._samples.get(row.id, (0, None))
        if sample is not None and 2 * former_size <= 3 * size <= 4.5 * former_size:
            return sample
        numbers = np.sort(index.numbers())
        picked = numbers[np.linspace(0, len(numbers) - 1, min(SAMPLE_SIZE, len(numbers))).astype(np.int64)]
        portions = [portion for _, portion in vectors.read(connection, picked, row.embedding.dimension)]
        sample = np.concatenate(portions) if portions else np.empty((0, row.embedding.dimension), np.float32)
        with self._guard:
            self._samples[row.id] = (size, sample)
            self._samples.move_to_end(row.id)
            if len(self._samples) > _COLLECTIONS:
                self._samples.popitem(last=False)
        return sample
