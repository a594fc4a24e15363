"""Judges by shared words alone: no weights, no waiting, the same answer every time."""

from collections.abc import Sequence

import numpy as np

from citemesh.errors import DeadlineExceeded
from citemesh.text.word_sets import word_sets
from services.reranker.calibration import LEXICAL, features
from services.reranker.coverage import CoverageIndex
from services.reranker.engine import Alive, Stored, Support
from services.reranker.support import best_of_each, preference
from services.reranker.windows import Floats, windows_of


class FakeEngine:
    """Share of the query's words that a passage holds, longer words counting more."""

    name = "fake-overlap"
    stored_form = None

    def load(self) -> None:
        """There is nothing to load."""

    def relevance(self, query: str, texts: Sequence[str], alive: Alive, stored: Stored = ()) -> list[float]:
        """Weighted share of the query's words in each text, 0 to 1."""
        if not alive():
            raise DeadlineExceeded("reranking")
        wanted = word_sets(query).compared
        weights = dict(zip(wanted, map(float, weigh(wanted)), strict=True))
        total = sum(weights.values()) or 1.0
        return [sum(weights.get(word, 0.0) for word in word_sets(text).compared) / total for text in texts]

    def support(
        self, sentences: Sequence[str], texts: Sequence[str], alive: Alive, stored: Stored = ()
    ) -> list[list[Support]]:
        """Calibrated coverage of each sentence."""
        windows = windows_of(texts)
        index = CoverageIndex(texts, windows)
        found = []
        for sentence in sentences:
            if not alive():
                raise DeadlineExceeded("checking support")
            coverage = index.coverage(word_sets(sentence), weigh)
            scores = LEXICAL.probability(features(coverage))
            found.append(best_of_each(windows, preference(windows, coverage), scores, coverage.shared))
        return found


def weigh(words: Sequence[str]) -> Floats:
    """1 to 2 by length: long words tend to be rare; a number counts as a long word."""
    lengths = [8 if word[0].isdigit() else min(len(word), 8) for word in words]
    return np.array([1 + length / 8 for length in lengths], np.float32)
