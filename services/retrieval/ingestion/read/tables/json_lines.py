"""JSON Lines: an object a line."""

import json
from collections.abc import Iterator

from services.retrieval.ingestion.read.parsed import IngestFault
from services.retrieval.ingestion.read.tables import columns
from services.retrieval.ingestion.read.tables.table import TableLayout, TableRow, bad_row, row_hash

_LOOKED_AT = 3
_DEEPEST = 4
_WRITE = "write one JSON object a line"


def layout(head: str, charset: str, before: int) -> TableLayout:
    """Raises IngestFault TYPE_MISMATCH where none of the first lines holds an object."""
    lines = [line.lstrip() for line in head.split("\n") if line.strip()][:_LOOKED_AT]
    array = bool(lines) and lines[0].startswith("[")
    if lines and (array or not any(line.startswith("{") for line in lines)):
        fault = "is one JSON array" if array else "has no object in its first lines"
        raise IngestFault("TYPE_MISMATCH", f"it was declared JSON Lines and {fault}", _WRITE)
    return TableLayout("jsonl", charset, before)


def looks_like(head: str) -> bool:
    """Whether the first two lines are objects."""
    lines = [line for line in head.split("\n", 2)[:2] if line.strip()]
    return len(lines) > 1 and all(line.startswith("{") and isinstance(_loaded(line), dict) for line in lines)


def rows(window: bytes, table_layout: TableLayout, number: int, last: bool) -> tuple[list[TableRow], int]:
    """Rows that stand whole in a window, the first of which has that number, and how many bytes they take."""
    used = len(window) if last else window.rfind(b"\n") + 1
    table_rows: list[TableRow] = []
    for line in window[:used].split(b"\n"):
        if line.strip():
            table_rows.append(_row(number + len(table_rows), line))
    return table_rows, used


def _row(number: int, line: bytes) -> TableRow:
    try:
        loaded = _loaded(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        message = f"byte {error.start} (0x{line[error.start]:02x}) is not UTF-8"
        return bad_row(number, "INVALID_ENCODING", message, "save the file as UTF-8, or declare its charset")
    if not isinstance(loaded, dict):
        return bad_row(number, "BROKEN", "it is no JSON object", _WRITE)
    record = dict(_flat(loaded))
    parsed = columns.parsed(record)
    if not parsed.text.strip():
        return bad_row(number, "NO_TEXT", "it holds no text", "leave it out, or fill it in")
    return TableRow(number, row_hash(line), len(line), columns.row_id(record), parsed)


def _loaded(line: str) -> object:
    """What a line holds; None where it is no JSON, or too deep, or has a number too long."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _flat(value: dict[str, object], before: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Entries as text; one within another is named "outer.inner"."""
    for key, entry in value.items():
        name = f"{before}{key}"
        if isinstance(entry, dict) and depth < _DEEPEST:
            yield from _flat(entry, f"{name}.", depth + 1)
        elif (words := _words(entry)).strip():
            yield name, words


def _words(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return ""
