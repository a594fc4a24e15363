"""A book's table of contents: which chapter is called what."""

import posixpath
from urllib.parse import unquote

from lxml import etree

from services.retrieval.ingestion.read.archive import Archive
from services.retrieval.ingestion.read.parsed import IngestFault

Element = etree._Element
_OPF = "{http://www.idpf.org/2007/opf}"
_NCX_TYPE = "application/x-dtbncx+xml"
_LONGEST = 300


def labels(archive: Archive, package: Element, folder: str) -> dict[str, str]:
    """Titles by part; none where the table of contents is missing or can't be read."""
    items = list(package.iter(f"{_OPF}item"))
    nav = next((candidate for candidate in items if "nav" in candidate.get("properties", "").split()), None)
    ncx = next((candidate for candidate in items if candidate.get("media-type") == _NCX_TYPE), None)
    by_path: dict[str, str] = {}
    for item in (nav, ncx):
        if item is not None:
            name = posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
            for part, label in _entries(archive, name):
                by_path.setdefault(part, label)
    return by_path


def _entries(archive: Archive, name: str) -> list[tuple[str, str]]:
    try:
        root = archive.xml(name)
    except IngestFault:
        return []
    folder = posixpath.dirname(name)
    links = [(element.get("href", ""), element) for element in root.iter("{http://www.w3.org/1999/xhtml}a")]
    for point in root.iter("{*}navPoint"):
        content, label = point.find("{*}content"), point.find("{*}navLabel")
        if content is not None and label is not None:
            links.append((content.get("src", ""), label))
    return [(_part(folder, address), _words(element)) for address, element in links if address and _words(element)]


def _part(folder: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(address.split("#")[0])))


def _words(element: Element) -> str:
    return " ".join("".join(map(str, element.itertext())).split())[:_LONGEST]
