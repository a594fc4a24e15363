"""Places where a long text can be cut so that the parts give the same tokens as the whole.

A tokenizer looks at a text in words, so a place between two words is a place to cut. Which places those are depends on
the tokenizer; so the text around a likely place is encoded whole and in two, and the place is taken only when both
give the same ids.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

AROUND = 64
"""Characters looked at on each side of a place. Longer than the words that tokenizers look at together."""
TRIES = 64
"""Likely places tried backwards, then onwards, before the longest part is taken."""
LONGEST = 1 << 20
"""Longest part in code points: a longer run without a place to cut is cut all the same."""

PLACES = re.compile(r"(?<=\S)(?=\s)|(?<=[^\w\s])(?=\w)|(?<=\n)(?=\S)")

Encode = Callable[[Sequence[str]], Sequence[Sequence[int]]]


class TokenCutter:
    """Finds places to cut with a tokenizer's own answer."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode

    def cut(self, text: str, start: int, size: int) -> int:
        """Returns the last good place after start and at most size on, else the next one, else the text's end."""
        if len(text) - start <= size:
            return len(text)
        for place in _backwards(text, start, start + size):
            if self.keeps_tokens(text, place):
                return place
        return self._onwards(text, start + size, min(len(text), start + LONGEST))

    def keeps_tokens(self, text: str, place: int) -> bool:
        """Says whether the text around a place gives the same ids whole and in two."""
        left, right = text[max(0, place - AROUND) : place], text[place : place + AROUND]
        uncut, first, second = self._encode([left + right, left, right])
        return list(uncut) == [*first, *second]

    def _onwards(self, text: str, start: int, end: int) -> int:
        for place in map(re.Match.start, islice(PLACES.finditer(text, start, end), TRIES)):
            if self.keeps_tokens(text, place):
                return place
        return end


def _backwards(text: str, start: int, end: int) -> Iterator[int]:
    """Yields likely places from the end of a stretch towards its start; the last 4096 characters hold enough."""
    nearest = max(start + 1, end - 4096)
    places = [match.start() for match in PLACES.finditer(text, nearest, end)]
    yield from [place for place in reversed(places) if start < place][:TRIES]
