"""A transformers encoder (BERT and its like) on ONNX Runtime, in float32."""

from collections.abc import Sequence

import numpy as np

from citemesh.models import PreparedModel
from citemesh.models.conversion.onnx import OnnxModel, exported
from services.retrieval.embedding.encoder import Ids
from services.retrieval.embedding.pooling import States
from services.retrieval.embedding.state_encoder import StateEncoder


class OnnxEncoder(StateEncoder):
    """Encoder of a prepared embedding model; exports it first where it never was. threads: of one batch."""

    def __init__(self, model: PreparedModel, threads: int = 1) -> None:
        super().__init__(model)
        self._model = OnnxModel(exported(model, "states"), threads)

    def _states(self, batch: Sequence[Ids]) -> States:
        ids = np.full((len(batch), max(map(len, batch))), self._tokens.pad, np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        return self._model({"input_ids": ids, "attention_mask": mask})
