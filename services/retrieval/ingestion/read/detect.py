"""What type a document is: by its bytes first, then by what was declared, then by its file name."""

import re
from dataclasses import dataclass
from email.message import Message
from pathlib import PurePosixPath

from citemesh.contract.source_types import SourceType
from citemesh.contract.suffixes import SOURCE_TYPE_BY_SUFFIX
from services.retrieval.ingestion.read import archive_kind, code
from services.retrieval.ingestion.read.parsed import IngestFault
from services.retrieval.ingestion.read.tables import json_lines

MEDIA_TYPES: dict[str, SourceType] = {
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/plain": "text",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/epub+zip": "epub",
    "text/csv": "csv",
    "application/csv": "csv",
    "text/tab-separated-values": "csv",
    "text/tsv": "csv",
    "application/jsonl": "jsonl",
    "application/json-lines": "jsonl",
    "application/x-jsonlines": "jsonl",
    "application/ndjson": "jsonl",
    "application/x-ndjson": "jsonl",
    "text/css": "code",
    "text/javascript": "code",
    "text/xml": "code",
    "application/javascript": "code",
    "application/json": "code",
    "application/sql": "code",
    "application/toml": "code",
    "application/typescript": "code",
    "application/xml": "code",
    "application/yaml": "code",
}
_CODE = ("text/x-", "application/x-sh", "application/x-python", "application/x-httpd-php", "application/x-yaml")
_TABS = ("text/tab-separated-values", "text/tsv")
_UNDECLARED = {"", "application/octet-stream", "binary/octet-stream"}
_FOREIGN = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x1f\x8b", "a gzip file"),
    (b"BZh9", "a bzip2 file"),
    (b"\xfd7zXZ\x00", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\x00", "a program"),
    (b"\x00asm", "a program"),
    (b"SQLite format 3\x00", "a database"),
    (b"PAR1", "a Parquet file"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"ID3", "a sound"),
    (b"OggS", "a sound"),
    (b"RIFF", "a sound, a film or an image"),
    (b"{\\rtf", "an RTF document"),
    (b"%!PS", "a PostScript document"),
)
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_OFFICE = "EncryptedPackage".encode("utf-16-le")
_PDF_WITHIN = 1024
_HTML = re.compile(
    rb"\s*+(?>(?:<!--.{0,4000}?-->|<\?xml[^>]{0,200}>)\s*+)*+<(?:!doctype\s+html|html[\s>])", re.I | re.S
)
_MARKDOWN = re.compile(r"\A---[ \t]*\n|^ {0,3}#{1,6} \S|^ {0,3}```|^ {0,3}(?:[-*+]|\d+\.) .*\[[^\]\n]+\]\(", re.M)
_UTF16_32 = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_SNIFFED = 8192
_SNIFFED_LINES = 65536
_CALLED: dict[SourceType | None, str] = {"pdf": "a PDF", "docx": "a DOCX document", "epub": "an EPUB book"}
_FEW = 8
_READS = "CiteMesh reads Markdown, plain text, HTML, PDF, DOCX, EPUB, CSV, TSV, JSON Lines and source code"


@dataclass(frozen=True, slots=True)
class Detected:
    """A document's type, and the charset and delimiter that were declared for it; empty where none was."""

    source_type: SourceType
    charset: str = ""
    delimiter: str = ""


def detect(data: bytes, media_type: str = "", name: str = "") -> Detected:
    """Finds out the type. `name` is a file name, path or URL.

    Raises IngestFault UNSUPPORTED_TYPE for bytes or a media type that no parser takes, TYPE_MISMATCH where the
    declared type and the bytes disagree, ENCRYPTED for an Office document with a password.
    """
    declared, charset, delimiter = _declared(media_type)
    possible = _seen(data, declared, wide=charset.lower().startswith(("utf-16", "utf-32", "utf16", "utf32")))
    if declared is not None:
        return Detected(declared, charset, delimiter)
    suffix = PurePosixPath(name.split("?")[0].split("#")[0]).suffix.lower()
    by_name = "code" if code.language_of(name) else SOURCE_TYPE_BY_SUFFIX.get(suffix)
    return Detected(possible or by_name or _guess(data), charset, "\t" if suffix in (".tsv", ".tab") else "")


