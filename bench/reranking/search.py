"""A small search over texts in memory: what the reranker's candidates come from in a bench."""

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citemesh.text.word_sets import word_sets

Floats = NDArray[np.float32]
K1, B = 1.2, 0.75


def bm25(texts: Sequence[str], queries: Sequence[str]) -> Floats:
    """BM25 over the reranker's own words: [queries, texts]."""
    bags = [_bag(text) for text in texts]
    lengths = np.array([sum(bag.values()) for bag in bags], np.float32)
    frequency = Counter(word for bag in bags for word in bag)
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    scores = np.zeros((len(queries), len(texts)), np.float32)
    for row, query in enumerate(queries):
        for word in word_sets(query).compared:
            held = frequency[word]
            idf = math.log(1 + (len(texts) - held + 0.5) / (held + 0.5))
            counts = np.array([bag[word] for bag in bags], np.float32)
            scores[row] += idf * counts * (K1 + 1) / (counts + norm)
    return scores


def _bag(text: str) -> Counter[str]:
    """Words with how often they come: sentence by sentence is near enough, and needs no second splitter."""
    return Counter(word for line in unicodedata.normalize("NFKC", text).split() for word in word_sets(line).compared)


def spread(scores: Floats) -> Floats:
    """Each row moved to 0..1."""
    low, high = scores.min(axis=-1, keepdims=True), scores.max(axis=-1, keepdims=True)
    return np.asarray((scores - low) / np.maximum(high - low, 1e-9), np.float32)


def ndcg(order: Sequence[int], relevant: frozenset[int], depth: int = 10) -> float:
    """Normalised discounted cumulative gain of an order, every relevant one worth the same."""
    gain = sum(1 / math.log2(rank + 2) for rank, number in enumerate(order[:depth]) if number in relevant)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(depth, len(relevant))))
