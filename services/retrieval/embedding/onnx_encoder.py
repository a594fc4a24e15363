"""A transformers encoder (BERT and its like) on ONNX Runtime, in float32."""

from collections.abc import Sequence

import numpy as np

from citemesh.models import PreparedModel
from citemesh.models.onnx import OnnxModel, exported
from services.retrieval.embedding.encoder import Ids, Role, Tokens
from services.retrieval.embedding.model_tokens import ModelTokens
from services.retrieval.embedding.pooling import States, TokenPacker, embedding_of, pooled
from services.retrieval.engine import Vector


class OnnxEncoder:
    """Encoder of a prepared embedding model; exports it first where it never was. threads: of one batch."""

    def __init__(self, model: PreparedModel, threads: int = 1) -> None:
        self.embedding = embedding_of(model)
        self._pooling = model.pooling
        self._tokens = ModelTokens(model)
        self._packer = TokenPacker(model)
        self._model = OnnxModel(exported(model, "states"), threads)

    @property
    def token_vectors_digest(self) -> str:
        """Hash of all that decides token vectors."""
        return self._packer.digest

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens without special ones."""
        return self._tokens.count(texts)

    def ends(self, text: str) -> list[int]:
        """Where each token ends."""
        return self._tokens.ends(text)

    def ids(self, texts: Sequence[str], role: Role) -> list[Ids]:
        """Token ids with the role's prefix, cut at the model's limit."""
        return self._tokens.ids(texts, role)

    def tokens(self, texts: Sequence[str], own: Sequence[int]) -> list[Tokens]:
        """Passages, and where their own tokens are."""
        return self._tokens.tokens(texts, own)

    def unknown_rate(self, texts: Sequence[str]) -> list[float]:
        """Share of characters that the vocabulary lacks."""
        return self._tokens.unknown_rate(texts)

    def embed(self, batch: Sequence[Ids]) -> Vector:
        """Vectors of a batch, padded to its longest."""
        return pooled(self._states(batch), [len(ids) for ids in batch], self._pooling)

    def embed_tokens(self, batch: Sequence[Tokens]) -> tuple[Vector, list[bytes]]:
        """Vectors of a batch and of its own tokens."""
        states = self._states([it.ids for it in batch])
        return pooled(states, [len(it) for it in batch], self._pooling), self._packer(states, batch)

    def _states(self, batch: Sequence[Ids]) -> States:
        ids = np.full((len(batch), max(map(len, batch))), self._tokens.pad, np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        return self._model({"input_ids": ids, "attention_mask": mask})
