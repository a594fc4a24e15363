"""What a text is about, for comparing two texts word by word: words, numbers and CJK characters."""

import re
import unicodedata
from dataclasses import dataclass

from citemesh.text.scripts import HAN, HAN_MARKS, KANA, KANA_FOR_AINU, RADICALS, RARE_HAN
from citemesh.text.stemming import english_stem
from citemesh.text.stop_words import CJK_FUNCTION_CHARACTERS, ENGLISH_STOP_WORDS

_CJK = f"{RADICALS}{HAN_MARKS}{KANA}{KANA_FOR_AINU}{HAN}{RARE_HAN}"
_NUMBER = r"\d+(?:[.,]\d+)*"
# Letters that follow a number are a word of their own (100km), digits that follow a letter are part of it (H1N1).
_TOKEN = re.compile(rf"(?P<number>{_NUMBER})|(?P<cjk>[{_CJK}]+)|(?P<word>[^\W\d_{_CJK}][^\W_{_CJK}]*)")


@dataclass(frozen=True, slots=True)
class WordSets:
    """Distinct words of a text, normalised (NFKC, case folded).

    content: words that are not stop words, numbers, and single CJK characters that are not function characters.
    compared: what coverage counts: content words without their endings, numbers, and pairs of neighbouring CJK
        characters (a lone one where a run has one only).
    numbers: numbers, without thousands separators.
    names: capitalised words that don't open the text.
    """

    content: frozenset[str]
    compared: tuple[str, ...]
    numbers: frozenset[str]
    names: frozenset[str]


def word_sets(text: str) -> WordSets:
    """Returns the words of a text; all sets are empty for a text of white space, punctuation or emoji."""
    content: dict[str, None] = {}
    compared: dict[str, None] = {}
    numbers: set[str] = set()
    names: set[str] = set()
    opening = True
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text)):
        raw = match.group()
        if match.lastgroup == "number":
            number = raw.replace(",", "").rstrip(".")
            numbers.add(number)
            content[number] = compared[number] = None
        elif match.lastgroup == "cjk":
            content.update(dict.fromkeys(c for c in raw if c.isalnum() and c not in CJK_FUNCTION_CHARACTERS))
            compared.update(dict.fromkeys(_pairs(raw)))
        elif (word := raw.casefold()) not in ENGLISH_STOP_WORDS:
            content[word] = compared[english_stem(word)] = None
            if raw[0].isupper() and not opening:
                names.add(english_stem(word))
        opening = False
    return WordSets(frozenset(content), tuple(compared), frozenset(numbers), frozenset(names))


def _pairs(run: str) -> list[str]:
    """Returns neighbouring characters in twos, without pairs of function characters only."""
    pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return [pair for pair in pairs if not all(char in CJK_FUNCTION_CHARACTERS for char in pair)]
