"""Documents: what is known of one, a new one that is ready to be stored, and a deletion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from services.retrieval.types.chunk import Chunk, Vector
from services.retrieval.types.collection import Embedding


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """What is known of a document, without its text. Content hash and size are of the uploaded bytes."""

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
    """A document of which nothing but its id and its collection is known."""
    return DocumentInfo(document_id, collection, "", "", "", "", "", 0, 0, 0, 0, _NEVER)


_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document ready to be stored: vectors has shape (chunks, dimension) and the order of chunks.

    unreadable: indexes of chunks that the model can't read; their vectors mean nothing and are not stored.
    """

    info: DocumentInfo
    text: str
    chunks: Sequence[Chunk]
    vectors: Vector
    embedding: Embedding
    unreadable: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Deletion:
    """Ids that were deleted, ids that were not there, and the number of the collection's last change."""

    deleted: tuple[str, ...]
    missing: tuple[str, ...]
    sequence: int
