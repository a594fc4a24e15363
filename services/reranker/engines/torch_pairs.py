"""A sequence classification model on PyTorch."""

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

from citemesh.models.conversion.quiet import quiet_transformers
from citemesh.models.prepared import PreparedModel
from services.reranker.pairs import Batch
from services.reranker.windows import Floats


class TorchPairs:
    """bfloat16 on a GPU, float32 elsewhere.

    Args:
        threads: of a forward pass; torch has one such number for the process.
        device: torch's name of where it runs.
    """

    def __init__(self, model: PreparedModel, threads: int, device: str) -> None:
        torch.set_num_threads(threads)
        self._device = torch.device(device)
        dtype = torch.bfloat16 if self._device.type == "cuda" else torch.float32
        with quiet_transformers():
            network = AutoModelForSequenceClassification.from_pretrained(
                model.directory, local_files_only=True, dtype=dtype
            )
        self._network = network.eval().to(self._device)
        self.labels: dict[int, str] = self._network.config.id2label
        self.pad = int(self._network.config.pad_token_id or 0)
        self._types = getattr(self._network.config, "type_vocab_size", 0) > 1

    def logits(self, batch: Batch) -> Floats:
        """One score a class."""
        inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
        if self._types:
            inputs["token_type_ids"] = batch.types
        with torch.inference_mode():
            found = self._network(**{name: torch.from_numpy(it).to(self._device) for name, it in inputs.items()})
            return np.asarray(found.logits.float().cpu().numpy(), np.float32)
