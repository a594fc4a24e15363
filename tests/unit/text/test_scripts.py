"""Scripts of texts and characters."""

import re

import pytest

from citemesh.text import scripts
from citemesh.text.scripts import is_chinese, joins_without_space, script_of, written_without_spaces


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("What is it?", "latin"),
        ("APISIX 中的 Upstream 是什么？", "han"),
        ("これは何ですか", "kana"),
        ("Что это?", "cyrillic"),
        ("ما هذا؟", "arabic"),
        ("42?", "latin"),
        ("Which city is called 北京?", "latin"),
    ],
)
def test_scripts(text: str, script: str) -> None:
    assert script_of(text) == script


def test_every_script_is_found_by_its_letters() -> None:
    samples = dict(zip(scripts.SCRIPTS, ("a", "か", "글", "字", "я", "ω", "א", "ب", "ह", "ท"), strict=True))
    assert {name: script_of(letter) for name, letter in samples.items()} == {name: name for name in samples}


@pytest.mark.parametrize(
    ("text", "chinese"), [("北京", True), ("Go 去", True), ("東京の", False), ("Paris", False), ("", False)]
)
def test_chinese_has_han_characters_and_no_kana(text: str, chinese: bool) -> None:
    assert is_chinese(text) is chinese


def test_sentences_of_chinese_and_japanese_stand_side_by_side() -> None:
    assert joins_without_space("你好。", "再见")
    assert not joins_without_space("你好。", "Hello")
    assert not joins_without_space("", "再见")
    assert [written_without_spaces(char) for char in "字か。Ａa글"] == [True, True, True, True, False, False]


def test_the_index_pairs_characters_of_scripts_without_spaces_and_of_korean() -> None:
    pattern = re.compile(f"[{scripts.INDEXED_BY_PAIRS}]")
    assert all(map(pattern.fullmatch, "字々かカー글ท𠀀ㄅ"))
    assert not any(map(pattern.fullmatch, "aяωאبह1。"))
