"""A table's rows, read window by window, so that little of it is held and other documents are read in between."""

import asyncio
from collections.abc import AsyncGenerator

from services.retrieval.ingestion.read.encoding import decode
from services.retrieval.ingestion.read.process.reader import DocumentReader
from services.retrieval.ingestion.read.tables.table import MOST_ROW_BYTES, MOST_ROWS, TableLayout, TableRow, bad_row

WINDOW_BYTES = 256 * 1024


async def portions(
    reader: DocumentReader, data: bytes, layout: TableLayout, window: int = WINDOW_BYTES, most_row: int = MOST_ROW_BYTES
) -> AsyncGenerator[list[TableRow], None]:
    """All rows, in order. Raises IngestFault where the table as a whole can't be read."""
    data = data if layout.charset == "utf-8" else await asyncio.to_thread(_utf8, data, layout.charset)
    at, number, size = layout.start, 1, window
    while at < len(data) and number <= MOST_ROWS:
        part = data[at : at + size]
        rows, used = await reader.rows(part, layout, number, last=at + size >= len(data))
        if not used and size <= most_row:
            size = most_row + 1
            continue
        if not used:
            used = data.find(b"\n", at) + 1 - at or len(data) - at
            rows = [bad_row(number, "TOO_LARGE", f"its end doesn't come within {most_row} bytes", "close its quotes")]
        if rows:
            yield rows
        at, number, size = at + used, number + len(rows), window
    if at < len(data):
        yield [bad_row(number, "TOO_LARGE", f"there are over {MOST_ROWS} rows", "split the table")]


def _utf8(data: bytes, charset: str) -> bytes:
    return decode(data, charset).encode("utf-8", "replace")
