"""Fusion of dense and lexical results, by min-max scores or by reciprocal ranks.

Min-max: each part's scores are stretched to 0..1 over what that part found, then summed by weight. That is the convex
combination that Bruch, Gai and Ingber (ACM TOIS 42, 2023, "An Analysis of Fusion Functions for Hybrid Retrieval") found
to beat reciprocal ranks. A part that did not find a chunk adds nothing for it; a part that found nothing at all leaves
the whole weight to the other.

Reciprocal ranks (Cormack, Clarke and Büttcher, SIGIR 2009): each part adds 1 / (60 + rank) by its weight, whatever its
scores are. For parts whose scores can't be compared, such as those of two models.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Scores = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each part counts; only their ratio matters."""

    dense: float = 0.5
    lexical: float = 0.5


EVEN = Weights()
RANK_CONSTANT = 60
"""Of reciprocal ranks, as in their paper: how little the first ranks stand out."""


@dataclass(frozen=True, slots=True)
class Fused:
    """One chunk's fused score, 0 to 1, and its parts."""

    key: int
    score: float
    dense: float | None
    lexical: float | None


def stretch(scores: Scores) -> dict[int, float]:
    """Scales to 0..1. Where all are equal, each is 1: they were found, and equally well."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high <= low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def fuse(dense: Scores, lexical: Scores, weights: Weights, top_k: int) -> Sequence[Fused]:
    """The best chunks of both parts, at most top_k; ties go to the better dense score, then to the older chunk."""
    return _summed(dense, lexical, stretch, weights)[:top_k]


def fuse_ranks(dense: Scores, lexical: Scores, weights: Weights, top_k: int) -> Sequence[Fused]:
    """As fuse, by reciprocal ranks: 1 is the first of both parts. Equal scores of a part rank by the older chunk."""
    return _summed(dense, lexical, _reciprocal, weights)[:top_k]


def rank(dense: Scores, lexical: Scores, top_k: int) -> Sequence[Fused]:
    """The best of the one part that was asked for, with its own scores."""
    scores = dense or lexical
    fused = [Fused(key, score, dense.get(key), lexical.get(key)) for key, score in scores.items()]
    return sorted(fused, key=_order)[:top_k]


def _summed(
    dense: Scores, lexical: Scores, scale: Callable[[Scores], dict[int, float]], weights: Weights
) -> list[Fused]:
    share_dense, share_lexical = _shares(dense, lexical, weights)
    by_dense, by_lexical = scale(dense), scale(lexical)
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
