"""What a parser makes of a document: its text, the blocks that it is made of, and what it says of itself."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["heading", "paragraph", "code", "table", "comment"]

_WORD = re.compile(r"\S")
_GAP = re.compile(r"\n[^\S\n]*\n\s*")
_UNTELLABLE = re.compile("[\x00\ud800-\udfff]")


class IngestFault(Exception):
    """A document can't be taken in. reason is one of the constants of IngestError in the protos."""

    def __init__(self, reason: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the text that belongs together. level is a heading's, 1 to 6. Comments are no one's to search."""

    start: int
    end: int
    kind: Kind = "paragraph"
    level: int = 0


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document's text and structure.

    Attributes:
        blocks: in order, without overlap, none across a page's end.
        title, language, published: empty where the document doesn't say; published as ISO 8601 gives it.
        pages: offset in text where each page starts; empty for a format without pages.
        metadata: what the document says of itself.
        uri: the address that it says it has; empty where it doesn't.
    """

    text: str
    blocks: tuple[Block, ...]
    title: str = ""
    language: str = ""
    published: str = ""
    pages: tuple[int, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    uri: str = ""


def paragraphs(text: str, start: int = 0, end: int | None = None) -> Iterator[Block]:
    """Stretches between empty lines."""
    end = len(text) if end is None else end
    first = _WORD.search(text, start, end)
    at = first.start() if first else end
    for gap in _GAP.finditer(text, at, end):
        yield Block(at, gap.start())
        at = gap.end()
    if at < end:
        yield Block(at, at + len(text[at:end].rstrip()))


def clean(text: str) -> str:
    """Text as it is stored: lines end with a line feed alone; what UTF-8 or SQL can't say is U+FFFD."""
    return _UNTELLABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
