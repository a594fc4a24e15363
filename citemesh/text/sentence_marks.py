"""Marks that end sentences, for those who need a likely place to cut and not the sentences themselves."""

import re
from collections.abc import Iterator

_ENDS = frozenset(".!?…;:。！？；：．｡")
_CLOSERS = frozenset("\"')]}»”’）】》」』")
_FAR = 64
"""Characters looked at before a place, so that a run of closing marks costs no more than a word."""
_CHUNKED = re.compile(r"[。！？；｡]+[”’」』）》\"')\]]*|(?<![.!?…।؟۔])[.!?…।؟۔]++[\"'”’)\]]*+(?=\s)|\n+")


def follows_mark(text: str, place: int) -> bool:
    """Says whether the text before a place ends a sentence or a clause, closing marks aside; ignores abbreviations."""
    nearest = max(1, place - _FAR)
    while place > nearest and text[place - 1] in _CLOSERS:
        place -= 1
    return place > 0 and text[place - 1] in _ENDS


def rough_sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields spans that cover start..end, each a sentence with the white space before it, or a line.

    Ignores abbreviations: chunks are packed of many of these. Other cuts would give every document other chunks.
    """
    last = start
    for match in _CHUNKED.finditer(text, start, end):
        yield last, match.end()
        last = match.end()
    if last < end:
        yield last, end
