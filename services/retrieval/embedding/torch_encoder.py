"""A transformers encoder (BERT and its like) on PyTorch: mean, first or last token pooling, and length one."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

from citemesh.models import Pooling, PreparedModel
from citemesh.models.quiet import quiet_transformers
from services.retrieval.embedding.encoder import CONTEXT_VERSION, Ids, Role
from services.retrieval.engine import Embedding, Vector

Precision = Literal["auto", "float32", "bfloat16"]


class TorchEncoder:
    """Encoder of a prepared embedding model. `threads` is for the whole process, as PyTorch has it."""

    def __init__(
        self, model: PreparedModel, device: str = "cpu", precision: Precision = "auto", threads: int = 1
    ) -> None:
        torch.set_num_threads(threads)
        self.embedding = Embedding(model.name, _digest(model), model.dimension)
        self._pooling = model.pooling
        self._prefixes = {"query": model.query_prefix, "passage": model.passage_prefix}
        self._device = torch.device(device)
        self._whole = _tokenizer(model)
        self._cut = _tokenizer(model)
        self._cut.enable_truncation(model.max_tokens)
        self._pad = self._whole.token_to_id("<pad>") or self._whole.token_to_id("[PAD]") or 0
        with quiet_transformers():
            loaded: Any = AutoModel.from_pretrained(
                model.directory, dtype=_dtype(precision, self._device), local_files_only=True
            )
        self._model = loaded.to(self._device).eval()

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens without special ones. encode_batch leaves other Python threads running; encode would not."""
        return [len(found) for found in self._whole.encode_batch_fast(list(texts), add_special_tokens=False)]

    def ends(self, text: str) -> list[int]:
        """Where each token ends."""
        found = self._whole.encode_batch([text], add_special_tokens=False)[0]
        return [end for _, end in found.offsets if end > 0]

    def ids(self, texts: Sequence[str], role: Role) -> list[Ids]:
        """Token ids with the role's prefix, cut at the model's limit."""
        prefix = self._prefixes[role]
        return [found.ids for found in self._cut.encode_batch_fast([prefix + text for text in texts])]

    def embed(self, batch: Sequence[Ids]) -> Vector:
        """Vectors of a batch, padded to its longest."""
        longest = max(map(len, batch))
        ids = torch.full((len(batch), longest), self._pad, dtype=torch.long)
        mask = torch.zeros((len(batch), longest), dtype=torch.long)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            mask[row, : len(tokens)] = 1
        ids, mask = ids.to(self._device), mask.to(self._device)
        with torch.inference_mode():
            states = self._model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            pooled = torch.nn.functional.normalize(_pool(states, mask, self._pooling), dim=1)
        return np.ascontiguousarray(pooled.cpu().numpy(), dtype=np.float32)


def _pool(states: torch.Tensor, mask: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    if pooling is Pooling.CLS:
        return states[:, 0]
    if pooling is Pooling.LAST:
        return states[torch.arange(len(states), device=states.device), mask.sum(dim=1) - 1]
    weights = mask.unsqueeze(-1).float()
    return (states * weights).sum(dim=1) / weights.sum(dim=1)


def _tokenizer(model: PreparedModel) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(model.directory / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _dtype(precision: Precision, device: torch.device) -> torch.dtype:
    """bfloat16 where the processor has instructions for it: its vectors have cosine .997 with float32's."""
    if precision != "auto":
        return torch.float32 if precision == "float32" else torch.bfloat16
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return torch.bfloat16 if device.type == "cuda" or supported() else torch.float32


def _digest(model: PreparedModel) -> str:
    """Hash of all that decides a chunk's vector, but for the rounding."""
    decides = [model.digest, model.pooling.value, model.query_prefix, model.passage_prefix, CONTEXT_VERSION]
    return hashlib.sha256(json.dumps(decides).encode()).hexdigest()
