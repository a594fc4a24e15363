"""Chunks longer than the embedding model reads at once: embedded piece by piece, and the mean of the pieces kept.

A model cuts what it is given at its limit; a window of thousands of tokens would be found by its first page alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from services.retrieval.embedding.encoder import TokenCounter
from services.retrieval.ingestion.chunk.chunker import ChunkSize, chunk
from services.retrieval.ingestion.read.parsed import Block, Parsed
from services.retrieval.types.chunk import Vector


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces of several texts, one text's after another's. counts: how many each text has, at least one."""

    texts: list[str]
    counts: list[int]

    @property
    def owners(self) -> list[int]:
        """The text that each piece is of."""
        return [owner for owner, count in enumerate(self.counts) for _ in range(count)]


def whole(texts: Sequence[str]) -> Pieces:
    """Texts that need no cutting."""
    return Pieces(list(texts), [1] * len(texts))


def pieces(texts: Sequence[str], counter: TokenCounter, most: int) -> Pieces:
    """Texts cut into pieces of at most so many tokens. CPU work: call it in a thread."""
    cut_pieces = Pieces([], [])
    for text, tokens in zip(texts, counter.count(texts), strict=True):
        cut = _cut(text, counter, most) if tokens > most else [text]
        cut_pieces.texts.extend(cut)
        cut_pieces.counts.append(len(cut))
    return cut_pieces


def means(vectors: Vector, of: Pieces) -> Vector:
    """A vector for each text, of length one: the mean of its pieces', weighed by their lengths."""
    if not of.counts or len(of.counts) == len(of.texts):
        return vectors
    starts = np.cumsum([0, *of.counts[:-1]])
    weights = np.array([max(1, len(text)) for text in of.texts], np.float32)[:, None]
    sums = np.add.reduceat(vectors * weights, starts, axis=0)
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12), np.float32)


def _cut(text: str, counter: TokenCounter, most: int) -> list[str]:
    places = chunk(Parsed(text, (Block(0, len(text)),)), counter, ChunkSize(most, 0))
    return [text[place.start : place.end] for place in places] or [text]
