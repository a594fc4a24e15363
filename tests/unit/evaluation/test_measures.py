"""Measures of one answer, counted by hand and by the code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.evaluation import measures
from citemesh.evaluation.questions import Evidence
from tests.unit.evaluation.sample_answers import source


def test_evidence_is_known_by_document_title_or_words() -> None:
    one = source(1, "泵", "水泵在四十巴下运行。每月需要加油。", "水泵手册")
    assert measures.holds(Evidence(quote="四十巴下运行"), one)
    assert measures.holds(Evidence(document_id="泵", quote="需要加油"), one)
    assert not measures.holds(Evidence(document_id="other", quote="需要加油"), one)
    assert not measures.holds(Evidence(title="水泵"), one)


def test_right_answers_are_found_as_words() -> None:
    assert measures.words("The Pump's ４０ bar, 水泵!") == ["pump", "s", "40", "bar", "水", "泵"]
    assert measures.f1(["40", "bar"], ["it", "runs", "at", "40", "bar"]) == pytest.approx(4 / 7)
    assert measures.f1([], ["a"]) == 0.0


@given(st.lists(st.text(max_size=5), max_size=20), st.lists(st.text(max_size=5), max_size=20))
def test_f1_is_even_handed_and_bounded(one: list[str], other: list[str]) -> None:
    assert 0 <= measures.f1(one, other) <= 1
    assert measures.f1(one, other) == measures.f1(other, one)
    assert not one or measures.f1(one, one) == 1
