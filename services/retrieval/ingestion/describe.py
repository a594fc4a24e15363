"""What is kept of a document that was read: its ids, its description, its chunks."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from citemesh.contract.source_types import SourceType
from citemesh.text.languages import language_by_script
from services.retrieval.embedding.encoder import TokenCounter
from services.retrieval.ingestion.chunk.chunker import ChunkSize, chunk
from services.retrieval.ingestion.read.dates import date_of
from services.retrieval.ingestion.read.parsed import IngestFault, Parsed
from services.retrieval.ingestion.upload import Upload
from services.retrieval.types.chunk import Chunk, Place
from services.retrieval.types.document import DocumentInfo

MAX_METADATA = 64
MAX_METADATA_BYTES = 4096
_LONGEST_TITLE = 500
_ID_DIGITS = 32


def document_id_of(collection: str, sha256: str) -> str:
    """The id of a document that was given none: the same bytes in the same collection are one document."""
    return _id(collection, sha256)


def described(upload: Upload, document_id: str, sha256: str, source_type: SourceType, parsed: Parsed) -> DocumentInfo:
    """A document's description; what its sender says counts for more than what it says of itself."""
    header = upload.header
    title = header.title or parsed.title or file_name(header.uri) or document_id
    return DocumentInfo(
        document_id=document_id,
        collection=header.collection,
        title=title[:_LONGEST_TITLE],
        uri=header.uri or parsed.uri,
        source_type=source_type,
        language=parsed.language or language_by_script(parsed.text),
        content_sha256=sha256,
        size_bytes=len(upload.data),
        characters=len(parsed.text),
        chunks=0,
        pages=len(parsed.pages),
        ingested_at=datetime.now(UTC),
        published_at=date_of(parsed.published),
        metadata=_metadata(header.metadata, parsed.metadata),
    )


def said_title(info: DocumentInfo) -> str:
    """The title that a document has; empty where its id stands in for one, which says nothing of what it holds."""
    return "" if info.title == info.document_id else info.title


def chunks_of(info: DocumentInfo, parsed: Parsed, counter: TokenCounter, size: ChunkSize) -> list[Chunk]:
    """The chunks, without token ids. Raises IngestFault NO_TEXT where there is nothing to cut."""
    places = chunk(parsed, counter, size)
    if not places:
        raise IngestFault("NO_TEXT", "it holds no text", "send a document that has some")
    return [Chunk(_chunk_id(info, place), place, parsed.text[place.start : place.end]) for place in places]


def _chunk_id(info: DocumentInfo, place: Place) -> str:
    return _id(info.collection, info.document_id, info.content_sha256, str(place.start), str(place.end))


def _id(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_ID_DIGITS]


def file_name(uri: str) -> str:
    """The last part of an address or path; empty where it has none."""
    with suppress(ValueError):
        return PurePosixPath(unquote(urlsplit(uri).path)).name
    return ""


def _metadata(senders: Mapping[str, str], documents: Mapping[str, str]) -> dict[str, str]:
    """The sender's entries, and the document's own as far as there is room."""
    entries = dict(senders)
    for key, value in documents.items():
        small = len(key.encode()) + len(value.encode()) <= MAX_METADATA_BYTES
        if small and len(entries) < MAX_METADATA:
            entries.setdefault(key, value)
    return entries
