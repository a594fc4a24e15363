"""Words that say what a text is about, and those that don't."""

from citemesh.text import stop_words
from citemesh.text.words import chinese_stretches, content_words, stems


def test_content_words_are_those_of_meaning() -> None:
    assert content_words("Who designed the Mega-Bridge, and when?") == ["designed", "mega-bridge"]
    assert content_words("What is it?") == []
    assert content_words("谁设计了江临大桥？") == ["设计", "江临大桥"]
    assert chinese_stretches("plain") == []


def test_stems_of_two_forms_meet() -> None:
    assert stems(["presidents", "president"]) == {"president"}


def test_the_commonest_words_are_in_every_list() -> None:
    assert stop_words.ENGLISH_COMMONEST < stop_words.ENGLISH_STOP_WORDS
    assert stop_words.ENGLISH_COMMONEST < stop_words.ENGLISH_FUNCTION_WORDS
    assert stop_words.ENGLISH_QUESTION_WORDS < stop_words.ENGLISH_FUNCTION_WORDS
