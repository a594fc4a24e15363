"""What the service and its reader process say to each other: a frame is a JSON header and a body of bytes."""

import json
import struct
from typing import Any

from services.retrieval.ingest.detect import SourceType
from services.retrieval.ingest.parsed import Block, IngestFault, Parsed

LENGTHS = struct.Struct("<IQ")
Header = dict[str, Any]


def frame(header: Header, body: bytes = b"") -> bytes:
    """Bytes of a frame: lengths of header and body, then both."""
    packed = json.dumps(header, ensure_ascii=False).encode()
    return LENGTHS.pack(len(packed), len(body)) + packed + body


def parsed_frame(source_type: SourceType, parsed: Parsed) -> bytes:
    """A reader's answer."""
    said = {
        "source_type": source_type,
        "blocks": [(block.start, block.end, block.kind, block.level) for block in parsed.blocks],
        "title": parsed.title,
        "language": parsed.language,
        "published": parsed.published,
        "pages": parsed.pages,
        "metadata": dict(parsed.metadata),
    }
    return frame(said, parsed.text.encode())


def fault_frame(fault: IngestFault) -> bytes:
    """A reader's refusal."""
    return frame({"reason": fault.reason, "message": fault.message, "remedy": fault.remedy})


def answer(header: bytes, body: bytes) -> tuple[SourceType, Parsed]:
    """What a reader answered. Raises the IngestFault that it refused with."""
    said = json.loads(header)
    if "reason" in said:
        raise IngestFault(said["reason"], said["message"], said["remedy"])
    source_type: SourceType = said.pop("source_type")
    blocks = tuple(Block(*block) for block in said.pop("blocks"))
    pages = tuple(said.pop("pages"))
    return source_type, Parsed(text=body.decode(), blocks=blocks, pages=pages, **said)
