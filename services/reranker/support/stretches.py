"""The stretches of passages that can support a sentence: every run of one to three neighbouring sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citemesh.text.sentences import sentence_spans

WIDEST = 3
"""Most sentences in a stretch: a claim that needs more is a summary, and its citation would be the whole passage."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Stretches:
    """Sentences and stretches of all passages of a request, numbered through.

    spans: one (passage, start, end) a sentence, in code points of its passage's text.
    first, last: first and last sentence of each stretch; both [stretches].
    passage: each stretch's passage; [stretches].
    begin, end: first sentence of each stretch's passage, and one past its last; [stretches].
    """

    spans: tuple[tuple[int, int, int], ...]
    first: Ints
    last: Ints
    passage: Ints
    begin: Ints
    end: Ints

    @property
    def beyond(self) -> Floats:
        """Sentences of each stretch after its first: [stretches]."""
        return (self.last - self.first).astype(np.float32)

    def span(self, number: int) -> tuple[int, int]:
        """Returns a stretch's start and end in its passage's text."""
        return self.spans[self.first[number]][1], self.spans[self.last[number]][2]

    def widen(self, by_sentence: Floats) -> Floats:
        """Returns the best that a stretch's sentences have: [rows, sentences] to [rows, stretches]."""
        middle = np.minimum(self.first + 1, self.last)
        best = np.maximum(by_sentence[:, self.first], by_sentence[:, self.last])
        return np.asarray(np.maximum(best, by_sentence[:, middle]), np.float32)

    def context(self, by_sentence: Floats, reach: int) -> Floats:
        """Returns the best within `reach` sentences around a stretch in its passage, where entries are 0 or 1.

        Shapes: [rows, sentences] to [rows, stretches].
        """
        before = np.pad(np.cumsum(by_sentence, axis=1), ((0, 0), (1, 0)))
        low, high = np.maximum(self.first - reach, self.begin), np.minimum(self.last + 1 + reach, self.end)
        return np.asarray(before[:, high] > before[:, low], np.float32)


def stretches_of(texts: Sequence[str]) -> Stretches:
    """Returns all stretches of the passages; a text of white space has none."""
    spans: list[tuple[int, int, int]] = []
    runs: list[tuple[int, int, int, int, int]] = []
    for number, text in enumerate(texts):
        begin = len(spans)
        spans.extend((number, start, end) for start, end in sentence_spans(text))
        end = len(spans)
        runs.extend(
            (first, last, number, begin, end)
            for first in range(begin, end)
            for last in range(first, min(first + WIDEST, end))
        )
    return Stretches(tuple(spans), *np.array(runs, dtype=np.int64).reshape(-1, 5).T)
