"""A FAISS index of any kind over numbered vectors, with one way to search it."""

from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from services.retrieval.engines.durable.index.bitmap import Bitmap, Numbers
from services.retrieval.engines.durable.index.kinds import IndexChoice, make
from services.retrieval.types.chunk import Vector

EXACT_SHARE = 0.2
"""Share of the vectors up to which a filter is answered exactly: a graph finds too few of a small share."""
_faiss: Any = faiss  # its stub lacks what only C++ declares
ScoresAndNumbers = tuple[Vector, Numbers]


class Segment:
    """Vectors under numbers. Searches may run beside each other; a change has to be alone.

    name is "flat", "hnsw", "ivf" or a factory string. lossy: its scores are estimates.
    """

    def __init__(self, name: str, index: faiss.IndexIDMap2, choice: IndexChoice) -> None:
        self.name = name
        self.index = index
        self._inner: Any = faiss.downcast_index(index.index)
        self._choice = choice
        self._storage = _storage(self._inner)
        self.lossy = not isinstance(self._storage or self._inner, (faiss.IndexFlat, faiss.IndexIVFFlat))
        self._on_gpu = _gpu_copy(self._inner) if choice.gpu and name != "flat" else None

    @classmethod
    def empty(cls, name: str, dimension: int, choice: IndexChoice, count: int = 0) -> "Segment":
        """Makes a segment for about so many vectors. Raises ValueError for a factory string that FAISS refuses."""
        return cls(name, faiss.IndexIDMap2(make(name, dimension, count, choice)), choice)

    def __len__(self) -> int:
        return int(self.index.ntotal)

    @property
    def is_trained(self) -> bool:
        """Whether vectors may be added."""
        return bool(self.index.is_trained)

    def train(self, vectors: Vector) -> None:
        """Learns lists or codes from a sample of shape (n, dimension)."""
        self.index.train(np.ascontiguousarray(vectors, dtype=np.float32))

    def add(self, numbers: Numbers, vectors: Vector) -> None:
        """Adds vectors of shape (n, dimension) under new numbers."""
        if len(numbers):
            self.index.add_with_ids(np.ascontiguousarray(vectors, dtype=np.float32), numbers)

    def numbers(self) -> Numbers:
        """All numbers, in the order in which they were added."""
        return faiss.vector_to_array(self.index.id_map).astype(np.int64)

    def vectors(self, start: int, count: int) -> Vector:
        """Vectors in the order in which they were added; of a flat segment alone."""
        vectors: Vector = self._inner.reconstruct_n(start, count)
        return vectors

    def search(self, rows: Vector, limit: int, allowed: Bitmap | None = None) -> ScoresAndNumbers:
        """Scores and numbers, each of shape (rows, limit), best first; -1 where there are no more.

        Has fewer only where `allowed` has no more: what a graph or lists miss is searched for exactly.
        """
        if allowed is None and self._on_gpu is not None:
            return self._gpu_search(rows, limit)
        few = allowed is not None and len(allowed) <= EXACT_SHARE * len(self)
        if few and not isinstance(self._inner, faiss.IndexFlat):
            return self._exhaustive(rows, limit, allowed)
        scores, numbers = self.index.search(rows, limit, params=self._parameters(limit, allowed, thorough=False))
        most = min(limit, len(self) if allowed is None else len(allowed))
        if most and bool((numbers[:, most - 1] < 0).any()):
            return self._exhaustive(rows, limit, allowed)
        return scores, numbers

    def _exhaustive(self, rows: Vector, limit: int, allowed: Bitmap | None) -> ScoresAndNumbers:
        if self._storage is None:
            scores, numbers = self.index.search(rows, limit, params=self._parameters(limit, allowed, thorough=True))
            return scores, numbers
        selector = None if allowed is None else _faiss.IDSelectorTranslated(self.index.id_map, allowed.selector())
        scores, places = self._storage.search(rows, limit, params=_plain(selector))
        return scores, self._numbers_at(places)

    def _numbers_at(self, places: NDArray[np.int64]) -> Numbers:
        all_numbers = faiss.rev_swig_ptr(self.index.id_map.data(), len(self))
        return np.where(places < 0, -1, all_numbers[places])

    def _parameters(self, limit: int, allowed: Bitmap | None, thorough: bool) -> Any:
        selector = None if allowed is None else allowed.selector()
        if _is_graph(self._inner):
            wide = max(self._choice.candidates(len(self)), limit) * (1 if allowed is None else 2)
            return _faiss.SearchParametersHNSW(sel=selector, efSearch=wide)
        if isinstance(self._inner, faiss.IndexIVF):
            lists = self._inner.nlist
            probes = lists if thorough else max(1, round(lists * self._choice.probes))
            return _faiss.SearchParametersIVF(sel=selector, nprobe=probes)
        return _plain(selector)

    def _gpu_search(self, rows: Vector, limit: int) -> ScoresAndNumbers:
        scores, places = self._on_gpu.search(rows, limit)  # type: ignore[union-attr]  # it is there
        return scores, self._numbers_at(places)

    def copy_to_gpu(self) -> None:
        """Copies new vectors to the graphics processors, where these are used."""
        if self._on_gpu is not None:
            self._on_gpu = _gpu_copy(self._inner)


def _is_graph(inner: object) -> bool:
    return isinstance(inner, faiss.IndexHNSW)


def _storage(inner: Any) -> Any:
    """The index that holds a graph's vectors; None for any other kind."""
    return faiss.downcast_index(inner.storage) if _is_graph(inner) else None


def _plain(selector: faiss.IDSelector | None) -> Any:
    return None if selector is None else _faiss.SearchParameters(sel=selector)


def _gpu_copy(inner: object) -> Any:
    """The index on all graphics processors. Raises ValueError where this FAISS knows none, or can't copy its kind."""
    if not hasattr(faiss, "StandardGpuResources"):
        raise ValueError("this FAISS has no graphics processor: install faiss-gpu, or set index_device to cpu")
    if _is_graph(inner):
        raise ValueError("a graph isn't searched on graphics processors: set index_kind to ivf, or an index_factory")
    return _faiss.index_cpu_to_all_gpus(inner)
