"""What the service and its reader process say to each other: a frame is a JSON header and a body of bytes."""

import json
import struct
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from citemesh.contract.source_types import SourceType
from services.retrieval.ingestion.read.parsed import Block, IngestFault, Parsed
from services.retrieval.ingestion.read.tables.table import TableLayout, TableRow

LENGTHS = struct.Struct("<IQ")
Header = dict[str, Any]


def frame(header: Header, body: bytes = b"") -> bytes:
    """Bytes of a frame: lengths of header and body, then both."""
    packed = json.dumps(header, ensure_ascii=False).encode()
    return LENGTHS.pack(len(packed), len(body)) + packed + body


def document_question(data: bytes, media_type: str, name: str) -> bytes:
    """Asks for a document's text, or a table's layout."""
    return frame({"media_type": media_type, "name": name}, data)


def rows_question(window: bytes, layout: TableLayout, number: int, last: bool) -> bytes:
    """Asks for the rows of a window."""
    return frame({"layout": asdict(layout), "number": number, "last": last}, window)


def layout_of(fields: Header) -> TableLayout:
    """The layout in a question or an answer."""
    return TableLayout(**{**fields["layout"], "columns": tuple(fields["layout"]["columns"])})


def parsed_frame(source_type: SourceType, parsed: Parsed | TableLayout) -> bytes:
    """A reader's answer to a document."""
    if isinstance(parsed, TableLayout):
        return frame({"source_type": source_type, "layout": asdict(parsed)})
    return frame({"source_type": source_type, **_said(parsed)}, parsed.text.encode())


def rows_frame(rows: Sequence[TableRow], used: int) -> bytes:
    """A reader's answer to a window: rows, and the bytes that they take."""
    return frame({"used": used, "rows": [_row_said(row) for row in rows]}, "".join(map(_text, rows)).encode())


def fault_frame(fault: IngestFault) -> bytes:
    """A reader's refusal."""
    return frame(_fault_said(fault))


def answer(header: bytes, body: bytes) -> tuple[SourceType, Parsed | TableLayout]:
    """What a reader answered. Raises the IngestFault that it refused with."""
    fields = _heard(header)
    source_type: SourceType = fields.pop("source_type")
    return source_type, layout_of(fields) if "layout" in fields else _parsed(fields, body.decode())


def rows_answer(header: bytes, body: bytes) -> tuple[list[TableRow], int]:
    """Rows that a reader answered, and the bytes that they take. Raises the IngestFault that it refused with."""
    fields = _heard(header)
    text, at = body.decode(), 0
    rows = []
    for row in fields["rows"]:
        end = at + row.pop("characters")
        rows.append(_row(row, text[at:end]))
        at = end
    return rows, fields["used"]


def _heard(header: bytes) -> Header:
    fields: Header = json.loads(header)
    if "reason" in fields:
        raise IngestFault(fields["reason"], fields["message"], fields["remedy"])
    return fields


def _said(parsed: Parsed) -> Header:
    return {
        "blocks": [(block.start, block.end, block.kind, block.level) for block in parsed.blocks],
        "title": parsed.title,
        "language": parsed.language,
        "published": parsed.published,
        "pages": parsed.pages,
        "metadata": dict(parsed.metadata),
        "uri": parsed.uri,
    }


def _parsed(fields: Header, text: str) -> Parsed:
    blocks = tuple(Block(*block) for block in fields.pop("blocks"))
    return Parsed(text=text, blocks=blocks, pages=tuple(fields.pop("pages")), **fields)


def _text(row: TableRow) -> str:
    return row.parsed.text if row.parsed else ""


def _row_said(row: TableRow) -> Header:
    fields: Header = {"number": row.number, "characters": len(_text(row))}
    if row.fault:
        return {**fields, "fault": _fault_said(row.fault)}
    more = {"sha256": row.sha256, "size_bytes": row.size_bytes, "row_id": row.row_id}
    return {**fields, **more, "parsed": _said(row.parsed) if row.parsed else None}


def _row(fields: Header, text: str) -> TableRow:
    if "fault" in fields:
        return TableRow(fields["number"], fault=IngestFault(**fields["fault"]))
    return TableRow(**{**fields, "parsed": _parsed(fields["parsed"], text)})


def _fault_said(fault: IngestFault) -> Header:
    return {"reason": fault.reason, "message": fault.message, "remedy": fault.remedy}
