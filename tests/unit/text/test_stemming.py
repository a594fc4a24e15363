"""Words without their endings."""

import pytest

from citemesh.text.stemming import arabic_stem, english_stem, english_stem_light


@pytest.mark.parametrize(
    ("word", "root"), [("falls", "fall"), ("falling", "fall"), ("is", "is"), ("aged", "aged"), ("cities", "cit")]
)
def test_endings_go(word: str, root: str) -> None:
    assert english_stem(word) == root


@pytest.mark.parametrize(
    ("word", "root"),
    [
        ("presidents", "president"),
        ("cities", "city"),
        ("ann's", "ann"),
        ("quickly", "quickly"),
        ("is", "is"),
        ("rode", "rode"),
    ],
)
def test_the_light_stem_stays_a_word(word: str, root: str) -> None:
    assert english_stem_light(word) == root


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("المكتبة", "مكتب"),
        ("والمكتبات", "مكتب"),
        ("بالمدينة", "مدين"),
        ("أحمد", "احمد"),
        ("ال", "ال"),
        ("و", "و"),
        ("هي", "هي"),
        ("ولد", "ولد"),
    ],
)
def test_arabic_words_lose_what_is_written_with_them(word: str, stem: str) -> None:
    assert arabic_stem(word) == stem
