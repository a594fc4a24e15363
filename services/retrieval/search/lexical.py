"""Words for the lexical index: what a text is looked up by, the same for passages and for queries.

Scripts that write no spaces (Chinese, Japanese, Thai, ...) and Korean, whose words carry endings, are cut into
overlapping pairs of characters, which needs no dictionary and finds every word of two characters or more. The last
character of a run stands alone as well, so that a prefix search finds single characters anywhere. All else is words,
those of Arabic script without what is written together with them. Endings of English are left to the index.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice, pairwise

from services.retrieval.search import lexical_arabic

VERSION = 3
"""Changes whenever the same text would give other words, or words of another weight: the index is then built anew."""

TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* M* Co'"
"""How FTS5 reads `indexed` texts: at spaces only, as vowels of Thai or Hindi are marks (M); English without endings."""

MAX_QUERY_WORDS = 128
_LONGEST_WORD = 64
_ARTICLES_AND_THE_LIKE = "a an the of in on at to for from by with and or is are was were be been it its that this as"
_COMMON = frozenset(_ARTICLES_AND_THE_LIKE.split())
"""English words that nearly every passage holds: they halve the speed of a search and tell nothing apart.

Question words are not among them; leaving them out as well was worse (docs/quality.md).
"""
_TELLING = 2
"""Other words from which a query isn't asked by its common ones."""
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3005-\u3007\u3041-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"  # rare Han characters
)
# Signs that stand inside of words and are no letters: accents, Hebrew and Arabic points, vowels of India and Tibet.
_SIGNS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f"
    "\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff\u0f71-\u0fbc"
)
_RUNS = re.compile(f"([{UNSPACED}]+)|((?:[^\\W_{UNSPACED}])(?:[^\\W_{UNSPACED}]|[{_SIGNS}])*)")
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]"
)
"""Points of Hebrew and Arabic, which most writers leave out."""
_CHARACTERS = re.compile(
    ".[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b6-\u17d3\u3099\u309a]*"
)
_ARABIC = re.compile("[\u0620-\u064a\u066e-\u06d3]")


def words(text: str) -> Iterator[str]:
    """The words of a text in their order, in lower case; pairs of characters for scripts without spaces."""
    for unspaced, word in _runs(text):
        yield from _pairs(unspaced) if unspaced else _pieces(word)


def indexed(text: str) -> str:
    """A text as the index keeps it: its words with spaces between."""
    return " ".join(words(text))


def match_expression(query: str) -> str:
    """An FTS5 expression that finds any of a query's words; empty where it has none."""
    return " OR ".join(terms(query))


def terms(query: str) -> list[str]:
    """An FTS5 expression for each word of a query.

    Words are quoted, so nothing in a query is syntax. A single character of an unspaced script is a prefix search.
    """
    return [f'"{word}"*' if _is_single(word) else f'"{word}"' for word in query_words(query)]


def query_words(query: str) -> tuple[str, ...]:
    """The different words of a query, at most MAX_QUERY_WORDS, common ones only where there are hardly others.

    A run's last character counts only if it is all of the run.
    """
    found = dict.fromkeys(islice(_asked(query), 8 * MAX_QUERY_WORDS))
    telling = [word for word in found if word not in _COMMON]
    return tuple(telling if len(telling) >= _TELLING else found)[:MAX_QUERY_WORDS]


def _asked(query: str) -> Iterator[str]:
    for unspaced, word in _runs(query):
        pieces = list(_pairs(unspaced) if unspaced else _pieces(word))
        yield from pieces[:-1] if unspaced and len(pieces) > 1 else pieces


def _runs(text: str) -> list[tuple[str, str]]:
    """Runs of a script without spaces, and words: one of each two is empty."""
    return _RUNS.findall(_POINTS.sub("", unicodedata.normalize("NFKC", text).casefold()))


def _pieces(word: str) -> Iterator[str]:
    if _ARABIC.match(word):
        word = lexical_arabic.stem(word)
    for start in range(0, len(word), _LONGEST_WORD):
        yield word[start : start + _LONGEST_WORD]


def _pairs(run: str) -> Iterator[str]:
    """Pairs of characters as a reader sees them, with the vowels and tones that stand above and below."""
    seen = _CHARACTERS.findall(run)
    yield from map("".join, pairwise(seen))
    yield seen[-1]


def _is_single(word: str) -> bool:
    return _CHARACTERS.fullmatch(word) is not None and re.match(f"[{UNSPACED}]", word) is not None
