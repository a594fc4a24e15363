"""CSV and TSV by RFC 4180, with what people make of it: other delimiters, a byte order mark, rows too short."""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from services.retrieval.ingestion.read.parsed import IngestFault
from services.retrieval.ingestion.read.tables import columns
from services.retrieval.ingestion.read.tables.table import MOST_ROW_BYTES, TableLayout, TableRow, bad_row, row_hash

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_DELIMITERS = (",", "\t", ";", "|")
_SNIFFED_ROWS = 50
_SNIFFED_CHARACTERS = 65536
_MOST_COLUMNS = 4096
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?", re.IGNORECASE)


def layout(head: str, charset: str, before: int, delimiter: str = "") -> TableLayout:
    """How a table is written, from its first characters; `before` bytes stand before them.

    Raises IngestFault BROKEN where it has no first row, or one of too many columns.
    """
    delimiter = delimiter or _sniffed(head)
    lines = _LINE.findall(head)
    cells, end = next(
        ((record[0], record[3]) for record in _records(lines, delimiter, last=True) if record[0] or record[1]),
        (None, 0),
    )
    if cells is None:
        raise IngestFault("BROKEN", "its first row, which names the columns, can't be read", "write it by RFC 4180")
    if len(cells) > _MOST_COLUMNS:
        raise IngestFault("BROKEN", f"it has {len(cells)} columns", f"send up to {_MOST_COLUMNS}")
    if _NUMBER.fullmatch(cells[0].strip()):  # it is a row already
        return TableLayout("csv", charset, before, delimiter, columns.names("" for _ in cells))
    start = before + len("".join(lines[:end]).encode("utf-8", "surrogateescape"))
    return TableLayout("csv", charset, start, delimiter, columns.names(cells))


def rows(window: bytes, table_layout: TableLayout, number: int, last: bool) -> tuple[list[TableRow], int]:
    """Rows that stand whole in a window, the first of which has that number, and how many bytes they take."""
    lines = _LINE.findall(window.decode("utf-8", "surrogateescape"))
    table_rows: list[TableRow] = []
    used = 0
    for cells, fault, start, end in _records(lines, table_layout.delimiter, last):
        if cells is not None or fault:
            raw = "".join(lines[start:end]).encode("utf-8", "surrogateescape")
            table_rows.append(_row(number + len(table_rows), raw, cells, fault, table_layout))
        used = end
    return table_rows, len("".join(lines[:used]).encode("utf-8", "surrogateescape"))


_Record = tuple[list[str] | None, str, int, int]


def _records(lines: Sequence[str], delimiter: str, last: bool) -> Iterator[_Record]:
    """Cells or fault of each record, and its lines. After a fault, the next line begins a new record.

    Where the window isn't the last one, what may go on behind it is left.
    """
    csv.field_size_limit(MOST_ROW_BYTES)
    at, most = 0, len(lines) if last or not lines or lines[-1].endswith("\n") else len(lines) - 1
    while at < most:
        reader = csv.reader(islice(lines, at, most), delimiter=delimiter, strict=True)
        start = at
        try:
            for cells in reader:
                end = at + reader.line_num
                yield (cells or None), "", start, end
                start = end
            return
        except csv.Error as error:
            unended = at + reader.line_num >= most and "unexpected end" in str(error)
        if unended and not last:
            return
        yield None, "a quote is never closed" if unended else "its quotes are out of order", start, start + 1
        at = start + 1


def _row(number: int, raw: bytes, cells: list[str] | None, fault: str, table_layout: TableLayout) -> TableRow:
    if cells is None:
        return bad_row(number, "BROKEN", fault, 'double each quote within a quoted cell ("")')
    if len(cells) > len(table_layout.columns) and any(cells[len(table_layout.columns) :]):
        message = f"it has {len(cells)} cells, and there are {len(table_layout.columns)} columns"
        return bad_row(number, "BROKEN", message, f"quote cells that hold {table_layout.delimiter!r}")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte {error.start} (0x{raw[error.start]:02x}) is not UTF-8"
        return bad_row(number, "INVALID_ENCODING", message, "save the file as UTF-8, or declare its charset")
    record = dict(zip(table_layout.columns, cells, strict=False))
    parsed = columns.parsed(record)
    if not parsed.text.strip():
        return bad_row(number, "NO_TEXT", "it holds no text", "leave it out, or fill it in")
    return TableRow(number, row_hash(raw, table_layout.columns), len(raw), columns.row_id(record), parsed)


def _sniffed(head: str) -> str:
    """The delimiter that gives most rows as many cells as the first has, and then the most cells."""
    lines = _LINE.findall(head[:_SNIFFED_CHARACTERS])
    return max(_DELIMITERS, key=lambda delimiter: _fits(lines, delimiter))


def _fits(lines: Sequence[str], delimiter: str) -> tuple[float, int]:
    records = islice(_records(lines, delimiter, last=False), _SNIFFED_ROWS)
    widths = [len(cells) for cells, *_ in records if cells]
    if not widths or widths[0] == 1:
        return 0.0, 0
    return sum(width == widths[0] for width in widths) / len(widths), widths[0]
