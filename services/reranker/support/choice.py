"""Chooses the stretch of each passage that is named as support."""

import numpy as np

from services.reranker.engine import PassageSupport
from services.reranker.support.coverage import Coverage
from services.reranker.support.stretches import Floats, Stretches

SENTENCE_COST = 0.3
"""Share of the sentence's words that another sentence must add to a stretch before it is taken in."""
SIMILARITY_SHARE = 0.5
"""What the mean cosine counts beside the share of words in choosing a stretch."""


def preference(stretches: Stretches, coverage: Coverage, similarity: Floats | None = None) -> Floats:
    """Returns how well each stretch would do as the place to point at: [stretches]. Short ones are preferred."""
    preferred = coverage.stretch - SENTENCE_COST * stretches.beyond
    return preferred if similarity is None else preferred + SIMILARITY_SHARE * similarity


def best_of_each(stretches: Stretches, preferred: Floats, scores: Floats, shared: Floats) -> list[PassageSupport]:
    """Returns each passage's most preferred stretch of those that share content with a sentence, best passage first.

    Ties keep the order of the request, and within a passage the earlier and shorter stretch wins.

    Args:
        preferred: orders the stretches of a passage, [stretches].
        scores: orders the passages, 0 to 1, [stretches].
        shared: 1 where the stretch shares content with the sentence, [stretches].
    """
    best: dict[int, int] = {}
    for number in map(int, np.flatnonzero(shared)):
        passage = int(stretches.passage[number])
        if passage not in best or preferred[number] > preferred[best[passage]]:
            best[passage] = number
    supports = [PassageSupport(p, *stretches.span(number), float(scores[number])) for p, number in best.items()]
    return sorted(supports, key=best_first)


def best_first(support: PassageSupport) -> tuple[float, int]:
    """Returns the key that sorts supports of one sentence: higher scores first, ties in the order of the request."""
    return -support.score, support.passage
