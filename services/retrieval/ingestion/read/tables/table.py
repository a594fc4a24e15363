"""A table that is being ingested: how it is laid out, and its rows, each a document of its own.

A table is read in windows of its bytes, so that neither the reader nor the service holds more of it than one window
besides the upload itself, and other documents are read in between.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from services.retrieval.ingestion.read.parsed import IngestFault, Parsed

TableType = Literal["csv", "jsonl"]
MOST_ROW_BYTES = 8 * 1024 * 1024
MOST_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How the rows of a table are written.

    Attributes:
        charset: of the bytes; "utf-8" means that they can be read as they are, any other that they are made so first.
        start: bytes, in UTF-8, before the first row.
        delimiter, columns: of CSV and TSV.
    """

    kind: TableType
    charset: str = "utf-8"
    start: int = 0
    delimiter: str = ""
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: what it says, or why it can't be read. number counts from 1; the hash and size are of its bytes, the hash
    of its columns' names as well. row_id is empty where the row has none of its own."""

    number: int
    sha256: str = ""
    size_bytes: int = 0
    row_id: str = ""
    parsed: Parsed | None = None
    fault: IngestFault | None = None


def bad_row(number: int, reason: str, message: str, remedy: str) -> TableRow:
    """A row that can't be read."""
    return TableRow(number, fault=IngestFault(reason, f"row {number}: {message}", remedy))


def row_hash(raw: bytes, columns: Sequence[str] = ()) -> str:
    """SHA-256 of a row's bytes under its columns."""
    names = "\0".join((*columns, "")).encode("utf-8", "surrogateescape")
    return hashlib.sha256(names + raw.rstrip(b"\r\n")).hexdigest()
