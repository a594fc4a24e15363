"""What type a document is: by its bytes first, then by what was declared, then by its file name."""

import re
from dataclasses import dataclass
from email.message import Message
from pathlib import PurePosixPath
from typing import Literal

from services.retrieval.ingest.parsed import IngestFault

SourceType = Literal["markdown", "text", "html", "pdf"]

MEDIA_TYPES: dict[str, SourceType] = {
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/plain": "text",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/pdf": "pdf",
}
_UNDECLARED = {"", "application/octet-stream", "binary/octet-stream"}
_EXTENSIONS: dict[str, SourceType] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
}
_FOREIGN = (
    (b"PK\x03\x04", "a ZIP archive (DOCX, EPUB and the like)"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\x00", "a program"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"SQLite format 3\x00", "a database"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
)
_PDF_WITHIN = 1024
_HTML = re.compile(
    rb"\s*+(?>(?:<!--.{0,4000}?-->|<\?xml[^>]{0,200}>)\s*+)*+<(?:!doctype\s+html|html[\s>])", re.I | re.S
)
_MARKDOWN = re.compile(r"\A---[ \t]*\n|^ {0,3}#{1,6} \S|^ {0,3}```|^ {0,3}(?:[-*+]|\d+\.) .*\[[^\]\n]+\]\(", re.M)
_UTF16_32 = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_SNIFFED = 8192
_FEW = 8
_READS = "CiteMesh reads Markdown, plain text, HTML and PDF"


@dataclass(frozen=True, slots=True)
class Detected:
    """A document's type, and the charset that was declared for it; empty where none was."""

    source_type: SourceType
    charset: str = ""


def detect(data: bytes, media_type: str = "", name: str = "") -> Detected:
    """Finds out the type. `name` is a file name, path or URL.

    Raises IngestFault UNSUPPORTED_TYPE for bytes or a media type that no parser takes, TYPE_MISMATCH where the
    declared type and the bytes disagree.
    """
    declared, charset = _declared(media_type)
    seen = _seen(data, declared, wide=charset.lower().startswith(("utf-16", "utf-32", "utf16", "utf32")))
    if declared is not None:
        return Detected(declared, charset)
    return Detected(seen or _EXTENSIONS.get(PurePosixPath(name.split("?")[0]).suffix.lower()) or _guess(data), charset)


def _declared(media_type: str) -> tuple[SourceType | None, str]:
    header = Message()
    header["content-type"] = media_type.strip() or "application/octet-stream"
    name = header.get_content_type() if "/" in media_type else media_type.strip().lower()
    if name in _UNDECLARED:
        return None, ""
    if name not in MEDIA_TYPES:
        raise IngestFault("UNSUPPORTED_TYPE", f"the media type {name[:80]!r} is not read", _READS)
    return MEDIA_TYPES[name], str(header.get_param("charset") or "")


def _seen(data: bytes, declared: SourceType | None, wide: bool) -> SourceType | None:
    """What the bytes say beyond doubt; None where they could be any kind of text."""
    if b"%PDF-" in data[:_PDF_WITHIN]:
        _must_agree(declared, {"pdf"}, "a PDF")
        return "pdf"
    if declared == "pdf":
        raise IngestFault("TYPE_MISMATCH", "it was declared a PDF and has no PDF header", "declare its real type")
    foreign = next((what for magic, what in _FOREIGN if data.startswith(magic)), "")
    foreign = foreign or ("" if wide else _binary(data))
    if foreign:
        _must_agree(declared, set(), foreign)
        raise IngestFault("UNSUPPORTED_TYPE", f"it is {foreign}", _READS)
    if _HTML.match(data):
        return "html"
    if declared == "html" and b"<" not in data and not wide and not data.startswith(_UTF16_32):
        raise IngestFault("TYPE_MISMATCH", "it was declared HTML and holds no tag", "declare its real type")
    return None


def _must_agree(declared: SourceType | None, possible: set[str], what: str) -> None:
    if declared is not None and declared not in possible:
        raise IngestFault("TYPE_MISMATCH", f"it was declared {declared} and is {what}", "declare its real type")


def _binary(data: bytes) -> str:
    """Says so where a tenth of the first bytes are control characters that no text has."""
    start = data[:_SNIFFED]
    if start.startswith(_UTF16_32):
        return ""
    controls = sum(byte < 32 and byte not in b"\t\n\r\f\x1b\x08" for byte in start)
    return "binary data" if controls > max(_FEW, len(start) / 10) else ""


def _guess(data: bytes) -> SourceType:
    return "markdown" if _MARKDOWN.search(data[:_SNIFFED].decode("utf-8", "replace").replace("\r", "")) else "text"
