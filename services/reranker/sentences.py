"""Cuts a text into sentences, as spans in code points; written for scripts with and without spaces."""

import re
from collections.abc import Iterator

LONGEST = 600
"""Most characters of a sentence: text without any sentence end (tables, code, lists of names) is cut there."""

_SHORT = (
    "mr mrs ms dr prof sr jr st vs etc eg ie e.g i.e cf fig figs eq no vol pp al inc ltd co corp dept approx est "
    "gen col sgt capt lt rev hon gov sen rep jan feb mar apr jun jul aug sep sept oct nov dec"
)
_ABBREVIATIONS = frozenset(_SHORT.split())
_CLOSERS = "\"'”’»)\\]}」』）】》〉"
# A line end; a full-width end mark with its closers; or an ASCII one that white space follows.
_END = re.compile(rf"\n+|[。！？｡；…]+[{_CLOSERS}]*|[.!?؟۔।]+[{_CLOSERS}]*(?=\s)")
_SOFT = re.compile(r"[\s,，、;:：]")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences of a text, in order, apart from each other, none empty, without outer white space."""
    return [piece for start, end in _stretches(text) for piece in _pieces(text, *_trim(text, start, end))]


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _END.finditer(text):
        if _ends_sentence(text, start, match):
            yield start, match.end()
            start = match.end()
    yield start, len(text)


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """False for the full stop of an abbreviation, an initial or a list number, or before a small letter."""
    if match.group()[0] != ".":
        return True
    if text[match.end() : match.end() + 2].lstrip()[:1].islower():
        return False
    before = text[max(start, match.start() - 12) : match.start()].split()
    word = before[-1].lstrip("(\"'“‘[") if before else ""
    initial = len(word) == 1 and word.isalpha() and word.isupper()
    numbered = word.isdigit() and not text[start : match.start() - len(word)].strip()
    return not (initial or numbered or word.lower() in _ABBREVIATIONS)


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretch itself, or its parts of at most LONGEST characters, cut at a soft break where there is one."""
    while end - start > LONGEST:
        cut = start + LONGEST
        breaks = [m.end() for m in _SOFT.finditer(text, start + LONGEST // 2, cut)]
        cut = breaks[-1] if breaks else cut
        yield _trim(text, start, cut)
        start, _ = _trim(text, cut, end)
    if start < end:
        yield start, end
