"""Where a text may be cut: at sentences, at lines, between characters as a reader sees them."""

import re
import unicodedata
from collections.abc import Iterator

Span = tuple[int, int]

_SENTENCE_END = re.compile(r"[。！？；｡]+[”’」』）》\"')\]]*|(?<![.!?…।؟۔])[.!?…।؟۔]++[\"'”’)\]]*+(?=\s)|\n+")
_JOINER = "\u200d"
_LONGEST_CHARACTER = 32
_PREFERRED = 4


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Spans that cover start..end, each a sentence with the space before it, or a line."""
    last = start
    for match in _SENTENCE_END.finditer(text, start, end):
        yield last, match.end()
        last = match.end()
    if last < end:
        yield last, end


def lines(text: str, start: int, end: int) -> Iterator[Span]:
    """Spans that cover start..end, each a line with its line feed."""
    while start < end:
        line_end = text.find("\n", start, end) + 1 or end
        yield start, line_end
        start = line_end


def by_size(text: str, start: int, end: int, most: int) -> Iterator[Span]:
    """Spans that cover start..end, each at most `most` characters long; cut at a space where one is near."""
    while end - start > most:
        cut = whole_character(text, start, _space_before(text, start, start + most))
        yield start, cut
        start = cut
    yield start, end


def whole_character(text: str, start: int, cut: int) -> int:
    """`cut`, moved back so that no character with its accents, and no joined emoji, is torn; always over start."""
    at = cut
    for _ in range(_LONGEST_CHARACTER):
        if at <= start + 1 or at >= len(text) or not _joined(text[at - 1], text[at]):
            break
        at -= 1
    return at if start < at and (at >= len(text) or not _joined(text[at - 1], text[at])) else cut


def _space_before(text: str, start: int, cut: int) -> int:
    """The place after the last space in the last quarter of start..cut; cut itself where there is none."""
    window = text[cut - (cut - start) // _PREFERRED : cut]
    kept = len(window.rstrip()) if window[-1:].isspace() else -1
    if kept >= 0:
        return cut
    words = window.rsplit(None, 1)
    return cut - len(words[-1]) if len(words) > 1 or window[:1].isspace() else cut


def _joined(before: str, after: str) -> bool:
    """Whether two characters make one: a mark, a joiner, a skin tone, a pair of flags or of Hangul parts."""
    if after == _JOINER or before == _JOINER or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return True
    return "\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff"
