"""How much of a sentence's words a stretch of a passage holds."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from citemesh.text.word_sets import WordSets, word_sets
from services.reranker.support.stretches import Floats, Stretches

Weigh = Callable[[Sequence[str]], Floats]
"""Says how much each word counts: positive, higher for rarer ones."""

NEARBY = 5
"""Sentences on each side of a stretch that count as its context: what "it" and "the company" stand for is there."""
_ROWS = 64
"""Words that are looked at together: a bound on memory, as there can be thousands beside 100,000 stretches."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a sentence's words each stretch has; every array is [stretches], float32, 0 to 1.

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
    """Finds the words of sentences in the stretches of one request's passages.

    Attributes:
        windows: those stretches.
    """

    def __init__(self, texts: Sequence[str], stretches: Stretches) -> None:
        self.stretches = stretches
        self._compared: dict[str, list[int]] = {}
        self._content: dict[str, list[int]] = {}
        for number, (passage, start, end) in enumerate(stretches.spans):
            words = word_sets(texts[passage][start:end])
            for word in words.compared:
                self._compared.setdefault(word, []).append(number)
            for word in words.content:
                self._content.setdefault(word, []).append(number)

    def coverage(self, words: WordSets, weigh: Weigh) -> Coverage:
        """Returns the coverage of one sentence's words."""
        weights = weigh(words.compared) if words.compared else np.zeros(0, np.float32)
        weights = weights / max(float(weights.sum()), 1e-6)
        stretch, nearby = np.zeros((2, len(self.stretches.first)), np.float32)
        for at in range(0, len(weights), _ROWS):
            by_sentence = self._hits(self._compared, words.compared[at : at + _ROWS])
            stretch += weights[at : at + _ROWS] @ self.stretches.widen(by_sentence)
            nearby += weights[at : at + _ROWS] @ self.stretches.context(by_sentence, NEARBY)
        return Coverage(
            stretch=np.minimum(stretch, 1),
            nearby=np.minimum(nearby, 1),
            numbers=np.ceil(self._lacking(words.numbers)),
            names=self._lacking(words.names),
            shared=self.stretches.widen(self._sharing(words.content))[0],
        )

    def _sharing(self, content: Iterable[str]) -> Floats:
        """Returns 1 where a sentence of the passages holds any of the words: [1, sentences]."""
        sharing = np.zeros((1, len(self.stretches.spans)), np.float32)
        for word in content:
            sharing[0, self._content.get(word, [])] = 1
        return sharing

    def _lacking(self, words: Iterable[str]) -> Floats:
        """Returns the share of the words that stretch and context lack, 0 where there are none: [stretches]."""
        first = sorted(words)[:_ROWS]
        if not first:
            return np.zeros(len(self.stretches.first), np.float32)
        nearby = self.stretches.context(self._hits(self._compared, first), NEARBY)
        return np.asarray(1 - nearby.mean(axis=0), np.float32)

    def _hits(self, index: dict[str, list[int]], words: Sequence[str]) -> Floats:
        """Returns 1 where a sentence of the passages holds the word: [words, sentences]."""
        hits = np.zeros((len(words), len(self.stretches.spans)), np.float32)
        for row, word in enumerate(words):
            hits[row, index.get(word, [])] = 1
        return hits
