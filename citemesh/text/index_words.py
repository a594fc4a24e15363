"""Words that the lexical index looks a text up by, the same for passages and for queries.

Scripts that write no spaces (Chinese, Japanese, Thai, ...) and Korean, whose words carry endings, are cut into
overlapping pairs of characters, which needs no dictionary and finds every word of two characters or more. The last
character of a run stands alone as well, so that a prefix search finds single characters anywhere. All else is words,
those of Arabic script as their stems. Endings of English are left to the index.

Stores hold these words and signatures made of them: whoever changes them changes the VERSION of the lexical index.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from citemesh.text.scripts import INDEXED_BY_PAIRS
from citemesh.text.stemming import arabic_stem

_LONGEST_WORD = 64
# Signs that stand inside of words and are no letters: accents, Hebrew and Arabic points, vowels of India and Tibet.
_SIGNS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f"
    "\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff\u0f71-\u0fbc"
)
_RUNS = re.compile(f"([{INDEXED_BY_PAIRS}]+)|((?:[^\\W_{INDEXED_BY_PAIRS}])(?:[^\\W_{INDEXED_BY_PAIRS}]|[{_SIGNS}])*)")
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]"
)
"""Points of Hebrew and Arabic, which most writers leave out."""
_CHARACTERS = re.compile(
    ".[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b6-\u17d3\u3099\u309a]*"
)
_ARABIC = re.compile("[\u0620-\u064a\u066e-\u06d3]")


def index_words(text: str) -> Iterator[str]:
    """Yields the words of a text in their order, in lower case; pairs of characters for scripts without spaces."""
    for run, word in _runs(text):
        yield from _pairs(run) if run else _pieces(word)


def asked_words(query: str) -> Iterator[str]:
    """As `index_words`, but a run's last character alone counts only where it is all of the run."""
    for run, word in _runs(query):
        pieces = list(_pairs(run) if run else _pieces(word))
        yield from pieces[:-1] if run and len(pieces) > 1 else pieces


def is_single_character(word: str) -> bool:
    """Says whether a word is one character of a script that is cut into pairs."""
    return _CHARACTERS.fullmatch(word) is not None and re.match(f"[{INDEXED_BY_PAIRS}]", word) is not None


def _runs(text: str) -> list[tuple[str, str]]:
    """Returns runs of a script that is cut into pairs, and words: one of each two is empty."""
    return _RUNS.findall(_POINTS.sub("", unicodedata.normalize("NFKC", text).casefold()))


def _pieces(word: str) -> Iterator[str]:
    if _ARABIC.match(word):
        word = arabic_stem(word)
    for start in range(0, len(word), _LONGEST_WORD):
        yield word[start : start + _LONGEST_WORD]


def _pairs(run: str) -> Iterator[str]:
    """Yields pairs of characters as a reader sees them, with the vowels and tones that stand above and below."""
    characters = _CHARACTERS.findall(run)
    yield from map("".join, pairwise(characters))
    yield characters[-1]
