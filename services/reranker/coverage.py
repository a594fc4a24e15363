"""How much of a sentence's words a stretch of a passage holds."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from services.reranker.windows import Floats, Windows
from services.reranker.words import Words, words_of

Weigh = Callable[[Sequence[str]], Floats]
"""Says how much each word counts: positive, higher for rarer ones."""


NEARBY = 5
"""Sentences on each side of a stretch that count as its context: what "it" and "the company" stand for is there."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a sentence's words say about each stretch; every array is [stretches], float32, 0 to 1.

    stretch: weighted share of the sentence's words in the stretch.
    nearby: weighted share of them in the stretch and its context.
    numbers: 1 where stretch and context lack a number of the sentence, else 0.
    names: share of the sentence's names that they lack; 0 for a sentence without names.
    shared: 1 where stretch and sentence share a content word, a number or a CJK character, else 0.
    """

    stretch: Floats
    nearby: Floats
    numbers: Floats
    names: Floats
    shared: Floats


class CoverageIndex:
    """Finds the words of sentences in the stretches of one request's passages."""

    def __init__(self, texts: Sequence[str], windows: Windows) -> None:
        self._windows = windows
        self._compared: dict[str, list[int]] = {}
        self._content: dict[str, list[int]] = {}
        for number, (passage, start, end) in enumerate(windows.spans):
            words = words_of(texts[passage][start:end])
            for word in words.compared:
                self._compared.setdefault(word, []).append(number)
            for word in words.content:
                self._content.setdefault(word, []).append(number)

    def coverage(self, words: Words, weigh: Weigh) -> Coverage:
        """Coverage of one sentence's words."""
        by_sentence = self._hits(self._compared, words.compared)
        nearby = self._windows.context(by_sentence, NEARBY)
        weights = weigh(words.compared) if words.compared else np.zeros(0, np.float32)
        weights = weights / max(float(weights.sum()), 1e-6)
        shared = self._windows.widen(self._hits(self._content, sorted(words.content)))
        return Coverage(
            stretch=weights @ self._windows.widen(by_sentence),
            nearby=weights @ nearby,
            numbers=np.ceil(_lacking(words.compared, words.numbers, nearby)),
            names=_lacking(words.compared, words.names, nearby),
            shared=shared.max(axis=0, initial=0),
        )

    def _hits(self, index: dict[str, list[int]], words: Sequence[str]) -> Floats:
        """1 where a sentence of the passages holds the word: [words, sentences]."""
        hits = np.zeros((len(words), len(self._windows.spans)), np.float32)
        for row, word in enumerate(words):
            hits[row, index.get(word, [])] = 1
        return hits


def _lacking(compared: Sequence[str], wanted: Iterable[str], nearby: Floats) -> Floats:
    """Share of the wanted words that are not there; 0 where none is wanted."""
    rows = [compared.index(word) for word in sorted(wanted)]
    if not rows:
        return np.zeros(nearby.shape[1], np.float32)
    return np.asarray(1 - nearby[rows].mean(axis=0), np.float32)
