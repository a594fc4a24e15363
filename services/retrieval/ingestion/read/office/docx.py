"""DOCX (Office Open XML, ISO/IEC 29500): the main text with headings, lists, tables and footnotes.

Reads the parts of the archive by itself, within the bounds of `archive`. Text that was deleted with changes tracked,
tables of contents, page headers and comments are left out.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping

from lxml import etree

from services.retrieval.ingestion.read.archive import Archive, xml
from services.retrieval.ingestion.read.blocks import BlockWriter
from services.retrieval.ingestion.read.office.docx_styles import Styles
from services.retrieval.ingestion.read.parsed import Block, IngestFault, Kind, Parsed, clean

Element = etree._Element
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MARKUP = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_CORE_NAMES = {
    "title": "{http://purl.org/dc/elements/1.1/}title",
    "author": "{http://purl.org/dc/elements/1.1/}creator",
    "description": "{http://purl.org/dc/elements/1.1/}description",
    "subject": "{http://purl.org/dc/elements/1.1/}subject",
    "language": "{http://purl.org/dc/elements/1.1/}language",
    "keywords": "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}keywords",
    "created": "{http://purl.org/dc/terms/}created",
    "modified": "{http://purl.org/dc/terms/}modified",
}
_MEANT = ("author", "description", "subject", "keywords")
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(wordprocessingml/main|officeDocument/relationships)")
_TRANSITIONAL = {
    b"wordprocessingml/main": b"wordprocessingml/2006/main",
    b"officeDocument/relationships": b"officeDocument/2006/relationships",
}
_LEFT_OUT = frozenset(
    (f"{W}del", f"{W}moveFrom", f"{_MARKUP}Fallback", f"{W}pPr", f"{W}rPr", f"{W}sectPr", f"{W}tblPr", f"{W}trPr",
     f"{W}tcPr", f"{W}instrText", f"{W}delText", f"{W}comment")
)  # fmt: skip
_WRITTEN = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "\u2011", f"{W}softHyphen": ""}
_NOTES = {f"{W}footnoteReference": "footnotes", f"{W}endnoteReference": "endnotes"}


def parse(data: bytes) -> Parsed:
    """Reads a DOCX document. Raises IngestFault BROKEN, ENCRYPTED, TOO_LARGE."""
    archive = Archive(data)
    main = _main_part(archive)
    related = _related(archive, main)
    styles = Styles(_part(archive, related.get("styles", "")))
    notes = {kind: _notes(archive, related.get(kind, "")) for kind in _NOTES.values()}
    body = _xml(archive, main).find(f"{W}body")
    if body is None:
        raise IngestFault("BROKEN", f"its part {main!r} has no body", "export it again")
    properties = _core(archive)
    writer = _Writer(styles, notes)
    text, blocks = writer.finish(body)
    return Parsed(
        text=text,
        blocks=blocks,
        title=properties.get("title") or writer.title,
        language=properties.get("language", "")[:2].lower(),
        published=properties.get("created") or properties.get("modified", ""),
        metadata={name: properties[name] for name in _MEANT if name in properties},
    )


class _Writer:
    """Walks the body and writes its blocks; notes follow the paragraph that names them.

    Paragraphs of code that follow one another are one block, and so are the items of a list.
    """

    def __init__(self, styles: Styles, notes: Mapping[str, Mapping[str, Element]]) -> None:
        self.title = ""
        self._out = BlockWriter()
        self._styles = styles
        self._notes = notes
        self._numbered = 0
        self._named: list[tuple[int, Element]] = []
        self._open: list[str] = []
        self._kind: Kind = "paragraph"

    def finish(self, body: Element) -> tuple[str, tuple[Block, ...]]:
        """The text of the body, and its blocks."""
        self._walk(body)
        self._close()
        return self._out.text, tuple(self._out.blocks)

    def _walk(self, parent: Element) -> None:
        for child in parent:
            if child.tag == f"{W}p":
                self._paragraph(child)
            elif child.tag == f"{W}tbl":
                self._close()
                self._out.add("\n".join(self._rows(child)), "table")
                self._write_notes()
            elif child.tag not in _LEFT_OUT:
                self._walk(child)

    def _paragraph(self, paragraph: Element) -> None:
        style = self._styles.of(paragraph)
        text = self._text(paragraph)
        if style.contents:
            return
        if style.title and not self.title:
            self.title = " ".join(text.split())
        if style.code:
            self._add_line(text, "code")
        elif style.bullet and text.strip():
            self._add_line(style.bullet + " ".join(text.split()), "paragraph")
        else:
            self._close()
            self._write(text, style.level)
        if self._named:
            self._close()
            self._write_notes()

    def _write(self, text: str, level: int) -> None:
        if level:
            self._out.add(" ".join(text.split()), "heading", level)
        else:
            self._out.add(_tidy(text))

    def _add_line(self, line: str, kind: Kind) -> None:
        if kind != self._kind:
            self._close()
        self._kind = kind
        self._open.append(line)

    def _close(self) -> None:
        """Ends a block of several paragraphs."""
        self._out.add("\n".join(self._open), self._kind)
        self._open.clear()

    def _rows(self, table: Element) -> Iterator[str]:
        """A line a row, its cells apart by " | "."""
        for row in table.iterchildren(f"{W}tr", f"{W}sdt", f"{W}ins"):
            for line in row if row.tag != f"{W}tr" else (row,):
                cells = [" ".join(self._text(cell).split()) for cell in line.iter(f"{W}tc") if _nearest(cell, line)]
                if any(cells):
                    yield " | ".join(cells)

    def _text(self, element: Element) -> str:
        """Words of a paragraph, with the numbers of its notes; what is left out is skipped whole."""
        parts: list[str] = []
        walker = etree.iterwalk(element, events=("start",))
        for _, child in walker:
            if child.tag in _LEFT_OUT:
                walker.skip_subtree()
            elif child.tag == f"{W}p" and child is not element:
                parts.append("\n")
            elif child.tag == f"{W}t":
                parts.append(child.text or "")
            elif child.tag in _WRITTEN:
                parts.append(_WRITTEN[child.tag])
            elif child.tag in _NOTES:
                parts.append(self._note(child))
        return "".join(parts)

    def _note(self, reference: Element) -> str:
        """The mark of a note; its words come later."""
        note = self._notes[_NOTES[reference.tag]].get(reference.get(f"{W}id", ""))
        if note is None:
            return ""
        self._numbered += 1
        self._named.append((self._numbered, note))
        return f"[{self._numbered}]"

    def _write_notes(self) -> None:
        pending, self._named = self._named, []
        for number, note in pending:
            self._out.add(f"[{number}] {' '.join(self._text(note).split())}")


def _nearest(cell: Element, row: Element) -> bool:
    """Whether a cell is the row's own, and not of a table within it."""
    return next(cell.iterancestors(f"{W}tr"), None) is row


