"""The lexical index: how it reads texts and queries, which are matched by the same words.

The words themselves are those of citemesh.text.index_words.
"""

from itertools import islice

from citemesh.text.index_words import asked_words, index_words, is_single_character
from citemesh.text.stop_words import ENGLISH_COMMONEST

VERSION = 3
"""Changes whenever the same text would give other words, or words of another weight: the index is then built anew."""

TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* M* Co'"
"""How FTS5 reads `indexed` texts: at spaces only, as vowels of Thai or Hindi are marks (M); English without endings."""

MAX_QUERY_WORDS = 128
_TELLING = 2
"""Less common words from which a query is matched without its common ones."""


def indexed(text: str) -> str:
    """A text as the index stores it: its words with spaces between."""
    return " ".join(index_words(text))


def match_expression(query: str) -> str:
    """An FTS5 expression that finds any of a query's words; empty where it has none."""
    return " OR ".join(terms(query))


def terms(query: str) -> list[str]:
    """An FTS5 expression for each word of a query.

    Words are quoted, so nothing in a query is syntax. A single character of an unspaced script is a prefix search.
    """
    return [f'"{word}"*' if is_single_character(word) else f'"{word}"' for word in query_words(query)]


def query_words(query: str) -> tuple[str, ...]:
    """The different words of a query, at most MAX_QUERY_WORDS, common ones only where there are hardly others.

    A run's last character counts only if it is all of the run.
    """
    words = dict.fromkeys(islice(asked_words(query), 8 * MAX_QUERY_WORDS))
    telling = [word for word in words if word not in ENGLISH_COMMONEST]
    return tuple(telling if len(telling) >= _TELLING else words)[:MAX_QUERY_WORDS]