def _declared(media_type: str) -> tuple[SourceType | None, str, str]:
    header = Message()
    header["content-type"] = media_type.strip() or "application/octet-stream"
    name = header.get_content_type() if "/" in media_type else media_type.strip().lower()
    if name in _UNDECLARED:
        return None, "", ""
    source_type: SourceType | None = MEDIA_TYPES.get(name) or ("code" if name.startswith(_CODE) else None)
    if source_type is None:
        raise IngestFault("UNSUPPORTED_TYPE", f"the media type {name[:80]!r} is not read", _READS)
    return source_type, str(header.get_param("charset") or ""), "\t" if name in _TABS else ""


def _seen(data: bytes, declared: SourceType | None, wide: bool) -> SourceType | None:
    """What the bytes say beyond doubt; None where they could be any kind of text."""
    by_magic = _seen_whole(data)
    if by_magic is not None:
        _must_agree(declared, {by_magic}, _CALLED[by_magic])
        return by_magic
    if declared in _CALLED:
        raise IngestFault("TYPE_MISMATCH", f"it was declared {_CALLED[declared]} and is none", "declare its real type")
    foreign = next((foreign_name for magic, foreign_name in _FOREIGN if data.startswith(magic)), "")
    foreign = foreign or ("" if wide else _binary(data))
    if foreign:
        _must_agree(declared, set(), foreign)
        raise IngestFault("UNSUPPORTED_TYPE", f"it is {foreign}", _READS)
    return _seen_text(data, declared, wide)


def _seen_whole(data: bytes) -> SourceType | None:
    """A type that its first bytes give away, and that is no text."""
    if data.startswith(_ZIP):
        return archive_kind.kind_of(data)
    if data.startswith(_OLD_OFFICE):
        if _ENCRYPTED_OFFICE in data:
            raise IngestFault("ENCRYPTED", "the Office document needs a password", "save it without one")
        raise IngestFault("UNSUPPORTED_TYPE", "it is an old Office document", "save it as DOCX")
    return "pdf" if b"%PDF-" in data[:_PDF_WITHIN] else None


def _seen_text(data: bytes, declared: SourceType | None, wide: bool) -> SourceType | None:
    if _HTML.match(data):
        _must_agree(declared, {"html", "text", "code"}, "an HTML page")
        return "html"
    marked = wide or data.startswith(_UTF16_32)
    if declared == "html" and b"<" not in data and not marked:
        raise IngestFault("TYPE_MISMATCH", "it was declared HTML and holds no tag", "declare its real type")
    if declared == "csv" and json_lines.looks_like(_start(data)):
        raise IngestFault("TYPE_MISMATCH", "it was declared CSV and holds JSON Lines", "declare its real type")
    return None


def _must_agree(declared: SourceType | None, possible: set[str], contents: str) -> None:
    if declared is not None and declared not in possible:
        raise IngestFault("TYPE_MISMATCH", f"it was declared {declared} and is {contents}", "declare its real type")


def _binary(data: bytes) -> str:
    """Says so where a tenth of the first bytes are control characters that no text has."""
    start = data[:_SNIFFED]
    if start.startswith(_UTF16_32):
        return ""
    controls = sum(byte < 32 and byte not in b"\t\n\r\f\x1b\x08" for byte in start)
    return "binary data" if controls > max(_FEW, len(start) / 10) else ""


def _guess(data: bytes) -> SourceType:
    start = _start(data)
    if json_lines.looks_like(start):
        return "jsonl"
    if start.startswith("#!") and code.language_of("", start):
        return "code"
    return "markdown" if _MARKDOWN.search(start[:_SNIFFED].replace("\r", "")) else "text"


def _start(data: bytes) -> str:
    return data[:_SNIFFED_LINES].decode("utf-8-sig", "replace")
