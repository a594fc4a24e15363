"""Languages by their codes, and by the script of a text."""

import pytest

from citemesh.text.languages import LANGUAGE_NAMES, language_by_script, script_of_language


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("北京是中国的首都", "zh"),
        ("東京は日本の首都です", "ja"),
        ("서울은 수도이다", "ko"),
        ("Paris is", ""),
        ("", ""),
        ("Один два", ""),
        ("An English text with 北京 in it and many more words", ""),
    ],
)
def test_a_script_of_one_language_tells_it(source: str, code: str) -> None:
    assert language_by_script(source) == code


def test_languages_are_those_of_the_standard() -> None:
    assert len(LANGUAGE_NAMES) == 183
    assert all(len(code) == 2 and code.islower() for code in LANGUAGE_NAMES)
    assert (LANGUAGE_NAMES["de"], LANGUAGE_NAMES["gd"]) == ("German", "Scottish Gaelic")
    assert [script_of_language(code) for code in ("de", "zh", "ru", "hy")] == ["latin", "han", "cyrillic", "other"]
