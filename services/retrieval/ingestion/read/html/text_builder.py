"""Builds plain text and its blocks from the tags of a page, as they open and close."""

import re

from services.retrieval.ingestion.read.parsed import Block, Kind

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)
_SPACES = re.compile(r"[^\S\xa0]+")


class TextBuilder:
    """Takes tags in document order; `finish` gives the text and its blocks.

    Blocks are set apart by an empty line. A table is one block with a line a row, its cells apart by " | ".
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._open: list[str] = []
        self._kind: Kind = "paragraph"
        self._level = 0
        self._heading = 0
        self._preformatted = 0
        self._tables = 0

    def enter(self, tag: str, text: str) -> None:
        """A tag opens, and text follows it."""
        self._before(tag)
        self._preformatted += tag == "pre"
        self._tables += tag == "table"
        self._heading = _HEADINGS.get(tag, self._heading)
        self._set_kind()
        if tag == "li" and not self._tables:
            self._open.append("- ")
        self._write(text)

    def leave(self, tag: str, tail: str) -> None:
        """A tag closes, and text follows it."""
        if tag in _HEADINGS or (tag in _BLOCKS and not self._within_table(tag)):
            self._close()
        elif tag == "br":
            self._open.append("\n")
        self._preformatted -= tag == "pre"
        self._tables -= tag == "table"
        self._heading = 0 if tag in _HEADINGS else self._heading
        self._set_kind()
        self._write(tail)

    def finish(self) -> tuple[str, tuple[Block, ...]]:
        """The text and its blocks."""
        self._close()
        return "".join(self._parts), tuple(self._blocks)

    def _before(self, tag: str) -> None:
        if self._tables and tag == "tr":
            self._open.append("\n")
        elif self._tables and tag in ("td", "th"):
            self._open.append(" | ")
        elif tag in _HEADINGS or (tag in _BLOCKS and not self._within_table(tag)):
            self._close()

    def _within_table(self, tag: str) -> bool:
        return self._tables > 0 and not (tag == "table" and self._tables == 1)

    def _set_kind(self) -> None:
        self._level = 0
        if self._tables:
            self._kind = "table"
        elif self._preformatted:
            self._kind = "code"
        elif self._heading:
            self._kind, self._level = "heading", self._heading
        else:
            self._kind = "paragraph"

    def _write(self, text: str) -> None:
        if text:
            self._open.append(text if self._preformatted and not self._tables else _SPACES.sub(" ", text))

    def _close(self) -> None:
        """Ends a block, and adds it where it holds anything."""
        text = "".join(self._open)
        self._open.clear()
        text = text.strip("\n") if self._kind == "code" else _tidy(text)
        if text.strip(" -|\n"):
            self._add(text)

    def _add(self, text: str) -> None:
        if self._parts:
            self._parts.append("\n\n")
            self._length += 2
        self._blocks.append(Block(self._length, self._length + len(text), self._kind, self._level))
        self._parts.append(text)
        self._length += len(text)


def _tidy(text: str) -> str:
    lines = (_SPACES.sub(" ", line).strip().removeprefix("| ") for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
