"""A sequence classification model on PyTorch."""

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

from citemesh.models.conversion.quiet import quiet_transformers
from citemesh.models.prepared import PreparedModel
from services.reranker.engines.pairs import Batch
from services.reranker.support.stretches import Floats


class TorchPairs:
    """A PairNetwork in bfloat16 on a GPU, in float32 elsewhere.

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
        """Returns one score a class, [pairs, classes]."""
        inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
        if self._types:
            inputs["token_type_ids"] = batch.types
        with torch.inference_mode():
            tensors = {name: torch.from_numpy(rows).to(self._device) for name, rows in inputs.items()}
            return np.asarray(self._network(**tensors).logits.float().cpu().numpy(), np.float32)
