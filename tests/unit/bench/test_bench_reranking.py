"""What the reranker's benches stand on: a small search, a small regression, and made claims."""

import random

import numpy as np
import pytest

from bench.reranking.claims import from_qed, from_xquad, nearest, other_of_its_kind
from bench.reranking.data import Asked, Paragraphs
from bench.reranking.logistic import area, fit
from bench.reranking.search import bm25, ndcg, spread


def test_bm25_prefers_rare_words_and_short_texts() -> None:
    texts = ["apple pear", "apple plum plum", "apple " + "filler word here " * 20, "fig"]
    [scores] = bm25(texts, ["apple plum"])
    assert list(np.argsort(-scores)) == [1, 0, 2, 3]
    assert bm25(texts, ["😀"]).tolist() == [[0] * 4]


def test_ndcg_is_one_for_the_best_order_and_less_for_others() -> None:
    assert ndcg([3, 1, 2], frozenset({3, 1})) == 1
    assert ndcg([2, 3, 1], frozenset({3})) == pytest.approx(1 / np.log2(3))
    assert ndcg([2], frozenset({3})) == 0


def test_spread_moves_each_row_to_0_to_1() -> None:
    assert spread(np.array([[2, 4, 3], [7, 7, 7]], np.float32)).tolist() == [[0, 1, 0.5], [0, 0, 0]]


def test_the_regression_finds_what_made_the_labels() -> None:
    chance = np.random.default_rng(1)
    table = chance.normal(size=(4000, 2))
    labels = (chance.random(4000) < 1 / (1 + np.exp(-(2 * table[:, 0] - table[:, 1] + 0.5)))).astype(np.float64)
    assert fit(table, labels) == pytest.approx([2, -1, 0.5], abs=0.2)


def test_area_counts_pairs_in_order() -> None:
    assert area(np.array([0.9, 0.4, 0.4, 0.1]), np.array([1, 1, 0, 0])) == pytest.approx(0.875)


def test_other_answers_are_of_the_same_kind_and_not_in_the_passage() -> None:
    answers = ["1901", "1950", "Paris", "Rome"]
    assert other_of_its_kind("1901", answers, "It was 1901.", random.Random(0)) == "1950"
    assert other_of_its_kind("Paris", answers, "Paris or Rome", random.Random(0)) == ""
    assert nearest("red apples", ["red apples", "apples", "figs"], "red apples") == "apples"


def test_cases_from_qed_are_placed_and_labelled() -> None:
    def row(question: str, text: str, answer: str) -> dict[str, object]:
        selected = {"start": 0, "end": len(text), "string": text}
        answers = [[{"string": answer}]]
        return {
            "question_text": question,
            "paragraph_text": text,
            "original_nq_answers": answers,
            "annotation": {"selected_sentence": selected},
        }

    rows = [row("when did the wall fall", "The wall fell in 1989.", "1989"), row("when was it", "It was 1901.", "1901")]
    cases = list(from_qed(rows, random.Random(0)))
    assert cases[0].sentence == "The wall fall 1989"
    assert cases[0].supported and cases[0].places == ((0, 22),)
    assert [case.kind for case in cases if not case.supported] == [
        "qed other answer",
        "qed nearest",
        "qed other number",
    ] * 2
    assert all("1989" not in case.sentence for case in cases if case.kind == "qed other number")


def test_cases_from_xquad_point_at_the_answers_sentence() -> None:
    texts = ["长城很长。北京是中国的首都。", "苹果很甜。梨子很酸。"]
    asked = [Asked(0, "中国的首都是哪里？", "北京", 5), Asked(1, "什么很甜？", "苹果", 0)]
    cases = list(from_xquad("zh", Paragraphs(texts, asked), 2, random.Random(0)))
    placed = [case for case in cases if case.kind == "xquad zh answer" and "首都" in case.sentence]
    assert placed[0].places == ((5, 14),)
    assert "？" not in placed[0].sentence
