"""The stretches of passages that can support a sentence: every run of one to three neighbouring sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.reranker.sentences import sentence_spans

WIDEST = 3
"""Most sentences in a stretch: a claim that needs more is a summary, and its citation would be the whole passage."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Windows:
    """Sentences and stretches of all passages of a request, numbered through.

    spans: one (passage, start, end) a sentence, in code points of its passage's text.
    first, last: first and last sentence of each stretch; both [stretches].
    passage: each stretch's passage; [stretches].
    """

    spans: tuple[tuple[int, int, int], ...]
    first: Ints
    last: Ints
    passage: Ints

    def span(self, window: int) -> tuple[int, int]:
        """The stretch's start and end in its passage's text."""
        return self.spans[self.first[window]][1], self.spans[self.last[window]][2]

    def widen(self, by_sentence: Floats) -> Floats:
        """The best a stretch's sentences have: [rows, sentences] to [rows, stretches]."""
        middle = np.minimum(self.first + 1, self.last)
        best = np.maximum(by_sentence[:, self.first], by_sentence[:, self.last])
        return np.asarray(np.maximum(best, by_sentence[:, middle]), np.float32)


def windows_of(texts: Sequence[str]) -> Windows:
    """All stretches of the passages; a text of white space has none."""
    spans: list[tuple[int, int, int]] = []
    runs: list[tuple[int, int, int]] = []
    for number, text in enumerate(texts):
        base = len(spans)
        spans.extend((number, start, end) for start, end in sentence_spans(text))
        runs.extend(
            (number, first, last)
            for first in range(base, len(spans))
            for last in range(first, min(first + WIDEST, len(spans)))
        )
    columns = np.array(runs, dtype=np.int64).reshape(-1, 3)
    return Windows(tuple(spans), columns[:, 1], columns[:, 2], columns[:, 0])
