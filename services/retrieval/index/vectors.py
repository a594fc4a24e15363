"""Nearest neighbours by cosine over the numbers of chunks."""

from collections.abc import Iterable

import faiss
import numpy as np
from numpy.typing import NDArray

from services.retrieval.engine import Vector
from services.retrieval.index.rwlock import ReadWriteLock

Numbers = NDArray[np.int64]
_COMPACT_FROM = 256
_COMPACT_SHARE = 0.1


class VectorIndex:
    """An exact FAISS index (inner product). Deleted numbers are tombstones until a tenth of it is dead.

    Searches run beside each other and outside the interpreter's lock; changes are alone.
    """

    def __init__(self, dimension: int, index: faiss.IndexIDMap2 | None = None) -> None:
        self.dimension = dimension
        self._index = index if index is not None else faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))
        self._dead: set[int] = set()
        self._lock = ReadWriteLock()

    def __len__(self) -> int:
        return int(self._index.ntotal) - len(self._dead)

    def change(self, numbers: Numbers, vectors: Vector, removed: Iterable[int] = ()) -> None:
        """Adds vectors of shape (n, dimension) under new numbers and removes others, in one step for searches."""
        with self._lock.writing():
            if len(numbers):
                self._index.add_with_ids(np.ascontiguousarray(vectors, dtype=np.float32), numbers)
            self._dead.update(removed)
            if len(self._dead) >= max(_COMPACT_FROM, _COMPACT_SHARE * self._index.ntotal):
                self._compact()

    def search(self, vector: Vector, limit: int, allowed: Numbers | None = None) -> dict[int, float]:
        """Cosine by number of the nearest, at most `limit`, among `allowed` where given."""
        return self.search_many(vector.reshape(1, -1), limit, allowed)[0]

    def search_many(self, vectors: Vector, limit: int, allowed: Numbers | None = None) -> list[dict[int, float]]:
        """The same for each of several vectors, of shape (n, dimension), in one pass."""
        with self._lock.reading():
            selector, kept = self._selector(allowed)
            parameters = faiss.SearchParameters(sel=selector) if selector is not None else None  # type: ignore[call-arg]  # its stub lacks it
            rows = np.ascontiguousarray(vectors, dtype=np.float32)
            scores, numbers = self._index.search(rows, limit, params=parameters)
            del kept
        return [_found(*row) for row in zip(numbers, scores, strict=True)]

    def numbers(self) -> Numbers:
        """Living numbers, ascending."""
        with self._lock.reading():
            known = faiss.vector_to_array(self._index.id_map).astype(np.int64)
            return np.setdiff1d(known, np.fromiter(self._dead, dtype=np.int64))

    def dump(self) -> NDArray[np.uint8]:
        """The index as bytes, without the dead ones."""
        with self._lock.writing():
            self._compact()
        with self._lock.reading():
            return faiss.serialize_index(self._index)

    def _compact(self) -> None:
        if self._dead:
            self._index.remove_ids(faiss.IDSelectorBatch(np.fromiter(self._dead, dtype=np.int64)))
            self._dead.clear()

    def _selector(self, allowed: Numbers | None) -> tuple[faiss.IDSelector | None, list[object]]:
        """What FAISS may answer, and what must live as long, since FAISS keeps bare pointers."""
        if allowed is not None:
            living = np.setdiff1d(allowed, np.fromiter(self._dead, dtype=np.int64)) if self._dead else allowed
            return _among(living)
        if not self._dead:
            return None, []
        dead, kept = _among(np.fromiter(self._dead, dtype=np.int64))
        return faiss.IDSelectorNot(dead), [dead, *kept]


def _found(numbers: Numbers, scores: Vector) -> dict[int, float]:
    """Scores by number; FAISS fills up with -1 what it doesn't find."""
    pairs = zip(numbers.tolist(), scores.tolist(), strict=True)
    return {number: score for number, score in pairs if number >= 0}


def _among(numbers: Numbers) -> tuple[faiss.IDSelector, list[object]]:
    """Takes the given numbers alone: a bit for each number there ever was, far quicker to make than a set."""
    members = np.zeros(int(numbers.max(initial=0)) + 1, dtype=bool)
    members[numbers] = True
    bits = np.packbits(members, bitorder="little")
    return faiss.IDSelectorBitmap(bits), [bits]  # type: ignore[call-arg, arg-type]  # its stub knows C++ alone


def loaded(dump: NDArray[np.uint8], dimension: int) -> VectorIndex:
    """An index from its bytes. Raises ValueError where they are another kind of index or of another dimension."""
    index = faiss.deserialize_index(dump)
    if not isinstance(index, faiss.IndexIDMap2) or index.d != dimension:
        raise ValueError(f"not an index of {dimension} dimensions")
    return VectorIndex(dimension, index)
