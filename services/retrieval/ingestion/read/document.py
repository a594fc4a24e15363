"""One document's bytes to its text and structure: detection, decoding and the parser of its type."""

from collections.abc import Callable

from services.retrieval.ingestion.read import code, markdown, text
from services.retrieval.ingestion.read.detect import Detected, detect
from services.retrieval.ingestion.read.encoding import decode, encoding_of, head, html_charset
from services.retrieval.ingestion.read.html import page
from services.retrieval.ingestion.read.office import docx, epub
from services.retrieval.ingestion.read.parsed import IngestFault, Parsed, clean
from services.retrieval.ingestion.read.pdf import document
from services.retrieval.ingestion.read.tables import delimited, json_lines
from services.retrieval.ingestion.read.tables.table import TableLayout, TableRow

_HEAD = 256 * 1024
_BINARY: dict[str, Callable[[bytes], Parsed]] = {"pdf": document.parse, "docx": docx.parse, "epub": epub.parse}


def read(data: bytes, media_type: str = "", name: str = "") -> tuple[Detected, Parsed | TableLayout]:
    """Reads a document, or finds out how a table is written. Raises IngestFault; see its reasons in the protos."""
    if not data:
        raise IngestFault("EMPTY", "it has no bytes", "send a document that has some")
    detected = detect(data, media_type, name)
    parsed = _parse(data, detected, name)
    if isinstance(parsed, TableLayout):
        return detected, parsed
    if not any(block.kind != "comment" for block in parsed.blocks) or not parsed.text.strip():
        raise IngestFault("NO_TEXT", "it holds no text", "send a document that has some")
    return detected, parsed


def read_rows(window: bytes, layout: TableLayout, number: int, last: bool) -> tuple[list[TableRow], int]:
    """Rows that stand whole in a window of a table, the first of which has that number, and the bytes they take."""
    if layout.kind == "csv":
        return delimited.rows(window, layout, number, last)
    return json_lines.rows(window, layout, number, last)


def _parse(data: bytes, detected: Detected, name: str) -> Parsed | TableLayout:
    kind = detected.source_type
    if kind in _BINARY:
        return _BINARY[kind](data)
    if kind in ("csv", "jsonl"):
        return _layout(data, detected)
    if kind == "html":
        return page.parse(decode(data, detected.charset or html_charset(data)))
    decoded = clean(decode(data, detected.charset))
    if kind == "code":
        return code.parse(decoded, name)
    return markdown.parse(decoded) if kind == "markdown" else text.parse(decoded)


def _layout(data: bytes, detected: Detected) -> TableLayout:
    mark, encoding = encoding_of(data, detected.charset)
    start = head(data[: _HEAD + mark], detected.charset)
    before = mark if encoding == "utf-8" else 0
    if detected.source_type == "jsonl":
        return json_lines.layout(start, encoding, before)
    return delimited.layout(start, encoding, before, detected.delimiter)
