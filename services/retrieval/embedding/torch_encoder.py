"""A transformers encoder (BERT and its like) on PyTorch: mean, first or last token pooling, and length one."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from transformers import AutoModel

from citemesh.models import PreparedModel
from citemesh.models.quiet import quiet_transformers
from services.retrieval.embedding.encoder import Ids, Role, Tokens
from services.retrieval.embedding.model_tokens import ModelTokens
from services.retrieval.embedding.pooling import States, TokenPacker, embedding_of, pooled
from services.retrieval.engine import Vector

Precision = Literal["auto", "float32", "bfloat16"]


class TorchEncoder:
    """Encoder of a prepared embedding model. `threads` is for the whole process, as PyTorch has it."""

    def __init__(
        self, model: PreparedModel, device: str = "cpu", precision: Precision = "auto", threads: int = 1
    ) -> None:
        torch.set_num_threads(threads)
        self.embedding = embedding_of(model)
        self._pooling = model.pooling
        self._device = torch.device(device)
        self._tokens = ModelTokens(model)
        self._packer = TokenPacker(model)
        with quiet_transformers():
            loaded: Any = AutoModel.from_pretrained(
                model.directory, dtype=_dtype(precision, self._device), local_files_only=True
            )
        self._model = loaded.to(self._device).eval()

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
        longest = max(map(len, batch))
        ids = torch.full((len(batch), longest), self._tokens.pad, dtype=torch.long)
        mask = torch.zeros((len(batch), longest), dtype=torch.long)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            mask[row, : len(tokens)] = 1
        with torch.inference_mode():
            found = self._model(input_ids=ids.to(self._device), attention_mask=mask.to(self._device))
            return np.asarray(found.last_hidden_state.float().cpu().numpy(), np.float32)


def _dtype(precision: Precision, device: torch.device) -> torch.dtype:
    """bfloat16 where the processor has instructions for it: its vectors have cosine .997 with float32's."""
    if precision != "auto":
        return torch.float32 if precision == "float32" else torch.bfloat16
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return torch.bfloat16 if device.type == "cuda" or supported() else torch.float32
