"""Sentences of a text that is still being written.

The spans tile the text: every character is in exactly one sentence, white space goes with the sentence before it.
Where a sentence ends is decided when the first character of the next one is there, so the cuts do not depend on how
the text was cut into deltas.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from citemesh.client.types import Span

LONGEST = 800
"""Characters after which a text without any sentence end is cut at a word or a comma."""

_CLOSERS = "\"'”’)）」』】》\\]*_"
_WIDE = "。！？｡"
_END = rf"[.!?…{_WIDE}]+[{_CLOSERS}]*"
_STREAM = re.compile(rf"{_END}|\n")
_PROSE = re.compile(rf"{_END}|\n(?=[ \t]*(?:\n|[-*+•#|>]|```|\d{{1,3}}[.)]\s))")
_WORD = re.compile(r"[^\s(\[\"'“‘]+$")
_INITIALS = re.compile(r"^(?:[A-Za-z]\.)*[A-Za-z]$")
_CUT = re.compile(r"[\s,;，、；：]")
_TITLES = frozenset(
    re.findall(
        r"\S+", "mr mrs ms dr prof st vs cf e.g i.e approx gen col sgt capt rev hon jr sr dept al resp incl viz ca"
    )
)
_NUMBERED = frozenset(
    re.findall(r"\S+", "no nos p pp fig figs sec sect ch chap eq eqs vol vols art ver v")
    + re.findall(r"\S+", "jan feb mar apr jun jul aug sep sept oct nov dec")
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and where it stands in the text, in code points."""

    span: Span
    text: str


class Splitter:
    """Cuts a growing text into sentences.

    Args:
        line_ends: whether every line end ends a sentence (a model's answer); otherwise only a blank line or the
            start of a list item, heading or table row does (documents with wrapped lines).
        longest: characters after which a text without sentence ends is cut anyway.
    """

    def __init__(self, line_ends: bool = True, longest: int = LONGEST) -> None:
        self._pattern = _STREAM if line_ends else _PROSE
        self._longest = longest
        self._start = 0
        self._scan = 0
        self._text = ""

    def feed(self, text: str) -> list[Sentence]:
        """Takes the next part and returns the sentences that it completed."""
        self._text += text
        return list(self._whole())

    def close(self) -> list[Sentence]:
        """Returns what is left when the text is over."""
        rest = list(self._whole())
        return [*rest, self._take(len(self._text))] if self._text else rest

    def _whole(self) -> Iterator[Sentence]:
        while (end := self._end()) is not None:
            yield self._take(end)

    def _take(self, end: int) -> Sentence:
        text, self._text = self._text[:end], self._text[end:]
        span = Span(self._start, self._start + end)
        self._start, self._scan = span.end, 0
        return Sentence(span, text)

    def _end(self) -> int | None:
        end = self._natural_end()
        if end is not None and end <= self._longest:
            return end
        return self._forced_end() if len(self._text) > self._longest else None

    def _natural_end(self) -> int | None:
        """First sure end; remembers how far the text was looked at."""
        for found in self._pattern.finditer(self._text, self._scan):
            after = _skip_space(self._text, found.end())
            if after == len(self._text):
                self._scan = found.start()
                return None
            if _ends(self._text, found, after):
                return after
        self._scan = len(self._text)
        return None

    def _forced_end(self) -> int:
        cuts = [m.end() for m in _CUT.finditer(self._text, self._longest // 2, self._longest)]
        return cuts[-1] if cuts else self._longest


def split(text: str, line_ends: bool = False) -> list[Sentence]:
    """Cuts a whole text; by default a document's, where lines are wrapped."""
    splitter = Splitter(line_ends)
    return [*splitter.feed(text), *splitter.close()]


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _ends(text: str, found: re.Match[str], after: int) -> bool:
    """Whether the punctuation ends a sentence, given the first character that follows."""
    mark, before, following = found.group(), text[: found.start()], text[after]
    if not before.strip():
        return False
    if mark == "\n" or any(c in _WIDE for c in mark):
        return True
    if after == found.end():
        return mark[0] in "!?…" and is_wide(following)
    if "\n" in text[found.end() : after] and text[found.end() : after].count("\n") > 1:
        return True
    return not following.islower() and not (mark == "." and _abbreviates(before, following))


def _abbreviates(before: str, following: str) -> bool:
    """Whether a full stop after this text belongs to an abbreviation, an initial or a list number."""
    word = match.group() if (match := _WORD.search(before)) else ""
    if word == before.strip() and (word.isdigit() or len(word) == 1):
        return True
    lower = word.lower()
    if lower in _TITLES or (word[:1].isupper() and _INITIALS.match(word) is not None):
        return True
    return lower in _NUMBERED and following.isdigit()


def is_wide(char: str) -> bool:
    """Whether a character is of a script written without spaces (Han, Kana, full-width forms)."""
    return "\u2e80" <= char <= "\u9fff" or "\uf900" <= char <= "\uffef" or "\U00020000" <= char <= "\U0003ffff"
