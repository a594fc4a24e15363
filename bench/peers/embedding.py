"""The embedding model as a careful owner would run it on PyTorch; the peers share it."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer

from citemesh.cpu import usable_cores

BATCH_TOKENS = 4096

Vectors = NDArray[np.float32]


class Embedder:
    """E5 on PyTorch: mean of the token vectors, length one."""

    def __init__(self, directory: Path, precision: torch.dtype) -> None:
        torch.set_num_threads(usable_cores())
        self._tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
        self._model: Any = AutoModel.from_pretrained(directory, dtype=precision, local_files_only=True).eval()
        self._longest = self._model.config.max_position_embeddings
        self._lock = threading.Lock()

    def query(self, text: str) -> Vectors:
        """Vector of a question, [1, dimension]."""
        return self._embed([f"query: {text}"])

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of documents, [len(texts), dimension], in batches of like lengths."""
        seen = [f"passage: {text}" for text in texts]
        lengths = [len(ids) for ids in self._tokenizer(seen, truncation=True, max_length=self._longest)["input_ids"]]
        order = sorted(range(len(seen)), key=lengths.__getitem__)
        vectors: dict[int, NDArray[np.float32]] = {}
        for batch in _batches(order, lengths):
            vectors |= dict(zip(batch, self._embed([seen[at] for at in batch]), strict=True))
        return np.stack([vectors[at] for at in range(len(seen))])

    def _embed(self, texts: Sequence[str]) -> Vectors:
        tokens = self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=self._longest, return_tensors="pt"
        )
        with self._lock, torch.inference_mode():
            states = self._model(**tokens).last_hidden_state.float()
        mask = tokens["attention_mask"].unsqueeze(-1).float()
        pooled = (states * mask).sum(dim=1) / mask.sum(dim=1)
        return np.asarray(torch.nn.functional.normalize(pooled, dim=1).numpy(), np.float32)


def _batches(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places in rising order of length, so many together as fit with their padding."""
    batch: list[int] = []
    for at in order:
        if batch and lengths[at] * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch
