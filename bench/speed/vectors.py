"""Vectors like those of an embedding model, made by chance: as many as wanted, without embedding so much text.

Each is `a common direction + its cluster's + its own`, scaled to length one. Directions are drawn with a spectrum that
falls as 1/sqrt(i), since embeddings use few of their dimensions much; the common part gives two unrelated vectors a
cosine of about 0.7, as E5's have. Clusters hold 100 vectors on average. Queries are vectors of the set with noise
added, so that each has near neighbours, as a question has.
"""

from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

DIMENSION = 384
QUERIES = 4096
_COMMON, _CLUSTER, _OWN, _NOISE = 1.55, 0.8, 0.62, 0.35
_PER_CLUSTER = 100
_PORTION = 100_000

Vectors = NDArray[np.float32]
_numpy_format: Any = np.lib.format  # untyped


def make(count: int, seed: int, path: Path) -> Vectors:
    """So many vectors, [count, 384], in a file, mapped into memory."""
    chance = np.random.default_rng(seed)
    common, centres = _directions(chance, 1), _directions(chance, max(1, count // _PER_CLUSTER))
    made: Vectors = _numpy_format.open_memmap(path, "w+", np.float32, (count, DIMENSION))
    for start in range(0, count, _PORTION):
        some = min(_PORTION, count - start)
        clusters = centres[chance.integers(0, len(centres), some)]
        made[start : start + some] = _unit(_COMMON * common + _CLUSTER * clusters + _OWN * _directions(chance, some))
    made.flush()
    return made


def queries(vectors: Vectors, seed: int, count: int = QUERIES) -> Vectors:
    """Queries with neighbours among the vectors, [count, 384]."""
    chance = np.random.default_rng(seed + 1)
    near = vectors[np.sort(chance.integers(0, len(vectors), count))]
    found = _unit(near + _NOISE * _directions(chance, count))
    chance.shuffle(found)
    return found


def exact(vectors: Vectors, asked: Vectors, k: int) -> NDArray[np.int64]:
    """Numbers of the true k nearest of each query, [queries, k]."""
    index = faiss.IndexFlatIP(DIMENSION)
    index.add(np.ascontiguousarray(vectors))
    return np.asarray(index.search(asked, k)[1], np.int64)


def recall(found: NDArray[np.int64], true: NDArray[np.int64]) -> float:
    """Share of the true neighbours that were found."""
    hits = [len(set(one) & set(other)) for one, other in zip(found.tolist(), true.tolist(), strict=True)]
    return sum(hits) / true.size


def _directions(chance: np.random.Generator, count: int) -> Vectors:
    spectrum = np.float32(1) / np.sqrt(np.arange(1, DIMENSION + 1, dtype=np.float32))
    return _unit(np.asarray(chance.standard_normal((count, DIMENSION), np.float32) * spectrum, np.float32))


def _unit(rows: Vectors) -> Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
