"""How much of a sentence's words a stretch of a passage holds."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from services.reranker.windows import Floats, Windows
from services.reranker.words import Words, words_of

Weigh = Callable[[Sequence[str]], Floats]
"""Says how much each word counts: positive, higher for rarer ones."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a sentence's words say about each stretch; every array is [stretches], float32, 0 to 1.

    stretch: weighted share of the sentence's words in the stretch.
    passage: weighted share of them in the whole passage.
    numbers: share of the sentence's numbers that the passage lacks; 0 for a sentence without numbers.
    names: share of the sentence's names that the passage lacks; 0 for a sentence without names.
    shared: 1 where stretch and sentence share a content word, a number or a CJK character, else 0.
    """

    stretch: Floats
    passage: Floats
    numbers: Floats
    names: Floats
    shared: Floats


class CoverageIndex:
    """Finds the words of sentences in the stretches of one request's passages."""

    def __init__(self, texts: Sequence[str], windows: Windows) -> None:
        self._windows = windows
        self._passages = len(texts)
        self._sentences_with: dict[str, list[int]] = {}
        self._passages_with: dict[str, list[int]] = {}
        self._sharing: dict[str, list[int]] = {}
        for number, (passage, start, end) in enumerate(windows.spans):
            words = words_of(texts[passage][start:end])
            for word in words.compared:
                self._sentences_with.setdefault(word, []).append(number)
                self._passages_with.setdefault(word, []).append(passage)
            for word in words.content:
                self._sharing.setdefault(word, []).append(number)

    def coverage(self, words: Words, weigh: Weigh) -> Coverage:
        """Coverage of one sentence's words."""
        sentences = len(self._windows.spans)
        in_stretch = self._windows.widen(_hits(self._sentences_with, words.compared, sentences))
        in_passage = _hits(self._passages_with, words.compared, self._passages)[:, self._windows.passage]
        shared = self._windows.widen(_hits(self._sharing, sorted(words.content), sentences))
        weights = weigh(words.compared) if words.compared else np.zeros(0, np.float32)
        weights = weights / max(float(weights.sum()), 1e-6)
        return Coverage(
            stretch=weights @ in_stretch,
            passage=weights @ in_passage,
            numbers=_lacking(words.compared, words.numbers, in_passage),
            names=_lacking(words.compared, words.names, in_passage),
            shared=shared.max(axis=0, initial=0),
        )


def _hits(index: dict[str, list[int]], words: Sequence[str], width: int) -> Floats:
    """1 in the columns that the index has for a word: [words, width]."""
    hits = np.zeros((len(words), width), np.float32)
    for row, word in enumerate(words):
        hits[row, index.get(word, [])] = 1
    return hits


def _lacking(compared: Sequence[str], wanted: Iterable[str], in_passage: Floats) -> Floats:
    """Share of the wanted words that the passage lacks; 0 where none is wanted."""
    rows = [compared.index(word) for word in sorted(wanted)]
    if not rows:
        return np.zeros(in_passage.shape[1], np.float32)
    return np.asarray(1 - in_passage[rows].mean(axis=0), np.float32)
