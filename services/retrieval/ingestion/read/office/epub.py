"""EPUB (2 and 3): the chapters in the order of the spine, and what the package says of the book."""

import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote

from lxml import etree

from services.retrieval.ingestion.read.archive import Archive
from services.retrieval.ingestion.read.blocks import BlockWriter
from services.retrieval.ingestion.read.encoding import decode, html_charset
from services.retrieval.ingestion.read.html import page
from services.retrieval.ingestion.read.office.epub_contents import labels
from services.retrieval.ingestion.read.parsed import IngestFault, Parsed, clean

Element = etree._Element
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_CHAPTERS = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_MOST_CHAPTERS = 10_000
_EMPTY_TAG = re.compile(r"<(?!(?:br|hr|img|meta|link|input|col|area|base|wbr|source)\b)([A-Za-z][\w:-]*)([^<>]*)/>")


def parse(data: bytes) -> Parsed:
    """Reads a book. Raises IngestFault BROKEN, ENCRYPTED, TOO_LARGE, NO_TEXT."""
    archive = Archive(data)
    package_name = _package_name(archive)
    package = archive.xml(package_name)
    names = _chapters(package, package_name)
    _not_encrypted(archive, names)
    writer = BlockWriter()
    titles = labels(archive, package, posixpath.dirname(package_name))
    for name in names:
        _chapter(archive, name, titles.get(name, ""), writer)
    return Parsed(
        text=writer.text,
        blocks=tuple(writer.blocks),
        title=_said(package, "title"),
        language=_said(package, "language")[:2].lower(),
        published=_published(package),
        metadata={name: words for name, words in _metadata(package) if words},
    )


def _package_name(archive: Archive) -> str:
    for entry in archive.xml(_CONTAINER).iter("{*}rootfile"):
        if name := entry.get("full-path"):
            return name
    raise IngestFault("BROKEN", "its container names no package", "export it again")


def _chapters(package: Element, package_name: str) -> list[str]:
    """Parts that the spine names, in its order, each once."""
    folder = posixpath.dirname(package_name)
    items = {element.get("id"): element for element in package.iter(f"{_OPF}item") if _is_chapter(element)}
    references = [element.get("idref") for element in package.iter(f"{_OPF}itemref")]
    if len(references) > _MOST_CHAPTERS:
        raise IngestFault("TOO_LARGE", f"it has {len(references)} chapters, over {_MOST_CHAPTERS}", "split it")
    parts = (_part_name(folder, items[name].get("href", "")) for name in references if name in items)
    chapters = list(dict.fromkeys(parts))
    if not chapters:
        raise IngestFault("BROKEN", "its spine names no chapter", "export it again")
    return chapters


def _is_chapter(item: Element) -> bool:
    return item.get("media-type") in _CHAPTERS and "nav" not in item.get("properties", "").split()


def _part_name(folder: str, address: str) -> str:
    """The part that an address within the archive stands for."""
    return posixpath.normpath(posixpath.join(folder, unquote(address.split("#")[0])))


def _not_encrypted(archive: Archive, names: list[str]) -> None:
    """Fonts may be obfuscated; chapters that are encrypted are no one's to read."""
    if _ENCRYPTION not in archive:
        return
    hidden = {unquote(element.get("URI", "")) for element in archive.xml(_ENCRYPTION).iter("{*}CipherReference")}
    if hidden & set(names):
        raise IngestFault("ENCRYPTED", "its chapters are encrypted (DRM)", "send a copy without DRM")


def _chapter(archive: Archive, name: str, label: str, writer: BlockWriter) -> None:
    """Adds a chapter; its label in the table of contents is its heading where it has none. One that is missing or
    can't be read is left out, as the others are worth having."""
    try:
        data = archive.read(name)
        text = decode(data, html_charset(data))
    except IngestFault as fault:
        if fault.reason == "TOO_LARGE":
            raise
        return
    chapter = page.parse_all(_EMPTY_TAG.sub(r"<\1\2></\1>", text))
    if label and chapter.blocks and not any(block.kind == "heading" for block in chapter.blocks):
        writer.add(label, "heading", 1)
    for block in chapter.blocks:
        writer.add(chapter.text[block.start : block.end], block.kind, block.level)


def _said(package: Element, name: str) -> str:
    return next((words for element in package.iter(f"{_DC}{name}") if (words := _words(element))), "")


def _words(element: Element) -> str:
    return clean(" ".join("".join(map(str, element.itertext())).split()))


def _published(package: Element) -> str:
    """The publication date; EPUB 2 marks several by their event."""
    dates = {element.get(f"{_OPF}event", "publication"): element.text or "" for element in package.iter(f"{_DC}date")}
    return dates.get("publication") or next(iter(dates.values()), "")


def _metadata(package: Element) -> Iterator[tuple[str, str]]:
    yield "author", ", ".join(_words(element) for element in package.iter(f"{_DC}creator"))
    yield "publisher", _said(package, "publisher")
    yield "description", _said(package, "description")
    yield "subject", ", ".join(_words(element) for element in package.iter(f"{_DC}subject"))
    yield "identifier", _said(package, "identifier")
