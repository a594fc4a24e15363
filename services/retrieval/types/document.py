"""Documents: what is known of one, one that is ready to be stored, and those that were deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from services.retrieval.types.chunk import Chunk, Vector
from services.retrieval.types.collection import Embedding


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """What is known of a document, without its text. Content hash and size are of the bytes that were sent."""

    document_id: str
    collection: str
    title: str
    uri: str
    source_type: str
    language: str
    content_sha256: str
    size_bytes: int
    characters: int
    chunks: int
    pages: int
    ingested_at: datetime
    published_at: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    table_id: str = ""
    """Id of the table that it is a row of."""


def reference(document_id: str, collection: str) -> DocumentInfo:
    """A document of which nothing but its name is known."""
    return DocumentInfo(document_id, collection, "", "", "", "", "", 0, 0, 0, 0, _NEVER)


_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document ready to be kept: vectors has shape (chunks, dimension) and the order of chunks.

    unreadable: places in chunks of those that the model can't read; their vectors mean nothing and are not kept.
    """

    info: DocumentInfo
    text: str
    chunks: Sequence[Chunk]
    vectors: Vector
    embedding: Embedding
    unreadable: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Deleted:
    """Ids that are gone, ids that were not there, and the number of the collection's last change."""

    deleted: tuple[str, ...]
    missing: tuple[str, ...]
    sequence: int
