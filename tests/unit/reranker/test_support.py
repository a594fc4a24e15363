"""Stretches of passages, how much of a sentence they hold, and which of them is chosen."""

import numpy as np
import pytest

from citemesh.text.word_sets import word_sets
from services.reranker.engine import PassageSupport
from services.reranker.support.calibration import LATE, LEXICAL, features
from services.reranker.support.choice import best_of_each, preference
from services.reranker.support.coverage import Coverage, CoverageIndex
from services.reranker.support.stretches import WIDEST, stretches_of

TEXTS = ["One apple. Two pears. Three plums. Four figs.", "", "   ", "五个苹果。"]


def evenly(words: object) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.ones(len(list(words)), np.float32)  # type: ignore[call-overload]  # any sized thing


def coverage(sentence: str, texts: list[str]) -> Coverage:
    return CoverageIndex(texts, stretches_of(texts)).coverage(word_sets(sentence), evenly)


def test_stretches_are_runs_of_up_to_three_sentences() -> None:
    stretches = stretches_of(TEXTS)
    texts = [TEXTS[p][slice(*stretches.span(number))] for number, p in enumerate(stretches.passage)]
    assert texts[:3] == ["One apple.", "One apple. Two pears.", "One apple. Two pears. Three plums."]
    assert texts[-1] == "五个苹果。"
    assert len(texts) == 4 + 3 + 2 + 1
    assert max(stretches.last - stretches.first) == WIDEST - 1


def test_a_stretch_is_as_good_as_its_best_sentence() -> None:
    stretches = stretches_of(TEXTS[:1])
    by_sentence = np.array([[0.1, 0.9, 0.2, 0.3]], np.float32)
    widened = stretches.widen(by_sentence)[0]
    for number in range(len(widened)):
        assert widened[number] == by_sentence[0, stretches.first[number] : stretches.last[number] + 1].max()


def test_coverage_counts_words_of_the_stretch_and_of_its_context() -> None:
    covered = coverage("Two apples", TEXTS[:1])
    assert covered.stretch.tolist()[:2] == [0.5, 1.0]
    assert set(covered.nearby.tolist()) == {1.0}


def test_the_context_ends_at_the_passage_and_is_not_the_whole_of_a_long_one() -> None:
    far = " ".join(["Pears."] + ["Plums."] * 20)
    covered = coverage("pears", [far, "Plums."])
    assert covered.nearby[0] == 1
    assert covered.nearby[-2:].tolist() == [0, 0]


def test_another_sentence_is_taken_in_only_where_it_adds_enough() -> None:
    text = ["Anna bought apples. She paid with gold. It rained."]
    stretches = stretches_of(text)
    two_sentences = "Anna bought apples. She paid with gold."
    for sentence, expected in (("Anna bought apples gold", "Anna bought apples."), ("Anna paid gold", two_sentences)):
        covered = CoverageIndex(text, stretches).coverage(word_sets(sentence), evenly)
        [best] = best_of_each(stretches, preference(stretches, covered), covered.stretch, covered.shared)
        assert text[0][best.start : best.end] == expected


def test_lacking_numbers_and_names_are_measured() -> None:
    covered = coverage("In 1901 and 1950 Anna met Berta", ["Anna left in 1901."])
    assert covered.numbers.tolist() == [1.0]
    assert covered.names.tolist() == [0.5]
    nothing = coverage("nothing of the kind", ["Anna left in 1901."])
    assert nothing.numbers.tolist() == nothing.names.tolist() == [0.0]


def test_shared_content_is_exact() -> None:
    assert coverage("apple", TEXTS[:1]).shared.tolist()[0] == 1
    assert coverage("the of", TEXTS[:1]).shared.max() == 0
    assert coverage("果", TEXTS).shared[-1] == 1
    assert coverage("apples", TEXTS[:1]).shared.max() == 0


def test_no_passage_no_stretch() -> None:
    covered = coverage("anything", [])
    assert covered.stretch.shape == covered.shared.shape == (0,)


def test_the_best_stretch_of_each_passage_is_chosen() -> None:
    texts = ["One. Two.", "Three."]
    stretches = stretches_of(texts)  # One. | One. Two. | Two. | Three.
    scores = np.array([0.2, 0.5, 0.5, 0.9], np.float32)
    supports = best_of_each(stretches, scores, scores, np.array([1, 1, 1, 1], np.float32))
    assert supports == [PassageSupport(1, 0, 6, float(scores[3])), PassageSupport(0, 0, 9, 0.5)]
    assert best_of_each(stretches, scores, scores, np.zeros(4, np.float32)) == []


def test_equal_passages_keep_their_order() -> None:
    stretches = stretches_of(["Same.", "Same.", "Same."])
    equal = np.ones(3, np.float32)
    assert [support.passage for support in best_of_each(stretches, equal, equal, equal)] == [0, 1, 2]


def test_more_evidence_never_lowers_the_score() -> None:
    for model, width in ((LEXICAL, 4), (LATE, 5)):
        base = np.full((1, width), 0.5, np.float32)
        for column, sign in enumerate((1, 1, -1, -1, 1)[:width]):
            more = base.copy()
            more[0, column] += 0.2
            assert sign * (model.probability(more) - model.probability(base))[0] >= 0
            assert 0 <= model.probability(more)[0] <= 1


def test_features_are_in_their_order() -> None:
    stretches = stretches_of(TEXTS[:1])
    covered = coverage("Two apples in 1901", TEXTS[:1])
    table = features(covered, np.full(len(stretches.first), 0.7, np.float32))
    assert table.shape == (len(stretches.first), 5)
    assert table[1].tolist() == pytest.approx([2 / 3, 2 / 3, 1, 0, 0.7])


def test_sentences_of_many_words_are_covered_like_short_ones() -> None:
    words = [f"w{n}" for n in range(110)]
    assert coverage(" ".join(words), [" ".join(words)]).stretch.max() == pytest.approx(1, abs=1e-4)
    assert coverage(" ".join(words), [" ".join(words[::2])]).nearby.max() == pytest.approx(0.5, abs=0.02)
