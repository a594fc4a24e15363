"""What every command does to a terminal: consoles, and text that can't steer it."""

from __future__ import annotations

import sys
import unicodedata

from rich.console import Console

_LAYOUT_CONTROLS = "\n\t"
_PIPE_WIDTH = 1000
"""Into a pipe nothing is folded, so that a table's line stays a line."""


def printable(text: str) -> str:
    """The text without control characters: what documents and models say may hold escape sequences.

    Bidirectional overrides go too, as they would reorder what stands around them on the line.
    """
    return "".join(letter for letter in text if letter in _LAYOUT_CONTROLS or not _steers(letter))


def _steers(letter: str) -> bool:
    return (
        unicodedata.category(letter) in ("Cc", "Cs")
        or letter in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )


def console(stderr: bool = False) -> Console:
    """Standard output (or error): colours on a terminal, plain text into a pipe, never re-wrapped or highlighted."""
    file = sys.stderr if stderr else sys.stdout
    width = None if file.isatty() else _PIPE_WIDTH
    return Console(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)


def count(number: int, noun: str) -> str:
    """So many of something."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
