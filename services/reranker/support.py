"""Picks the best stretch of each passage."""

import numpy as np

from services.reranker.coverage import Coverage
from services.reranker.engine import Support
from services.reranker.windows import Floats, Windows

SENTENCE_COST = 0.3
"""Share of the sentence's words that another sentence must add to a stretch before it is taken in."""
SIMILARITY_SHARE = 0.5
"""What the mean cosine counts beside the share of words in choosing a stretch."""


def preference(windows: Windows, coverage: Coverage, similarity: Floats | None = None) -> Floats:
    """How well each stretch would do as the place to point at: [stretches]. Short ones are preferred."""
    worth = coverage.stretch - SENTENCE_COST * windows.beyond
    return worth if similarity is None else worth + SIMILARITY_SHARE * similarity


def best_of_each(windows: Windows, preferred: Floats, scores: Floats, shared: Floats) -> list[Support]:
    """Each passage's most preferred stretch among those that share content with the sentence, best passage first.

    Ties keep the order of the request, and within a passage the earlier and shorter stretch wins.

    Args:
        preferred: orders the stretches of a passage, [stretches].
        scores: orders the passages, 0 to 1, [stretches].
        shared: 1 where the stretch shares content with the sentence, [stretches].
    """
    best: dict[int, int] = {}
    for window in np.flatnonzero(shared):
        passage = int(windows.passage[window])
        if passage not in best or preferred[window] > preferred[best[passage]]:
            best[passage] = int(window)
    found = [Support(p, *windows.span(w), float(scores[w])) for p, w in best.items()]
    return sorted(found, key=best_first)


def best_first(support: Support) -> tuple[float, int]:
    """Sorts supports of one sentence: higher scores first, ties in the order of the request."""
    return -support.score, support.passage
