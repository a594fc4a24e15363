"""An encoder without weights: words are hashed to directions, so texts that share words are near each other."""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from citemesh.models.tokens.token_vectors import pack
from citemesh.text.index_words import index_words
from services.retrieval.embedding.encoder import ChunkTokens, Ids, Role
from services.retrieval.types.chunk import Vector
from services.retrieval.types.collection import Embedding

_TOKEN = re.compile(r"\w{1,8}|\S")


class FakeEncoder:
    """Deterministic on every machine; knows no meaning beyond equal words.

    Args:
        unreadable: characters that it takes for unknown, for trying what happens then.
    """

    capacity = 8192

    def __init__(self, dimension: int = 64, model: str = "fake", unreadable: str = "") -> None:
        self._unreadable = frozenset(unreadable)
        self.token_vectors_digest = hashlib.sha256(f"{model}: tokens".encode()).hexdigest()
        self.embedding = Embedding(model, hashlib.sha256(f"{model}:{dimension}".encode()).hexdigest(), dimension)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens are words of up to eight characters."""
        return [sum(1 for _ in _TOKEN.finditer(text)) for text in texts]

    def ends(self, text: str) -> list[int]:
        """Ends of the words."""
        return [match.end() for match in _TOKEN.finditer(text)]

    def ids(self, texts: Sequence[str], role: Role) -> list[Ids]:
        """Hashes of the words, the same for both roles."""
        return [[_hash(word) for word in index_words(text)] for text in texts]

    def tokens(self, texts: Sequence[str], lengths: Sequence[int]) -> list[ChunkTokens]:
        """The words; those that end in the last so many characters are the chunk's."""
        return list(map(_chunk_tokens, self.ids(texts, "passage"), texts, lengths))

    def unknown_rate(self, texts: Sequence[str]) -> list[float]:
        """Share of the characters that were named unreadable."""
        return [_share("".join(text.split()), self._unreadable) for text in texts]

    def embed_tokens(self, batch: Sequence[ChunkTokens]) -> tuple[Vector, list[bytes]]:
        """Sums of the words' directions, and a direction for the place of each of the chunk's words."""
        vectors = self.embed([tokens.ids for tokens in batch])
        directions = np.eye(8, dtype=np.float32)
        places = [np.array(tokens.places, np.uint32) for tokens in batch]
        return vectors, [
            pack(tokens.characters, at, directions[at % 8]) for tokens, at in zip(batch, places, strict=True)
        ]

    def embed(self, batch: Sequence[Ids]) -> Vector:
        """Sums of the words' directions."""
        vectors = np.zeros((len(batch), self.embedding.dimension), np.float32)
        for row, ids in enumerate(batch):
            for number in ids or [1]:
                vectors[row, number % self.embedding.dimension] += 1.0 if number >> 16 & 1 else -1.0
        vectors[~vectors.any(axis=1), 0] = 1.0
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _chunk_tokens(ids: Ids, text: str, length: int) -> ChunkTokens:
    """The places are those of the text's words as `ends` has them; ids are for its vector alone."""
    start = len(text) - length
    places = [match.end() - 1 - start for match in _TOKEN.finditer(text) if match.end() > start]
    return ChunkTokens(ids, 0, places, length)


def _share(text: str, unreadable: frozenset[str]) -> float:
    return sum(character in unreadable for character in text) / len(text) if text else 0.0


@lru_cache(100_000)
def _hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "big")
