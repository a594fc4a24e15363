"""A transformers encoder (BERT and its like) on PyTorch: mean, first or last token pooling, and length one."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from transformers import AutoModel

from citemesh.models import PreparedModel
from citemesh.models.conversion.quiet import quiet_transformers
from services.retrieval.embedding.encoder import Ids
from services.retrieval.embedding.pooling import States
from services.retrieval.embedding.state_encoder import StateEncoder

Precision = Literal["auto", "float32", "bfloat16"]


class TorchEncoder(StateEncoder):
    """Encoder of a prepared embedding model. `threads` is for the whole process, as PyTorch has it."""

    def __init__(
        self, model: PreparedModel, device: str = "cpu", precision: Precision = "auto", threads: int = 1
    ) -> None:
        torch.set_num_threads(threads)
        super().__init__(model)
        self._device = torch.device(device)
        with quiet_transformers():
            loaded: Any = AutoModel.from_pretrained(
                model.directory, dtype=_dtype(precision, self._device), local_files_only=True
            )
        self._model = loaded.to(self._device).eval()

    def _states(self, batch: Sequence[Ids]) -> States:
        longest = max(map(len, batch))
        ids = torch.full((len(batch), longest), self._tokens.pad, dtype=torch.long)
        mask = torch.zeros((len(batch), longest), dtype=torch.long)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            mask[row, : len(tokens)] = 1
        with torch.inference_mode():
            output = self._model(input_ids=ids.to(self._device), attention_mask=mask.to(self._device))
            return np.asarray(output.last_hidden_state.float().cpu().numpy(), np.float32)


def _dtype(precision: Precision, device: torch.device) -> torch.dtype:
    """bfloat16 where the processor has instructions for it: its vectors have cosine .997 with float32's."""
    if precision != "auto":
        return torch.float32 if precision == "float32" else torch.bfloat16
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return torch.bfloat16 if device.type == "cuda" or supported() else torch.float32
