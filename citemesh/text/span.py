"""A place in a text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text in code points: start inclusive, end exclusive."""

    start: int
    end: int
