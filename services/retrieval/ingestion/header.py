"""What a document's header may say."""

from services.retrieval.ingestion.describe import MAX_METADATA, MAX_METADATA_BYTES
from services.retrieval.ingestion.read.parsed import IngestFault
from services.retrieval.ingestion.upload import Header

LONGEST_CORRELATION_ID = 1024
LONGEST_DOCUMENT_ID = 512
LONGEST_TEXT = 8192


def check(header: Header, most_bytes: int) -> None:
    """Raises IngestFault INVALID_HEADER, which names the field, or TOO_LARGE."""
    if not 1 <= len(header.correlation_id) <= LONGEST_CORRELATION_ID:
        raise _fault("correlation_id", f"it has {len(header.correlation_id)} characters", "send 1 to 1024")
    if len(header.document_id) > LONGEST_DOCUMENT_ID or not header.document_id.isprintable():
        raise _fault("document_id", "it is too long or not printable", f"send up to {LONGEST_DOCUMENT_ID} characters")
    for field, value in (("title", header.title), ("uri", header.uri)):
        if len(value) > LONGEST_TEXT:
            raise _fault(field, f"it has {len(value)} characters", f"send up to {LONGEST_TEXT}")
    if header.size_bytes < 0:
        raise _fault("size_bytes", f"it is {header.size_bytes}", "send the size, or 0 where it isn't known")
    if header.size_bytes > most_bytes:
        raise too_large(most_bytes)
    _check_metadata(header)


def too_large(most_bytes: int) -> IngestFault:
    """The refusal of a document over the limit."""
    return IngestFault("TOO_LARGE", f"it has over {most_bytes} bytes", "split it, or raise the service's limit")


def _check_metadata(header: Header) -> None:
    if len(header.metadata) > MAX_METADATA:
        raise _fault("metadata", f"it has {len(header.metadata)} entries", f"send up to {MAX_METADATA}")
    for key, value in header.metadata.items():
        if not key or len(key.encode()) + len(value.encode()) > MAX_METADATA_BYTES:
            raise _fault(f"metadata[{key[:40]!r}]", "it has no name or is too large", "send up to 4096 bytes an entry")


def _fault(field: str, fault: str, remedy: str) -> IngestFault:
    return IngestFault("INVALID_HEADER", f"{field}: {fault}", remedy)
