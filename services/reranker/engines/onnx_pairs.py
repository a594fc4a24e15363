"""A sequence classification model on ONNX Runtime, in float32 on the CPU; exports it where that wasn't done yet."""

from transformers import AutoConfig

from citemesh.models.conversion.onnx import OnnxModel, exported
from citemesh.models.prepared import PreparedModel
from services.reranker.engines.pairs import Batch
from services.reranker.support.stretches import Floats


class OnnxPairs:
    """A PairNetwork.

    Args:
        threads: of a forward pass.
    """

    def __init__(self, model: PreparedModel, threads: int) -> None:
        config = AutoConfig.from_pretrained(model.directory, local_files_only=True)
        self.labels: dict[int, str] = config.id2label
        self.pad = int(config.pad_token_id or 0)
        self._model = OnnxModel(exported(model, "logits"), threads)

    def logits(self, batch: Batch) -> Floats:
        """Returns one score a class, [pairs, classes]."""
        return self._model({"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types})
