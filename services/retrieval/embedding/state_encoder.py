"""What encoders that run a transformers model share: everything but how the model is run."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from citemesh.models import PreparedModel
from services.retrieval.embedding.encoder import ChunkTokens, Ids, Role
from services.retrieval.embedding.model_tokens import ModelTokens
from services.retrieval.embedding.pooling import States, TokenPacker, embedding_of, pooled
from services.retrieval.types.chunk import Vector


class StateEncoder(ABC):
    """Encoder of a prepared embedding model, over the last hidden states that a subclass makes."""

    def __init__(self, model: PreparedModel) -> None:
        self.embedding = embedding_of(model)
        self._pooling = model.pooling
        self._tokens = ModelTokens(model)
        self._packer = TokenPacker(model)

    @property
    def token_vectors_digest(self) -> str:
        """Hash of all that decides token vectors."""
        return self._packer.digest

    @property
    def capacity(self) -> int:
        """Most tokens of a chunk that the model reads whole in the longest context."""
        return self._tokens.capacity

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens without special ones."""
        return self._tokens.count(texts)

    def ends(self, text: str) -> list[int]:
        """Where each token ends."""
        return self._tokens.ends(text)

    def ids(self, texts: Sequence[str], role: Role) -> list[Ids]:
        """Token ids with the role's prefix, cut at the model's limit."""
        return self._tokens.ids(texts, role)

    def tokens(self, texts: Sequence[str], lengths: Sequence[int]) -> list[ChunkTokens]:
        """Chunks in their context, with the places of their tokens."""
        return self._tokens.tokens(texts, lengths)

    def unknown_rate(self, texts: Sequence[str]) -> list[float]:
        """Share of characters that the vocabulary lacks."""
        return self._tokens.unknown_rate(texts)

    def embed(self, batch: Sequence[Ids]) -> Vector:
        """Vectors of a batch, padded to its longest."""
        return pooled(self._states(batch), [len(ids) for ids in batch], self._pooling)

    def embed_tokens(self, batch: Sequence[ChunkTokens]) -> tuple[Vector, list[bytes]]:
        """Vectors of a batch and of its chunks' tokens."""
        states = self._states([tokens.ids for tokens in batch])
        return pooled(states, [len(tokens) for tokens in batch], self._pooling), self._packer(states, batch)

    @abstractmethod
    def _states(self, batch: Sequence[Ids]) -> States:
        """Last hidden states, float32, padded to the batch's longest."""
