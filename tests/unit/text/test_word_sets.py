"""What counts as content: words, numbers, names and CJK characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.text.stemming import english_stem
from citemesh.text.word_sets import word_sets


def test_english() -> None:
    words = word_sets("The Nobel Prize was awarded to Wilhelm Röntgen in 1901 for 7,731,004 SEK.")
    assert words.content == {"nobel", "prize", "awarded", "wilhelm", "röntgen", "1901", "7731004", "sek"}
    assert words.numbers == {"1901", "7731004"}
    assert {"nobel", "wilhelm", "röntg"} & words.names or "röntgen" in words.names
    assert "the" not in words.compared


def test_chinese() -> None:
    words = word_sets("北京是中国的首都，有 2189 万人。")
    assert {"北", "京", "中", "国", "首", "都"} >= words.content - {"2189", "万", "人"}
    assert {"北京", "中国"} <= set(words.compared)
    assert words.numbers == {"2189"}
    assert "的" not in words.content


@pytest.mark.parametrize(
    ("spelling", "other"),
    [
        ("1,000 people", "1000 people"),
        ("ＡＢＣ１２", "abc12"),
        ("ﬁnal", "final"),
        ("STRASSE", "straße"),
        ("2.50", "2.50."),
    ],
)
def test_spellings_of_the_same(spelling: str, other: str) -> None:
    assert word_sets(spelling).content == word_sets(other).content


def test_letters_after_a_number_are_apart_and_digits_after_letters_are_not() -> None:
    assert word_sets("100km of H1N1").compared == ("100", "km", "h1n1")


def test_names_are_capitalised_within_the_text() -> None:
    assert word_sets("Yesterday Paris saw Rain").names == {english_stem("paris"), "rain"}


@pytest.mark.parametrize("text", ["", "  ", "😀🎉", "?!…", "the of and", "的了是", "\x00"])
def test_texts_about_nothing(text: str) -> None:
    words = word_sets(text)
    assert (words.content, words.compared, words.numbers, words.names) == (frozenset(), (), frozenset(), frozenset())


@given(st.text(max_size=200))
def test_parts_belong_together(text: str) -> None:
    words = word_sets(text)
    assert len(set(words.compared)) == len(words.compared)
    assert words.numbers <= set(words.compared) & words.content
    assert words.names <= set(words.compared)
