"""Where sentences begin and end, in scripts with and without spaces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.text.sentences import LONGEST_SPAN, sentence_spans


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        (
            "Dr. Smith met J. R. Tolkien at 3.5 p.m. sharp. He left.",
            ["Dr. Smith met J. R. Tolkien at 3.5 p.m. sharp.", "He left."],
        ),
        ("See fig. 3 for Apple Inc. figures. Done.", ["See fig. 3 for Apple Inc. figures.", "Done."]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("长城很长。北京是首都！真的吗？是的", ["长城很长。", "北京是首都！", "真的吗？", "是的"]),
        ("他说：“好。”然后走了。", ["他说：“好。”", "然后走了。"]),
        ("1. First item\n2. Second item", ["1. First item", "2. Second item"]),
        ("Heading\n\nBody text here.", ["Heading", "Body text here."]),
        ("ما هذا؟ هذا كتاب.", ["ما هذا؟", "هذا كتاب."]),
        ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
        ("Wait... what? No.", ["Wait... what?", "No."]),
        ("😀 Hi! 😀", ["😀 Hi!", "😀"]),
        ("", []),
        (" \n\t ", []),
        (".", ["."]),
    ],
)
def test_known_texts(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


def test_endless_text_is_cut_at_soft_breaks() -> None:
    pieces = cut("word " * 1000)
    assert all(len(piece) <= LONGEST_SPAN for piece in pieces)
    assert all(set(piece.split()) == {"word"} for piece in pieces)
    assert [len(piece) for piece in cut("字" * (2 * LONGEST_SPAN + 1))] == [LONGEST_SPAN, LONGEST_SPAN, 1]


@given(st.text(alphabet=st.characters() | st.sampled_from(' .。\n!"”'), max_size=300))
def test_spans_cover_all_but_white_space(text: str) -> None:
    spans = sentence_spans(text)
    covered = "".join(text[start:end] for start, end in spans)
    assert "".join(covered.split()) == "".join(text.split())
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
