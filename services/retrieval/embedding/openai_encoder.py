"""An encoder whose model is elsewhere, behind the OpenAI API. It makes no token vectors: the API has none."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from services.retrieval.embedding.encoder import CONTEXT_VERSION, Ids, Role, TokenCounter
from services.retrieval.embedding.endpoint import EmbeddingEndpoint, EndpointAddress
from services.retrieval.embedding.rough_tokens import RoughTokens
from services.retrieval.types.chunk import Vector
from services.retrieval.types.collection import Embedding

_AT_ONCE = 64
_LONGEST_QUERY = 8192


class Counter(TokenCounter, Protocol):
    """Counts the model's tokens, exactly or roughly, and knows what it lacks, if that can be known."""

    def unknown_rate(self, texts: Sequence[str]) -> list[float]:
        """As an encoder's."""


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What is put before texts of each role, as the model wants it."""

    query: str = ""
    passage: str = ""


class OpenAiEncoder:
    """Encoder of an endpoint.

    What it calls ids are the code points of a text: the endpoint has the tokenizer. Batches are therefore bounded in
    characters. A query is cut at 8192 of them; passages were cut by the counter.

    Args:
        counter: the model's own tokenizer where it is at hand; otherwise tokens are counted roughly.
    """

    def __init__(
        self, address: EndpointAddress, prefixes: Prefixes | None = None, counter: Counter | None = None
    ) -> None:
        self._endpoint = EmbeddingEndpoint(address)
        self._prefixes = prefixes or Prefixes()
        self._counter = counter or RoughTokens()
        # Not the address: a model that moves to another one still makes the same vectors.
        decides = ["openai", address.model, address.dimension, self._prefixes.query, self._prefixes.passage]
        digest = hashlib.sha256(json.dumps([*decides, CONTEXT_VERSION]).encode()).hexdigest()
        self.embedding = Embedding(address.model, digest, address.dimension)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, exact with the model's own tokenizer, else about."""
        return list(self._counter.count(texts))

    def ends(self, text: str) -> list[int]:
        """Where each token ends, as for count."""
        return list(self._counter.ends(text))

    def unknown_rate(self, texts: Sequence[str]) -> list[float]:
        """What the counter knows; 0 where it knows nothing."""
        return self._counter.unknown_rate(texts)

    def ids(self, texts: Sequence[str], role: Role) -> list[Ids]:
        """Code points of each text behind its role's prefix."""
        if role == "query":
            return [_points(self._prefixes.query + text[:_LONGEST_QUERY]) for text in texts]
        return [_points(self._prefixes.passage + text) for text in texts]

    def embed(self, batch: Sequence[Ids]) -> Vector:
        """Vectors of a batch, 64 texts a call. Raises what the endpoint raises."""
        texts = ["".join(map(chr, ids)) or " " for ids in batch]
        parts = [self._endpoint.vectors(texts[at : at + _AT_ONCE]) for at in range(0, len(texts), _AT_ONCE)]
        return np.concatenate(parts) if parts else np.empty((0, self.embedding.dimension), np.float32)


def _points(text: str) -> Ids:
    return [ord(character) for character in text]
