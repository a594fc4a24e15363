"""Characters as a reader sees them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.text.characters import (
    are_joined,
    lone_surrogate,
    takes_two_columns,
    whole_character,
    whole_characters,
)

HALF = "\ud83d"


def test_characters_that_belong_together_stay_so() -> None:
    family = "👨‍👩‍👧"
    for at in range(1, len(family)):
        assert whole_character("ab" + family + "c", 0, 2 + at) == 2
    assert whole_character("xe\u0301y", 0, 2) == 1
    assert whole_character("xy", 0, 1) == 1


@pytest.mark.parametrize("pair", ["e\u0301", "\u200d👩", "👍🏽", "🇨🇳", "\r\n"])
def test_what_makes_one_character_is_joined(pair: str) -> None:
    assert are_joined(pair[0], pair[1])


@pytest.mark.parametrize("pair", ["ab", "\n\r", "字字", "👍👍", "a "])
def test_two_characters_are_not(pair: str) -> None:
    assert not are_joined(pair[0], pair[1])


def test_half_a_character_is_found_and_replaced() -> None:
    assert lone_surrogate("whole 👍") is None
    assert lone_surrogate(f"ab{HALF}c") == 2
    assert whole_characters(f"ab{HALF}c") == "ab\ufffdc"


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_replacing_half_characters_keeps_the_length(text: str) -> None:
    replaced = whole_characters(text)
    assert lone_surrogate(replaced) is None
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert replaced == text


def test_a_terminal_shows_some_characters_twice_as_wide() -> None:
    assert [takes_two_columns(char) for char in ("字", "글", "Ａ", "a", "é", "")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
