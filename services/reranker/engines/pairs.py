"""Pairs of texts as a sequence classification model reads them, in batches of a bounded number of tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from citemesh.models.tokens.literal import literal_tokenizer
from citemesh.text.characters import whole_characters
from services.reranker.support.stretches import Floats, Ints

BATCH_TOKENS = 2048
"""Padded tokens in a forward pass: larger ones are no faster on a CPU and hold an answer up for longer."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded pairs, each array [pairs, tokens]; numbers: which pairs they are."""

    numbers: list[int]
    ids: Ints
    mask: Ints
    types: Ints


class PairNetwork(Protocol):
    """A loaded sequence classification model. Called from several threads at once."""

    @property
    def labels(self) -> dict[int, str]:
        """Names of its classes."""

    @property
    def pad(self) -> int:
        """Id that fills a batch."""

    def logits(self, batch: Batch) -> Floats:
        """Returns one score a class, [pairs, classes]."""


class PairTokenizer:
    """A prepared model's tokenizer for pairs; control tokens in a text are text.

    Args:
        max_tokens: most tokens of a pair; the longer text is cut first.
    """

    def __init__(self, directory: Path, max_tokens: int) -> None:
        self._tokenizer = literal_tokenizer(directory)
        self._tokenizer.enable_truncation(max_tokens, strategy="longest_first")

    def batches(self, pairs: Sequence[Pair], pad: int) -> Iterator[Batch]:
        """Yields the pairs, those of similar length together, at most BATCH_TOKENS with padding; a longer one alone."""
        readable = [(whole_characters(first), whole_characters(second)) for first, second in pairs]
        encodings = self._tokenizer.encode_batch(readable)
        lengths = [len(encoding.ids) for encoding in encodings]
        for numbers in batches_by_length(lengths):
            ids = np.full((len(numbers), max(lengths[number] for number in numbers)), pad, np.int64)
            mask, types = np.zeros_like(ids), np.zeros_like(ids)
            for row, number in enumerate(numbers):
                ids[row, : lengths[number]] = encodings[number].ids
                types[row, : lengths[number]] = encodings[number].type_ids
                mask[row, : lengths[number]] = 1
            yield Batch(numbers, ids, mask, types)


def batches_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yields numbers of what goes into each batch, longest first; a batch's longest says how much all of it takes."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda at: lengths[at], reverse=True):
        if batch and lengths[batch[0]] * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
