"""Dense vectors of texts, as retrieval makes them: the other half of a bench's search."""

import logging
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import AutoModel
from transformers.utils import logging as transformers_logging

from citemesh.models import PreparedModel

Floats = NDArray[np.float32]


def dense(model: PreparedModel, texts: Sequence[str], prefix: str) -> Floats:
    """Mean-pooled unit vectors by all of the model's layers: [texts, dimension]."""
    tokenizer = Tokenizer.from_file(str(model.directory / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(model.max_tokens)
    transformers_logging.set_verbosity(logging.ERROR)  # it warns of heads that the model was saved without
    network = AutoModel.from_pretrained(str(model.directory), dtype=torch.bfloat16, local_files_only=True).eval()
    rows = []
    with torch.inference_mode():
        for text in texts:
            ids = torch.tensor([tokenizer.encode(prefix + text).ids])
            hidden = network(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
            rows.append(torch.nn.functional.normalize(hidden[0].float().mean(0), dim=0).numpy())
    return np.array(rows, np.float32)
