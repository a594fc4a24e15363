"""Puts the engine's scores and the retrieval scores on one scale and mixes them."""

from collections.abc import Sequence

from services.reranker.engine import CandidatePassage, RankedPassage


def min_max(scores: Sequence[float]) -> list[float]:
    """Returns the scores moved to 0..1; all 1 where they are all the same, as none is worse than another."""
    low, high = min(scores), max(scores)
    spread = high - low
    return [(score - low) / spread if spread > 0 else 1.0 for score in scores]


def with_lowest(scores: Sequence[float | None]) -> list[float] | None:
    """Returns retrieval scores with the lowest in the place of the missing; None where all are missing."""
    present = [score for score in scores if score is not None]
    if not present:
        return None
    return [min(present) if score is None else score for score in scores]


def rank(
    candidates: Sequence[CandidatePassage], model_scores: Sequence[float], weight: float, top_k: int
) -> list[RankedPassage]:
    """Returns candidates in order of the blend, ties in the order of the request.

    Args:
        weight: share of the model's min-max score, 0 to 1; the rest is the retrieval's. 1 where no retrieval
            score is known.
        top_k: most to return; 0 returns all.
    """
    if not candidates:
        return []
    retrieval = with_lowest([candidate.retrieval_score for candidate in candidates])
    blended = min_max(model_scores)
    if retrieval is not None:
        blended = [weight * m + (1 - weight) * r for m, r in zip(blended, min_max(retrieval), strict=True)]
    ranked = [RankedPassage(c.id, s, m) for c, s, m in zip(candidates, blended, model_scores, strict=True)]
    ranked.sort(key=lambda result: -result.score)
    return ranked[: top_k or len(ranked)]
