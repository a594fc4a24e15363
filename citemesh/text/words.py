"""Words that say what a text is about, found without a model."""

import re
from collections.abc import Iterable

from citemesh.text.scripts import HAN, written_without_spaces
from citemesh.text.stemming import english_stem_light
from citemesh.text.stop_words import CHINESE_BREAKS, ENGLISH_FUNCTION_WORDS

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CHINESE_BREAK = re.compile(CHINESE_BREAKS)
_HAN_RUN = re.compile(f"[{HAN}]{{2,}}")


def content_words(text: str) -> list[str]:
    """Returns the words that say what a text is about, in lower case and their order, each once.

    Function words and single letters are left out; Chinese gives the stretches between its function words.
    """
    words = (word.lower() for word in _WORD.findall(text) if not written_without_spaces(word[0]))
    content = (word for word in words if word not in ENGLISH_FUNCTION_WORDS and len(word) > 1)
    return list(dict.fromkeys([*content, *chinese_stretches(text)]))


def stems(words: Iterable[str]) -> set[str]:
    """Returns words without their commonest endings, so that "presidents" meets "president"."""
    return set(map(english_stem_light, words))


def chinese_stretches(text: str) -> list[str]:
    """Returns what stands between the function words of Chinese, in order: runs of two Han characters or more."""
    if text.isascii():
        return []
    return [run for piece in _CHINESE_BREAK.split(text) for run in _HAN_RUN.findall(piece)]
