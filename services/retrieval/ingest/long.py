"""Chunks longer than the embedding model reads at once: embedded piece by piece, and the mean of the pieces kept.

A model cuts what it is given at its limit; a window of thousands of tokens would be found by its first page alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from services.retrieval.engine import Vector
from services.retrieval.ingest.chunk import ChunkSize, TokenCounter, chunk
from services.retrieval.ingest.parsed import Block, Parsed


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces of several texts, one text's after another's. starts: where each text's pieces begin."""

    texts: list[str]
    starts: list[int]


def pieces(texts: Sequence[str], counter: TokenCounter, most: int) -> Pieces:
    """Texts cut into pieces of at most so many tokens; each text has one at least. CPU work: call it in a thread."""
    found: list[str] = []
    starts: list[int] = []
    size = ChunkSize(most, 0)
    for text, tokens in zip(texts, counter.count(texts), strict=True):
        starts.append(len(found))
        places = chunk(Parsed(text, (Block(0, len(text)),)), counter, size) if tokens > most else []
        found += [text[place.start : place.end] for place in places] or [text]
    return Pieces(found, starts)


def means(vectors: Vector, of: Pieces) -> Vector:
    """A vector for each text, of length one: the mean of its pieces', weighed by their lengths."""
    weights = np.array([max(1, len(text)) for text in of.texts], np.float32)[:, None]
    sums = np.add.reduceat(vectors * weights, of.starts, axis=0)
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12), np.float32)
