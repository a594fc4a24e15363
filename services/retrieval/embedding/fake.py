"""An encoder without weights: words are hashed to directions, so texts that share words are near each other."""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from services.retrieval import lexical
from services.retrieval.embedding.encoder import Ids, Role
from services.retrieval.engine import Embedding, Vector

_TOKEN = re.compile(r"\w{1,8}|\S")


class FakeEncoder:
    """Deterministic on every machine; knows no meaning beyond equal words."""

    def __init__(self, dimension: int = 64, model: str = "fake") -> None:
        self.embedding = Embedding(model, hashlib.sha256(f"{model}:{dimension}".encode()).hexdigest(), dimension)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens are words of up to eight characters."""
        return [sum(1 for _ in _TOKEN.finditer(text)) for text in texts]

    def ends(self, text: str) -> list[int]:
        """Ends of the words."""
        return [match.end() for match in _TOKEN.finditer(text)]

    def ids(self, texts: Sequence[str], role: Role) -> list[Ids]:
        """Hashes of the words, the same for both roles."""
        return [[_hash(word) for word in lexical.words(text)] for text in texts]

    def embed(self, batch: Sequence[Ids]) -> Vector:
        """Sums of the words' directions."""
        vectors = np.zeros((len(batch), self.embedding.dimension), np.float32)
        for row, ids in enumerate(batch):
            for number in ids or [1]:
                vectors[row, number % self.embedding.dimension] += 1.0 if number >> 16 & 1 else -1.0
        vectors[~vectors.any(axis=1), 0] = 1.0
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


@lru_cache(100_000)
def _hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "big")
