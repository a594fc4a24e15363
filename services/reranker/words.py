"""What a text is about, for comparing two texts word by word: words, numbers and CJK characters."""

import re
import unicodedata
from dataclasses import dataclass

from services.reranker.stopwords import CJK_STOP, STOPWORDS

_CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_NUMBER = r"\d+(?:[.,]\d+)*"
# Letters that follow a number are a word of their own (100km), digits that follow a letter are part of it (H1N1).
_TOKEN = re.compile(rf"(?P<number>{_NUMBER})|(?P<cjk>[{_CJK}]+)|(?P<word>[^\W\d_{_CJK}][^\W_{_CJK}]*)")


@dataclass(frozen=True, slots=True)
class Words:
    """Distinct parts of a text, normalised (NFKC, case folded).

    content: words that are not stopwords, numbers, and single CJK characters that are not function characters.
    compared: what coverage counts: content words without their endings, numbers, and pairs of neighbouring CJK
        characters (a lone one where a run has one only).
    numbers: numbers, without thousands separators.
    names: capitalised words that don't open the text.
    """

    content: frozenset[str]
    compared: tuple[str, ...]
    numbers: frozenset[str]
    names: frozenset[str]


def words_of(text: str) -> Words:
    """The words of a text; all parts are empty for a text of white space, punctuation or emoji."""
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
            content.update(dict.fromkeys(c for c in raw if c.isalnum() and c not in CJK_STOP))
            compared.update(dict.fromkeys(_pairs(raw)))
        elif (word := raw.casefold()) not in STOPWORDS:
            content[word] = compared[stem(word)] = None
            if raw[0].isupper() and not opening:
                names.add(stem(word))
        opening = False
    return Words(frozenset(content), tuple(compared), frozenset(numbers), frozenset(names))


def stem(word: str) -> str:
    """The word without an English ending; crude, as both sides of a comparison go through it."""
    for ending in ("ing", "ies", "ied", "es", "ed", "ly", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _pairs(run: str) -> list[str]:
    """Neighbouring characters in twos, without pairs of function characters only."""
    pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return [pair for pair in pairs if not all(c in CJK_STOP for c in pair)]
