"""Fusion and the words of the lexical index."""

import sqlite3
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.search import lexical
from services.retrieval.search.fusion import Fused, Scores, Weights, fuse, fuse_ranks, rank, unrelated

SCORES = st.dictionaries(st.integers(0, 20), st.floats(-10, 10, width=32), max_size=12)


@pytest.mark.parametrize("way", [fuse, fuse_ranks])
@given(dense=SCORES, words=SCORES, weight=st.floats(0, 1), top_k=st.integers(1, 30))
def test_fused_scores_are_within_bounds_and_ordered(
    way: Callable[[Scores, Scores, Weights, int], Sequence[Fused]],
    dense: dict[int, float],
    words: dict[int, float],
    weight: float,
    top_k: int,
) -> None:
    found = way(dense, words, Weights(weight, 1 - weight), top_k)
    assert len(found) == min(top_k, len(dense.keys() | words.keys()))
    assert all(-1e-9 <= it.score <= 1 + 1e-9 for it in found)
    assert [it.score for it in found] == sorted((it.score for it in found), reverse=True)
    assert all(it.dense == dense.get(it.key) and it.lexical == words.get(it.key) for it in found)


def test_both_parts_count_by_their_weights() -> None:
    dense, words = {1: 0.9, 2: 0.8, 3: 0.1}, {2: 12.0, 3: 2.0, 4: 1.0}
    assert [it.key for it in fuse(dense, words, Weights(), 4)] == [2, 1, 3, 4]
    assert [it.key for it in fuse(dense, words, Weights(1, 0), 2)] == [1, 2]
    assert [it.key for it in fuse(dense, words, Weights(0, 1), 1)] == [2]


def test_a_part_that_found_nothing_leaves_its_weight_to_the_other() -> None:
    assert [it.score for it in fuse({1: 0.5, 2: 0.1}, {}, Weights(), 2)] == [1.0, 0.0]
    assert [it.score for it in fuse({}, {7: 3.0}, Weights(), 2)] == [1.0]
    assert fuse({}, {}, Weights(), 2) == []


@given(SCORES, SCORES, st.floats(0, 1), st.floats(-1, 1, width=32), st.integers(1, 6))
def test_above_a_floor_a_score_is_the_same_however_many_are_ranked(
    dense: dict[int, float], words: dict[int, float], weight: float, floor: float, kept: int
) -> None:
    words = {key: abs(score) for key, score in words.items()}
    weights = Weights(weight, 1 - weight)
    whole = {it.key: it.score for it in fuse(dense, words, weights, 99, floor)}
    best = {*sorted(dense, key=dense.__getitem__)[-kept:], *sorted(words, key=words.__getitem__)[-kept:]}
    few = fuse(*({key: part[key] for key in part if key in best} for part in (dense, words)), weights, 99, floor)
    assert all(it.score == pytest.approx(whole[it.key]) for it in few)
    assert all(0 <= it.score <= 1 + 1e-9 for it in few)


def test_what_is_below_the_floor_counts_as_unrelated() -> None:
    found = {it.key: it.score for it in fuse({1: 0.9, 2: 0.8, 3: 0.6}, {3: 2.0}, Weights(), 9, least=0.7)}
    assert found == {1: pytest.approx(0.5), 2: pytest.approx(0.25), 3: pytest.approx(0.5)}


def test_the_floor_needs_enough_to_be_told() -> None:
    assert unrelated(np.full(3, 0.7, np.float32)) is None
    assert unrelated(np.array([0.7, 0.8] * 50, np.float32)) == pytest.approx(0.65)


def test_reciprocal_ranks_see_the_order_only() -> None:
    dense, words = {1: 0.9, 2: 0.8, 3: 0.1}, {2: 12.0, 3: 2.0, 4: 1.0}
    stretched = {key: 1000 * score**3 for key, score in dense.items()}
    found = fuse_ranks(dense, words, Weights(), 4)
    assert [it.key for it in found] == [2, 3, 1, 4]
    assert [it.score for it in fuse_ranks(stretched, words, Weights(), 4)] == [it.score for it in found]
    assert found[0].score == pytest.approx(0.5 * 61 / 62 + 0.5)
    assert [it.score for it in fuse_ranks(dense, dense, Weights(), 1)] == [1.0]


@given(SCORES, SCORES, st.floats(0, 1))
def test_what_both_parts_rank_higher_is_fused_higher(
    dense: dict[int, float], words: dict[int, float], weight: float
) -> None:
    place = {it.key: n for n, it in enumerate(fuse_ranks(dense, words, Weights(weight, 1 - weight), 99))}
    both = dense.keys() & words.keys()
    above = [(a, b) for a in both for b in both if dense[a] > dense[b] and words[a] > words[b]]
    assert all(place[a] < place[b] for a, b in above)


def test_ties_are_stable() -> None:
    same = dict.fromkeys(range(10), 0.5)
    assert [it.key for it in fuse(same, same, Weights(), 4)] == [0, 1, 2, 3]
    assert [it.key for it in rank(same, {}, 3)] == [0, 1, 2]


def test_a_query_keeps_each_word_once_and_no_loose_ends() -> None:
    assert lexical.query_words("北京大学 北京大学 tea Tea") == ("北京", "京大", "大学", "tea")
    assert lexical.match_expression("茶") == '"茶"*'
    assert len(lexical.query_words(" ".join(f"w{n}" for n in range(1000)))) == lexical.MAX_QUERY_WORDS


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_query_is_a_valid_expression_and_finds_its_own_text(query: str, other: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(f'CREATE VIRTUAL TABLE t USING fts5(body, tokenize="{lexical.TOKENIZER}")')
    connection.execute("INSERT INTO t VALUES (?)", (lexical.indexed(f"{query} {other}"),))
    expression = lexical.match_expression(query)
    if expression:
        found = connection.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,)).fetchall()
        assert found or not any(map(str.isalnum, query))
    connection.close()
