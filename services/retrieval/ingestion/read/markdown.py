"""Markdown: kept as it is written, so that a span is what its author wrote; only front matter is taken off."""

import re
from collections.abc import Iterator, Mapping

from services.retrieval.ingestion.read import front_matter
from services.retrieval.ingestion.read.parsed import Block, Kind, Parsed

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_TABLE_RULE = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_TITLE_KEYS = ("title",)
_DATE_KEYS = ("date", "published", "published_at")
_LANGUAGE_KEYS = ("lang", "language")


def parse(text: str) -> Parsed:
    """Parses Markdown (CommonMark with tables and front matter)."""
    entries, start = front_matter.read(text)
    body = text[start:]
    blocks = tuple(_Blocks(body).read())
    return Parsed(
        text=body,
        blocks=blocks,
        title=_first(entries, _TITLE_KEYS) or _heading(body, blocks),
        language=_first(entries, _LANGUAGE_KEYS)[:2].lower(),
        published=_first(entries, _DATE_KEYS),
        metadata=dict(entries),
    )


def heading_text(line: str) -> str:
    """The words of a heading's lines."""
    return _ATX.sub("", line.split("\n")[0], count=1).strip().rstrip("#").strip()


class _Blocks:
    """Reads blocks line by line; each line is looked at once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = _line_starts(text)
        self._at = 0

    def read(self) -> Iterator[Block]:
        while self._at < len(self._starts) - 1:
            line = self._line(self._at)
            if not line.strip():
                self._at += 1
            elif fence := _FENCE.match(line):
                yield self._fenced(fence[1])
            elif line.lstrip().startswith("<!--"):
                yield self._comment()
            elif atx := _ATX.match(line):
                yield self._take(1, "heading", len(atx[1]))
            else:
                yield from self._paragraph()

    def _line(self, number: int) -> str:
        return self._text[self._starts[number] : self._starts[number + 1]].rstrip("\n")

    def _take(self, lines: int, kind: Kind = "paragraph", level: int = 0) -> Block:
        start = self._starts[self._at]
        self._at = min(self._at + lines, len(self._starts) - 1)
        end = self._starts[self._at]
        return Block(start, start + len(self._text[start:end].rstrip()), kind, level)

    def _fenced(self, fence: str) -> Block:
        closing = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
        last = self._at + 1
        while last < len(self._starts) - 1 and not closing.match(self._line(last)):
            last += 1
        return self._take(last + 1 - self._at, "code")

    def _comment(self) -> Block:
        end = self._text.find("-->", self._starts[self._at])
        last = self._at
        while last < len(self._starts) - 2 and self._starts[last + 1] <= end:
            last += 1
        return self._take(last + 1 - self._at, "comment" if end >= 0 else "paragraph")

    def _paragraph(self) -> Iterator[Block]:
        last = self._at + 1
        while last < len(self._starts) - 1 and self._goes_on(self._line(last)):
            if setext := _SETEXT.match(self._line(last)):
                yield self._take(last + 1 - self._at, "heading", 1 if setext[1][0] == "=" else 2)
                return
            last += 1
        rule = self._at + 1 < last and _TABLE_RULE.match(self._line(self._at + 1))
        table = bool(rule) and "|" in self._line(self._at)
        yield self._take(last - self._at, "table" if table else "paragraph")

    def _goes_on(self, line: str) -> bool:
        return bool(line.strip()) and not _FENCE.match(line) and not _ATX.match(line)


def _line_starts(text: str) -> list[int]:
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return starts if starts[-1] == len(text) and len(starts) > 1 else [*starts, len(text)]


def _heading(text: str, blocks: tuple[Block, ...]) -> str:
    first = next((block for block in blocks if block.kind == "heading"), None)
    return heading_text(text[first.start : first.end]) if first else ""


def _first(entries: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((entries[key] for key in keys if entries.get(key)), "")
