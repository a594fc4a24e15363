"""Model and retrieval scores on one scale."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reranker.blend import min_max, rank, with_lowest
from services.reranker.engine import CandidatePassage

scores = st.floats(-1e6, 1e6, width=32)


def named(*retrieval: float | None) -> list[CandidatePassage]:
    return [CandidatePassage(str(n), "text", score) for n, score in enumerate(retrieval)]


def test_min_max() -> None:
    assert min_max([2.0, 4.0, 3.0]) == [0.0, 1.0, 0.5]
    assert min_max([7.0, 7.0]) == [1.0, 1.0]


def test_the_missing_count_as_the_lowest() -> None:
    assert with_lowest([None, 2.0, -1.0]) == [-1.0, 2.0, -1.0]
    assert with_lowest([None, None]) is None


def test_the_weight_is_the_models_share() -> None:
    assert [r.id for r in rank(named(0, 1), [1.0, 0.0], 0.7, 0)] == ["0", "1"]
    assert [r.id for r in rank(named(0, 1), [1.0, 0.0], 0.3, 0)] == ["1", "0"]
    assert rank(named(0, 1), [1.0, 0.0], 0.7, 0)[0].score == pytest.approx(0.7)


def test_without_retrieval_scores_the_model_decides() -> None:
    assert [r.score for r in rank(named(None, None), [0.2, 0.4], 0.1, 0)] == [1.0, 0.0]


@given(st.lists(st.tuples(scores, st.none() | scores), max_size=30), st.floats(0, 1), st.integers(0, 40))
def test_none_is_lost_and_ties_keep_order(rows: list[tuple[float, float | None]], weight: float, top_k: int) -> None:
    ranked = rank(named(*(score for _, score in rows)), [model for model, _ in rows], weight, top_k)
    assert len(ranked) == (min(top_k, len(rows)) if top_k else len(rows))
    assert all(0 <= r.score <= 1 for r in ranked)
    keys = [(-r.score, int(r.id)) for r in ranked]
    assert keys == sorted(keys)
