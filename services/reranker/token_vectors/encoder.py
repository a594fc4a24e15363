"""Token vectors of texts, made with an embedding model from a transformers directory."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModel
from transformers.utils import logging as transformers_logging

from citemesh.errors import DeadlineExceeded, PreconditionFailed
from citemesh.models.tokens.literal import frame, literal_tokenizer
from citemesh.text.characters import whole_characters
from services.reranker.engine import Alive
from services.reranker.token_vectors.cache import EncodedText
from services.reranker.token_vectors.maxsim import Floats

PROJECTION = "late_projection.npy"
_BATCH_TOKENS = 1024
"""Padded tokens in a forward pass: larger ones are no faster on a CPU and hold an answer up for longer."""


@dataclass(frozen=True, slots=True)
class _TokenRun:
    """A part of text number `text` that fits the model."""

    text: int
    ids: list[int]


class TokenEncoder:
    """An embedding model's last hidden states, projected and scaled to unit length.

    Args:
        directory: config.json, weights and tokenizer.json as transformers saves them, with late_projection.npy
            ([hidden, dimensions]) where there is one; without it the vectors keep the model's width.
        max_tokens: most tokens in a sequence, within the model's own limit; longer texts are encoded piece by piece,
            and nothing of them is left out.
        layers: how many of the model's layers to use, from the first; 0, or as many as it has, uses all.
        device: torch's name of where the model runs, such as cpu or cuda:0.

    Attributes:
        cut: whether fewer layers are used than the model has.
    """

    def __init__(self, directory: Path, max_tokens: int, layers: int = 0, device: str = "cpu") -> None:
        self._device = torch.device(device)
        try:
            self._tokenizer = literal_tokenizer(directory)
            model, self.cut = _model(directory, layers, _dtype(self._device))
            self._model = model.to(self._device)
        except Exception as fault:  # tokenizers raises no narrower one
            raise PreconditionFailed(
                "MODEL_MISSING",
                f"the embedding model at {directory} can't be loaded: {fault}",
                "prepare it again, or set CITEMESH_RERANKER_MODEL",
            ) from fault
        self._opening, self._closing = map(list, frame(self._tokenizer))
        self._max_tokens = max_tokens
        # The projection was made from the last layer; other layers lie in other directions.
        projection = None if self.cut else _projection(directory)
        self._projection = None if projection is None else projection.to(self._device)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the token ids of each text, without special tokens."""
        encodings = self._tokenizer.encode_batch_fast(
            [whole_characters(text) for text in texts], add_special_tokens=False
        )
        return [encoding.ids for encoding in encodings]

    def encode(
        self, texts: Sequence[str], prefix: str, alive: Alive, *, first_only: bool = False
    ) -> Iterator[tuple[int, EncodedText]]:
        """Yields (number, vectors) of the texts, each once, in the order in which they are ready.

        A text without a token gets one zero vector under id 0. With first_only, what doesn't fit one sequence is left
        out. Raises DeadlineExceeded once nobody waits.
        """
        readable = [whole_characters(text) for text in texts]
        encodings = self._tokenizer.encode_batch(readable, add_special_tokens=False)
        head = self._opening + self.tokens([prefix])[0]
        most = self._max_tokens - len(head) - len(self._closing)
        if first_only:
            for encoding in encodings:
                encoding.truncate(most)
        runs = [_TokenRun(n, e.ids[i : i + most]) for n, e in enumerate(encodings) for i in range(0, len(e.ids), most)]
        counts = {n: -(-len(e.ids) // most) for n, e in enumerate(encodings)}
        parts: dict[int, list[Floats]] = {n: [] for n in counts}
        for n, count in counts.items():
            if not count:
                yield n, self._joined([], [], [])
        for batch in _batches(runs):
            if not alive():
                raise DeadlineExceeded("encoding passages")
            for run, vectors in zip(batch, self._forward(head, [run.ids for run in batch]), strict=True):
                parts[run.text].append(vectors)
                if len(parts[run.text]) == counts[run.text]:
                    e = encodings[run.text]
                    yield run.text, self._joined(e.ids, [end - 1 for _, end in e.offsets], parts.pop(run.text))

    @property
    def dimensions(self) -> int:
        """Width of the vectors."""
        return int(self._model.config.hidden_size) if self._projection is None else int(self._projection.shape[1])

    def _joined(self, ids: list[int], places: list[int], parts: list[Floats]) -> EncodedText:
        if not ids:
            return EncodedText(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, self.dimensions), np.float16))
        vectors = np.concatenate(parts).astype(np.float16)
        return EncodedText(np.array(ids, np.int64), np.array(places, np.int64), vectors)

    def _forward(self, head: list[int], rows: list[list[int]]) -> list[Floats]:
        """Returns vectors of the rows' own tokens: [tokens, dimensions] each."""
        longest = max(map(len, rows)) + len(head) + len(self._closing)
        ids = torch.zeros((len(rows), longest), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for number, row in enumerate(rows):
            sequence = head + row + self._closing
            ids[number, : len(sequence)] = torch.tensor(sequence)
            mask[number, : len(sequence)] = 1
        with torch.inference_mode():
            ids, mask = ids.to(self._device), mask.to(self._device)
            hidden = self._model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            hidden = hidden if self._projection is None else hidden @ self._projection
            unit = torch.nn.functional.normalize(hidden, dim=-1).cpu().numpy()
        return [unit[number, len(head) : len(head) + len(row)] for number, row in enumerate(rows)]


def _model(directory: Path, layers: int, dtype: torch.dtype) -> tuple[Any, bool]:
    """Returns the model, and whether it was cut to fewer layers than it has."""
    config = AutoConfig.from_pretrained(directory, local_files_only=True)
    cut = 0 < layers < config.num_hidden_layers
    if cut:
        config.num_hidden_layers = layers
    transformers_logging.disable_progress_bar()
    level = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity(logging.ERROR)  # it warns of the layers and heads that are left out on purpose
    try:
        model = AutoModel.from_pretrained(directory, config=config, local_files_only=True, dtype=dtype)
    finally:
        transformers_logging.set_verbosity(level)
    return model.eval(), cut


def _dtype(device: torch.device) -> torch.dtype:
    """Returns bfloat16 where the processor has instructions for it: 1.7 times as fast there, far slower elsewhere."""
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return torch.bfloat16 if device.type == "cuda" or supported() else torch.float32


def _projection(directory: Path) -> torch.Tensor | None:
    path = directory / PROJECTION
    return torch.from_numpy(np.load(path, allow_pickle=False).astype(np.float32)) if path.exists() else None


def _batches(runs: list[_TokenRun]) -> Iterator[list[_TokenRun]]:
    """Yields batches of at most _BATCH_TOKENS tokens after padding; a text's runs stay in their order."""
    batch: list[_TokenRun] = []
    for run in sorted(runs, key=lambda run: len(run.ids), reverse=True):
        longest = len(batch[0].ids) if batch else len(run.ids)
        if batch and longest * (len(batch) + 1) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(run)
    if batch:
        yield batch
