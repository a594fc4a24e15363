"""Likely ends of sentences."""

import pytest

from citemesh.text.sentence_marks import follows_mark, rough_sentences


@pytest.mark.parametrize(
    ("text", "follows"),
    [("Yes.", True), ("“Yes.”", True), ("是的。", True), ("so:", True), ("yes", False), ("”", False), ("", False)],
)
def test_a_mark_may_be_behind_closing_ones(text: str, follows: bool) -> None:
    assert follows_mark(text, len(text)) is follows


def test_rough_sentences_end_at_marks_and_lines() -> None:
    text = "One. Two?\nDr. Hill. 好。行；"
    parts = [text[start:end] for start, end in rough_sentences(text, 0, len(text))]
    assert parts == ["One.", " Two?", "\n", "Dr.", " Hill.", " 好。", "行；"]
