"""Words that the lexical index looks a text up by."""

import pytest

from citemesh.text.index_words import asked_words, index_words, is_single_character


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("北京大学", ["北京", "京大", "大学", "学"]),
        ("用Python写代码", ["用", "python", "写代", "代码", "码"]),
        ("ｆｕｌｌ Ｗｉｄｔｈ", ["full", "width"]),
        ("x" * 130, ["x" * 64, "x" * 64, "xx"]),
        ("", []),
        ("!?…", []),
        ("한국어 서울", ["한국", "국어", "어", "서울", "울"]),
        ("snake_case-word 3.14", ["snake", "case", "word", "3", "14"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert list(index_words(text)) == expected


def test_a_query_has_no_loose_ends() -> None:
    assert list(asked_words("北京大学 tea")) == ["北京", "京大", "大学", "tea"]
    assert list(asked_words("京")) == ["京"]


def test_single_characters_are_told_from_words() -> None:
    assert [is_single_character(word) for word in ("京", "นี่", "京大", "a")] == [True, True, False, False]
