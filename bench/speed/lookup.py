"""An encoder that has every answer already: a text is a vector's number. What is left of a search is not embedding."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.speed.vectors import DIMENSION, Vectors
from services.retrieval.embedding.encoder import Ids, Role
from services.retrieval.types.collection import Embedding

EMBEDDING = Embedding("lookup", hashlib.sha256(b"lookup").hexdigest(), DIMENSION)


class LookupEncoder:
    """Vectors of a file, [count, 384], by number."""

    embedding = EMBEDDING

    def __init__(self, path: Path) -> None:
        self._vectors: Vectors = np.load(path, mmap_mode="r")

    def count(self, texts: Sequence[str]) -> list[int]:
        """A token a text."""
        return [1] * len(texts)

    def ends(self, text: str) -> list[int]:
        """One token, the whole text."""
        return [len(text)]

    def ids(self, texts: Sequence[str], role: Role) -> list[Ids]:
        """The number that a text is; any other text is the first."""
        return [[int(text) if text.isdigit() else 0] for text in texts]

    def embed(self, batch: Sequence[Ids]) -> Vectors:
        """The vectors of the numbers."""
        return np.ascontiguousarray(self._vectors[[ids[0] for ids in batch]])

    def unknown_rate(self, texts: Sequence[str]) -> list[float]:
        """It knows every text."""
        return [0.0] * len(texts)
