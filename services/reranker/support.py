"""Picks the best stretch of each passage."""

import numpy as np

from services.reranker.engine import Support
from services.reranker.windows import Floats, Windows


def best_of_each(windows: Windows, scores: Floats, shared: Floats) -> list[Support]:
    """Each passage's best stretch among those that share content with the sentence, best passage first.

    Ties keep the order of the request, and within a passage the earlier and shorter stretch wins.

    Args:
        scores: 0 to 1, [stretches].
        shared: 1 where the stretch shares content with the sentence, [stretches].
    """
    best: dict[int, int] = {}
    for window in np.flatnonzero(shared):
        passage = int(windows.passage[window])
        if passage not in best or scores[window] > scores[best[passage]]:
            best[passage] = int(window)
    found = [Support(p, *windows.span(w), float(scores[w])) for p, w in best.items()]
    return sorted(found, key=lambda support: (-support.score, support.passage))
