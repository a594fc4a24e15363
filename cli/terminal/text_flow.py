"""Text that comes in parts, put on a terminal with its lines broken between words; into a pipe it goes as it is."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from citemesh.text.characters import takes_two_columns

_NEVER_FIRST = frozenset("。，、；：？！）」』】》〉”’％")
"""What stays with what stands before it (the commonest of JIS X 4051's)."""


class TextFlow:
    """Writes text and marks; a word waits for its end, as only then it is known whether it fits the line."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = console.width if console.is_terminal else 0
        self._column = 0
        self._space = ""
        self._word = ""
        self._ready: list[str] = []

    def text(self, text: str) -> None:
        """Writes more text."""
        if not self._width:
            self._ready.append(text)
        else:
            for letter in text:
                self._take(letter)
        self._print()

    def mark(self, mark: str, style: str) -> None:
        """Writes a mark behind the text."""
        self._end_word()
        self._print()
        self._word = mark
        self._end_word()
        self._print(style)

    def end(self) -> None:
        """Writes what waits."""
        self._end_word()
        self._print()

    def _take(self, letter: str) -> None:
        if letter == "\n":
            self._end_word()
            self._ready.append("\n")
            self._column, self._space = 0, ""
        elif letter.isspace():
            self._end_word()
            self._space += letter
        elif letter in _NEVER_FIRST:
            self._word += letter
        elif takes_two_columns(letter):
            # Between such letters a line may end anywhere.
            self._end_word()
            self._word = letter
        else:
            self._word = self._word + letter if not takes_two_columns(self._word[:1]) else self._after(letter)

    def _after(self, letter: str) -> str:
        self._end_word()
        return letter

    def _end_word(self) -> None:
        if not self._word:
            return
        needed = cell_len(self._space) + cell_len(self._word)
        if self._width and self._column and self._column + needed > self._width:
            self._ready.append("\n")
            self._column, self._space, needed = 0, "", cell_len(self._word)
        self._ready.append(self._space + self._word)
        self._column += needed
        if self._width and self._column > self._width:  # a word longer than a line, which the terminal breaks
            self._column %= self._width
        self._space = self._word = ""

    def _print(self, style: str = "") -> None:
        if self._ready:
            self._console.print(Text("".join(self._ready), style=style), end="")
            self._console.file.flush()
            self._ready.clear()
