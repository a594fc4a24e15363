"""Pieces of a text, each of at most so many tokens, with exact spans.

Pure functions over the spans of a text's tokens. A piece ends at the best place in the second half of what it may
hold: between paragraphs, lines, sentences or words, else between two tokens; never inside a character, and inside a
combined one (a letter with its marks, a joined emoji) only where it alone is longer than a piece.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from citemesh.text.characters import are_joined
from citemesh.text.sentence_marks import follows_mark

Span = tuple[int, int]

FAR = 64
"""Characters looked at around a place, so that a run of white space costs no more than a word."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text, without white space at its ends: start inclusive, end exclusive, in code points."""

    start: int
    end: int


def split(text: str, spans: Sequence[Span], max_tokens: int, overlap: int) -> list[Piece]:
    """Returns pieces that together hold every character that isn't white space; each starts and ends after the last.

    Args:
        text: what to split.
        spans: (start, end) of the text's tokens, in their order.
        max_tokens: tokens a piece may have, 1 and up; only a single character with more is a longer piece.
        overlap: tokens that a piece shares with the one before at most, 0 to half of max_tokens.
    """
    stretches = _stretches(text, _starts(spans), max_tokens, overlap)
    pieces = (_trimmed(text, start, end) for start, end in stretches)
    return in_order(piece for piece in pieces if piece is not None)


def in_order(pieces: Iterable[Piece]) -> list[Piece]:
    """Returns pieces in the order of the text, without those that lie within another one."""
    outer: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: (piece.start, -piece.end)):
        if not outer or piece.end > outer[-1].end:
            outer.append(piece)
    return outer


def _starts(spans: Sequence[Span]) -> list[int]:
    """Returns where each token starts, never before the one in front of it."""
    starts, latest = [], 0
    for start, _ in spans:
        latest = max(latest, start)
        starts.append(latest)
    return starts


def _stretches(text: str, starts: Sequence[int], max_tokens: int, overlap: int) -> Iterator[Span]:
    first, begin = 0, 0
    while first + max_tokens < len(starts):
        least = first + overlap + max(1, (max_tokens - overlap) // 2)
        last = _end(text, starts, first, least, first + max_tokens)
        if last >= len(starts):
            break
        yield begin, starts[last]
        first = _start(text, starts, first, last, overlap)
        begin = starts[first]
    yield begin, len(text)


def _end(text: str, starts: Sequence[int], first: int, least: int, most: int) -> int:
    """Returns the token before which a piece that starts at token first ends."""
    best, end = 0, 0
    for token in range(most, least - 1, -1):
        quality = _quality(text, starts, token)
        if quality > best:
            best, end = quality, token
        if best == PARAGRAPH:
            break
    return end or _any_end(starts, first, most)


def _any_end(starts: Sequence[int], first: int, most: int) -> int:
    """Returns the last token up to most that starts another character than first does, else the next that does."""
    for token in range(most, first, -1):
        if starts[token] > starts[token - 1]:
            return token
    token = most
    while token < len(starts) and starts[token] <= starts[first]:
        token += 1
    return token


def _start(text: str, starts: Sequence[int], first: int, last: int, overlap: int) -> int:
    """Returns the token that the next piece starts at: overlap tokens before last, or a little nearer for a word."""
    earliest = max(first + 1, last - overlap)
    for quality in (WORD, TOKEN):
        for token in range(earliest, last):
            if _quality(text, starts, token) >= quality and starts[token] > starts[first]:
                return token
    return last


TOKEN, WORD, SENTENCE, LINE, PARAGRAPH = range(1, 6)


def _quality(text: str, starts: Sequence[int], token: int) -> int:
    """Says how good a place before a token is to end a piece; 0 for none."""
    place = starts[token]
    if place == starts[token - 1]:
        return 0
    if text[place - 1].isalnum() and "!" <= text[place] <= "~":
        return TOKEN  # within a word: the usual case, and nothing more to see
    if are_joined(text[place - 1], text[place]):
        return 0
    end, nearest, farthest = place, max(0, place - FAR), min(len(text), place + FAR)
    while end > nearest and text[end - 1].isspace():
        end -= 1
    while place < farthest and text[place].isspace():
        place += 1
    return _between(text, end, place)


def _between(text: str, end: int, place: int) -> int:
    """Ranks the white space text[end:place] and what it follows."""
    lines = text.count("\n", end, place)
    if lines:
        return PARAGRAPH if lines > 1 else LINE
    if follows_mark(text, end) and (end < place or text[end - 1] > "\u2e7f"):
        return SENTENCE
    return WORD if end < place else TOKEN


def _trimmed(text: str, start: int, end: int) -> Piece | None:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return Piece(start, end) if start < end else None
