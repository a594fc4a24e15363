"""Cuts keep the tokens, and always advance."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from services.tokenizer.cutter import LONGEST, TokenCutter


def words(texts: Sequence[str]) -> list[list[str]]:
    """A tokenizer whose tokens are words; white space parts them and is part of none."""
    return [text.split() for text in texts]


def lines(texts: Sequence[str]) -> list[list[str]]:
    """A tokenizer that looks at whole lines with their ends."""
    return [text.splitlines(keepends=True) for text in texts]


def one_word(texts: Sequence[str]) -> list[list[str]]:
    """A tokenizer that can't be cut: its only token is the text."""
    return [[text] for text in texts]


def parts(cutter: TokenCutter, text: str, size: int) -> list[str]:
    cuts, start = [], 0
    while start < len(text):
        end = cutter.cut(text, start, size)
        assert start < end <= len(text)
        cuts.append(text[start:end])
        start = end
    return cuts


def test_a_text_that_fits_is_not_cut() -> None:
    assert TokenCutter(words).cut("one two", 0, 7) == 7
    assert TokenCutter(words).cut("", 0, 7) == 0


def test_cuts_are_between_words() -> None:
    pieces = parts(TokenCutter(words), "alpha beta gamma delta " * 100, 60)
    assert "".join(pieces) == "alpha beta gamma delta " * 100
    assert all(part.split()[0] in ("alpha", "beta", "gamma", "delta") for part in pieces)


def test_a_place_that_changes_the_tokens_is_not_taken() -> None:
    text = "one two three\n" * 50
    assert all(part.endswith("\n") for part in parts(TokenCutter(lines), text, 100))


def test_without_a_place_the_longest_part_is_taken() -> None:
    text = "x" * (LONGEST + 10)
    assert [len(part) for part in parts(TokenCutter(words), text, 1000)] == [LONGEST, 10]
    text = "one two " * (LONGEST // 8 + 2)
    assert [len(part) for part in parts(TokenCutter(one_word), text, 1000)] == [LONGEST, 16]


@given(st.text(alphabet="ab 中。\n", max_size=400), st.integers(1, 50))
@settings(deadline=None)
def test_words_stay_the_same(text: str, size: int) -> None:
    pieces = parts(TokenCutter(words), text, size)
    assert [word for part in pieces for word in part.split()] == text.split()
