"""Judges by shared words alone: no weights, no waiting, the same answer every time."""

from collections.abc import Sequence

import numpy as np

from citemesh.errors import DeadlineExceeded
from citemesh.text.word_sets import word_sets
from services.reranker.engine import Alive, PassageSupport, TextVectors
from services.reranker.support.calibration import LEXICAL, features
from services.reranker.support.choice import best_of_each, preference
from services.reranker.support.coverage import CoverageIndex
from services.reranker.support.stretches import Floats, stretches_of


class FakeRerankerEngine:
    """Scores by the share of the query's words that a passage holds, longer words counting more."""

    name = "fake-overlap"
    vector_form = None

    def load(self) -> None:
        """Loads nothing: there are no weights."""

    def relevance(self, query: str, texts: Sequence[str], alive: Alive, vectors: TextVectors = ()) -> list[float]:
        """Returns the weighted share of the query's words in each text, 0 to 1."""
        if not alive():
            raise DeadlineExceeded("reranking")
        words = word_sets(query).compared
        weights = dict(zip(words, map(float, weigh(words)), strict=True))
        total = sum(weights.values()) or 1.0
        return [sum(weights.get(word, 0.0) for word in word_sets(text).compared) / total for text in texts]

    def support(
        self, sentences: Sequence[str], texts: Sequence[str], alive: Alive, vectors: TextVectors = ()
    ) -> list[list[PassageSupport]]:
        """Returns the calibrated coverage of each sentence."""
        stretches = stretches_of(texts)
        index = CoverageIndex(texts, stretches)
        supports = []
        for sentence in sentences:
            if not alive():
                raise DeadlineExceeded("checking support")
            coverage = index.coverage(word_sets(sentence), weigh)
            scores = LEXICAL.probability(features(coverage))
            supports.append(best_of_each(stretches, preference(stretches, coverage), scores, coverage.shared))
        return supports


def weigh(words: Sequence[str]) -> Floats:
    """Returns 1 to 2 for each word by its length: long words tend to be rare; a number counts as a long word."""
    lengths = [8 if word[0].isdigit() else min(len(word), 8) for word in words]
    return np.array([1 + length / 8 for length in lengths], np.float32)
