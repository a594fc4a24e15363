"""Fusion of dense and lexical results, by min-max scores or by reciprocal ranks.

Min-max: each part's scores are moved to 0..1, then summed by weight. That is the convex combination that Bruch, Gai and
Ingber (ACM TOIS 42, 2023, "An Analysis of Fusion Functions for Hybrid Retrieval") found to beat reciprocal ranks. The
upper end is the best that a part found. The lower end is a score of no meaning: 0 for BM25, and for cosines, which have
no such zero, what random passages have (`unrelated`). With an engine that does not know it, the lower end is the
least that was found. A part that found nothing at all leaves the whole weight to the other.

Reciprocal ranks (Cormack, Clarke and Büttcher, SIGIR 2009): each part adds 1 / (60 + rank) by its weight, whatever its
scores are. For parts whose scores can't be compared, such as those of two models.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Scores = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each part counts; only their ratio matters."""

    dense: float = 0.5
    lexical: float = 0.5


EVEN = Weights()
LEAST_DEVIATIONS = 2.0
"""Standard deviations below the mean of unrelated cosines; 1.5 to 3 are as good (docs/quality.md)."""
_LEAST_SAMPLE = 16
RANK_CONSTANT = 60
"""Of reciprocal ranks, as in their paper: how little the first ranks stand out."""


class Fused(NamedTuple):
    """One chunk's fused score, 0 to 1, and its parts."""

    key: int
    score: float
    dense: float | None
    lexical: float | None


def stretch(scores: Scores, least: float | None = None) -> dict[int, float]:
    """Scales to 0..1 from `least`, or from the least score. Where none is above it, each is 1: equally well found."""
    if not scores:
        return {}
    low, high = min(scores.values()) if least is None else least, max(scores.values())
    if high <= low:
        return dict.fromkeys(scores, 1.0)
    return {key: max(0.0, score - low) / (high - low) for key, score in scores.items()}


def unrelated(cosines: NDArray[np.float32]) -> float | None:
    """The lower end of cosines, from those of random passages; None where there are too few to tell."""
    if len(cosines) < _LEAST_SAMPLE:
        return None
    return float(cosines.mean() - LEAST_DEVIATIONS * cosines.std())


def fuse(dense: Scores, lexical: Scores, weights: Weights, top_k: int, least: float | None = None) -> Sequence[Fused]:
    """The best chunks of both parts, at most top_k; ties go to the better dense score, then to the older chunk.

    least: a cosine that means nothing. With it a chunk's score depends on the query alone and not on how many were
    ranked; then both parts should score all chunks, as a missing score counts as 0.
    """
    low = None if least is None else 0.0
    return _summed(dense, lexical, stretch(dense, least), stretch(lexical, low), weights)[:top_k]


def fuse_ranks(dense: Scores, lexical: Scores, weights: Weights, top_k: int) -> Sequence[Fused]:
    """As fuse, by reciprocal ranks: 1 is the first of both parts. Equal scores of a part rank by the older chunk."""
    return _summed(dense, lexical, _reciprocal(dense), _reciprocal(lexical), weights)[:top_k]


def rank(dense: Scores, lexical: Scores, top_k: int) -> Sequence[Fused]:
    """The best of one part, with its scores."""
    scores = dense or lexical
    fused = [Fused(key, score, dense.get(key), lexical.get(key)) for key, score in scores.items()]
    return sorted(fused, key=_order)[:top_k]


def _summed(dense: Scores, lexical: Scores, by_dense: Scores, by_lexical: Scores, weights: Weights) -> list[Fused]:
    share_dense, share_lexical = _shares(dense, lexical, weights)
    fused = [
        Fused(
            key=key,
            score=share_dense * by_dense.get(key, 0.0) + share_lexical * by_lexical.get(key, 0.0),
            dense=dense.get(key),
            lexical=lexical.get(key),
        )
        for key in dense.keys() | lexical.keys()
    ]
    return sorted(fused, key=_order)


def _reciprocal(scores: Scores) -> dict[int, float]:
    """1 for the best, 61 / 62 for the next, and so on."""
    ordered = sorted(scores, key=lambda key: (-scores[key], key))
    return {key: (RANK_CONSTANT + 1) / (RANK_CONSTANT + place) for place, key in enumerate(ordered, start=1)}


def _shares(dense: Scores, lexical: Scores, weights: Weights) -> tuple[float, float]:
    dense_weight = weights.dense if dense else 0.0
    lexical_weight = weights.lexical if lexical else 0.0
    total = dense_weight + lexical_weight
    return (dense_weight / total, lexical_weight / total) if total > 0 else (0.0, 0.0)


def _order(item: Fused) -> tuple[float, float, int]:
    return (-item.score, -(item.dense if item.dense is not None else -2.0), item.key)
