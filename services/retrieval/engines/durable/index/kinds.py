"""Chooses a collection's FAISS index: exact while it is small, a graph or inverted lists when it is large."""

import math
from dataclasses import dataclass
from typing import Literal

import faiss

Kind = Literal["auto", "flat", "hnsw", "ivf"]
_HYSTERESIS = 0.5
_TRAINING_PER_LIST = 64
_EF_UP_TO = 100_000


@dataclass(frozen=True, slots=True)
class IndexChoice:
    """The settings of an index; the defaults were measured, see docs/adr/0007.

    Attributes:
        kind: auto goes by size.
        flat_up_to: most vectors that are searched exactly, with auto.
        hnsw_up_to: most vectors that are kept in a graph, with auto; more go into inverted lists, which build sooner.
        factory: a FAISS factory string instead of hnsw and ivf, such as "HNSW32,SQ8".
        links: neighbours of a vector in the graph.
        ef_construction, ef_search: candidates while the graph is built, and while one of 100,000 is searched.
        probes: share of the inverted lists that are searched.
        gpu: searches on the graphics processors; needs faiss-gpu.
        compact_from: removed vectors from which an index is rebuilt, where they are a tenth of it.
        move_from: new vectors from which they are moved into a graph or into lists.
    """

    kind: Kind = "auto"
    flat_up_to: int = 50_000
    hnsw_up_to: int = 2_000_000
    factory: str = ""
    links: int = 32
    ef_construction: int = 80
    ef_search: int = 96
    probes: float = 0.05
    gpu: bool = False
    compact_from: int = 256
    move_from: int = 256

    def candidates(self, count: int) -> int:
        """Candidates while a graph of so many is searched: as the root of its size, or large ones would lose recall."""
        return round(self.ef_search * math.sqrt(max(1.0, count / _EF_UP_TO)))

    def kind_for(self, count: int, now: str = "") -> str:
        """Name of the kind for so many vectors; one that is in use is left only at half the size that it began at."""
        if self.kind == "flat" or not count:
            return "flat"
        large = self.factory or (self.kind if self.kind != "auto" else self._by_size(count, now))
        if self.kind == "auto" and count <= self.flat_up_to * (1 if now in ("", "flat") else _HYSTERESIS):
            return "flat"
        return large

    def _by_size(self, count: int, now: str) -> str:
        """A graph isn't searched on graphics processors, so that there lists begin where it would."""
        many = count > self.hnsw_up_to * (_HYSTERESIS if now == "ivf" else 1)
        return "ivf" if many or self.gpu else "hnsw"


def lists_for(count: int) -> int:
    """Inverted lists for so many vectors: four times the root, as FAISS' guide has it."""
    return max(1, int(4 * math.sqrt(count)))


def training_for(count: int) -> int:
    """Vectors that inverted lists are learned from."""
    return min(count, _TRAINING_PER_LIST * lists_for(count))


def make(name: str, dimension: int, count: int, choice: IndexChoice) -> faiss.Index:
    """An empty index of a kind for about so many vectors. Raises ValueError for a factory string that FAISS refuses."""
    metric = faiss.METRIC_INNER_PRODUCT
    if name == "flat":
        return faiss.IndexFlatIP(dimension)
    if name == "hnsw":
        graph = faiss.IndexHNSWFlat(dimension, choice.links, metric)
        graph.hnsw.efConstruction = choice.ef_construction
        return graph
    factory = f"IVF{lists_for(count)},Flat" if name == "ivf" else name
    try:
        return faiss.index_factory(dimension, factory, metric)
    except RuntimeError as error:
        raise ValueError(f"FAISS makes no index of {factory!r}: {error}") from None
