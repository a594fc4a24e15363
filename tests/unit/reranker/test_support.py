"""Stretches of passages, how much of a sentence they hold, and which of them is chosen."""

import numpy as np
import pytest

from citemesh.text.word_sets import word_sets
from services.reranker.calibration import LATE, LEXICAL, features
from services.reranker.coverage import Coverage, CoverageIndex
from services.reranker.engine import Support
from services.reranker.support import best_of_each, preference
from services.reranker.windows import WIDEST, windows_of

TEXTS = ["One apple. Two pears. Three plums. Four figs.", "", "   ", "五个苹果。"]


def evenly(words: object) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.ones(len(list(words)), np.float32)  # type: ignore[call-overload]  # any sized thing


def coverage(sentence: str, texts: list[str]) -> Coverage:
    return CoverageIndex(texts, windows_of(texts)).coverage(word_sets(sentence), evenly)


def test_windows_are_runs_of_up_to_three_sentences() -> None:
    windows = windows_of(TEXTS)
    stretches = [TEXTS[p][slice(*windows.span(w))] for w, p in enumerate(windows.passage)]
    assert stretches[:3] == ["One apple.", "One apple. Two pears.", "One apple. Two pears. Three plums."]
    assert stretches[-1] == "五个苹果。"
    assert len(stretches) == 4 + 3 + 2 + 1
    assert max(windows.last - windows.first) == WIDEST - 1


def test_a_window_is_as_good_as_its_best_sentence() -> None:
    windows = windows_of(TEXTS[:1])
    by_sentence = np.array([[0.1, 0.9, 0.2, 0.3]], np.float32)
    widened = windows.widen(by_sentence)[0]
    for number in range(len(widened)):
        assert widened[number] == by_sentence[0, windows.first[number] : windows.last[number] + 1].max()


def test_coverage_counts_words_of_the_stretch_and_of_its_context() -> None:
    found = coverage("Two apples", TEXTS[:1])
    assert found.stretch.tolist()[:2] == [0.5, 1.0]
    assert set(found.nearby.tolist()) == {1.0}


def test_the_context_ends_at_the_passage_and_is_not_the_whole_of_a_long_one() -> None:
    far = " ".join(["Pears."] + ["Plums."] * 20)
    found = coverage("pears", [far, "Plums."])
    assert found.nearby[0] == 1
    assert found.nearby[-2:].tolist() == [0, 0]


def test_another_sentence_is_taken_in_only_where_it_adds_enough() -> None:
    text = ["Anna bought apples. She paid with gold. It rained."]
    windows = windows_of(text)
    both = "Anna bought apples. She paid with gold."
    for sentence, expected in (("Anna bought apples gold", "Anna bought apples."), ("Anna paid gold", both)):
        found = CoverageIndex(text, windows).coverage(word_sets(sentence), evenly)
        [best] = best_of_each(windows, preference(windows, found), found.stretch, found.shared)
        assert text[0][best.start : best.end] == expected


def test_lacking_numbers_and_names_are_told() -> None:
    found = coverage("In 1901 and 1950 Anna met Berta", ["Anna left in 1901."])
    assert found.numbers.tolist() == [1.0]
    assert found.names.tolist() == [0.5]
    nothing = coverage("nothing of the kind", ["Anna left in 1901."])
    assert nothing.numbers.tolist() == nothing.names.tolist() == [0.0]


def test_shared_content_is_exact() -> None:
    assert coverage("apple", TEXTS[:1]).shared.tolist()[0] == 1
    assert coverage("the of", TEXTS[:1]).shared.max() == 0
    assert coverage("果", TEXTS).shared[-1] == 1
    assert coverage("apples", TEXTS[:1]).shared.max() == 0


def test_no_passage_no_window() -> None:
    found = coverage("anything", [])
    assert found.stretch.shape == found.shared.shape == (0,)


def test_the_best_window_of_each_passage_is_chosen() -> None:
    texts = ["One. Two.", "Three."]
    windows = windows_of(texts)  # One. | One. Two. | Two. | Three.
    scores = np.array([0.2, 0.5, 0.5, 0.9], np.float32)
    chosen = best_of_each(windows, scores, scores, np.array([1, 1, 1, 1], np.float32))
    assert chosen == [Support(1, 0, 6, float(scores[3])), Support(0, 0, 9, 0.5)]
    assert best_of_each(windows, scores, scores, np.zeros(4, np.float32)) == []


def test_equal_passages_keep_their_order() -> None:
    windows = windows_of(["Same.", "Same.", "Same."])
    ones = np.ones(3, np.float32)
    assert [support.passage for support in best_of_each(windows, ones, ones, ones)] == [0, 1, 2]


def test_more_evidence_never_lowers_the_score() -> None:
    for model, width in ((LEXICAL, 4), (LATE, 5)):
        base = np.full((1, width), 0.5, np.float32)
        for column, sign in enumerate((1, 1, -1, -1, 1)[:width]):
            more = base.copy()
            more[0, column] += 0.2
            assert sign * (model.probability(more) - model.probability(base))[0] >= 0
            assert 0 <= model.probability(more)[0] <= 1


def test_features_are_in_their_order() -> None:
    windows = windows_of(TEXTS[:1])
    found = coverage("Two apples in 1901", TEXTS[:1])
    table = features(found, np.full(len(windows.first), 0.7, np.float32))
    assert table.shape == (len(windows.first), 5)
    assert table[1].tolist() == pytest.approx([2 / 3, 2 / 3, 1, 0, 0.7])


def test_sentences_of_many_words_are_covered_like_short_ones() -> None:
    words = [f"w{n}" for n in range(110)]
    assert coverage(" ".join(words), [" ".join(words)]).stretch.max() == pytest.approx(1, abs=1e-4)
    assert coverage(" ".join(words), [" ".join(words[::2])]).nearby.max() == pytest.approx(0.5, abs=0.02)
