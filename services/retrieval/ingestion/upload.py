"""A document that is being uploaded, and reports of its progress."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from services.retrieval.ingestion.read.parsed import IngestFault

State = Literal["received", "parsed", "chunked", "embedded", "committed", "unchanged", "failed"]


@dataclass(frozen=True, slots=True)
class Header:
    """What the sender knows of a document. size_bytes is 0 where it doesn't know."""

    correlation_id: str
    collection: str
    document_id: str = ""
    title: str = ""
    uri: str = ""
    media_type: str = ""
    size_bytes: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Upload:
    """A header and all the bytes."""

    header: Header
    data: bytes


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a document is; fault comes with the state "failed". Rows are those of a table, 0 for a document."""

    correlation_id: str
    state: State
    document_id: str = ""
    chunks: int = 0
    characters: int = 0
    fault: IngestFault | None = None
    rows: int = 0
    failed_rows: int = 0
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """The last byte of a document was sent."""


Part = Header | bytes | End
Report = Callable[[Progress], Awaitable[None]]