def _tidy(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


def _main_part(archive: Archive) -> str:
    name = _related(archive, "").get("officeDocument", "word/document.xml")
    if name not in archive:
        raise IngestFault("BROKEN", "it has no main text", "export it again")
    return name


def _related(archive: Archive, part: str) -> dict[str, str]:
    """Parts that a part names, by the last word of what they are to it."""
    folder, name = posixpath.split(part)
    relations = posixpath.join(folder, "_rels", f"{name}.rels")
    if relations not in archive:
        return {}
    targets: dict[str, str] = {}
    for relation in archive.xml(relations):
        if isinstance(relation.tag, str) and relation.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join(folder, relation.get("Target", "")))
            targets.setdefault(relation.get("Type", "").rsplit("/", 1)[-1], target.lstrip("/"))
    return targets


def _xml(archive: Archive, name: str) -> Element:
    """A part's XML, in the names of the transitional form where it is written in those of the strict one."""
    return xml(_STRICT.sub(_transitional, archive.read(name)), name)


def _transitional(match: re.Match[bytes]) -> bytes:
    return b"http://schemas.openxmlformats.org/" + _TRANSITIONAL[match[1]]


def _part(archive: Archive, name: str) -> Element | None:
    return _xml(archive, name) if name in archive else None


def _notes(archive: Archive, name: str) -> dict[str, Element]:
    root = _part(archive, name)
    if root is None:
        return {}
    return {note.get(f"{W}id", ""): note for note in root if isinstance(note.tag, str) and not note.get(f"{W}type")}


def _core(archive: Archive) -> dict[str, str]:
    """What the document says of itself; nothing where that part can't be read, as the text is worth having."""
    try:
        root = _part(archive, _related(archive, "").get("core-properties", "docProps/core.xml"))
    except IngestFault:
        return {}
    if root is None:
        return {}
    texts = {name: clean(" ".join((root.findtext(tag) or "").split())) for name, tag in _CORE_NAMES.items()}
    return {name: text for name, text in texts.items() if text}
