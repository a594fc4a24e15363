"""Words for the lexical index: what a text is looked up by, the same for passages and for queries.

Scripts that write no spaces (Chinese, Japanese, Thai, ...) and Korean, whose words carry endings, are cut into
overlapping pairs of characters, which needs no dictionary and finds every word of two characters or more. The last
character of a run stands alone as well, so that a prefix search finds single characters anywhere. All else is words.
"""

import re
import unicodedata
from collections.abc import Iterator

VERSION = 1
"""Changes whenever the same text would give other words: the index is then built anew."""

MAX_QUERY_WORDS = 128
_LONGEST_WORD = 64
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3041-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"  # rare Han characters
)
_RUNS = re.compile(f"([{UNSPACED}]+)|([^\\W_{UNSPACED}]+)")


def words(text: str) -> Iterator[str]:
    """The words of a text in their order, in lower case; pairs of characters for scripts without spaces."""
    for unspaced, word in _RUNS.findall(unicodedata.normalize("NFKC", text).casefold()):
        if unspaced:
            yield from _pairs(unspaced)
        else:
            for start in range(0, len(word), _LONGEST_WORD):
                yield word[start : start + _LONGEST_WORD]


def indexed(text: str) -> str:
    """A text as the index keeps it: its words with spaces between."""
    return " ".join(words(text))


def match_expression(query: str) -> str:
    """An FTS5 expression that finds any of a query's words; empty where it has none.

    Words are quoted, so nothing in a query is syntax. A single character of an unspaced script is a prefix search.
    """
    quoted = (f'"{word}"*' if _is_single(word) else f'"{word}"' for word in query_words(query))
    return " OR ".join(quoted)


def query_words(query: str) -> tuple[str, ...]:
    """The different words of a query, at most MAX_QUERY_WORDS; a run's last character counts only if it is all."""
    found: dict[str, None] = {}
    for unspaced, word in _RUNS.findall(unicodedata.normalize("NFKC", query).casefold()):
        pieces = list(_pairs(unspaced)) if unspaced else list(words(word))
        for piece in pieces[:-1] if unspaced and len(pieces) > 1 else pieces:
            found.setdefault(piece)
            if len(found) == MAX_QUERY_WORDS:
                return tuple(found)
    return tuple(found)


def _pairs(run: str) -> Iterator[str]:
    for at in range(len(run) - 1):
        yield run[at : at + 2]
    yield run[-1]


def _is_single(word: str) -> bool:
    return len(word) == 1 and re.match(f"[{UNSPACED}]", word) is not None
