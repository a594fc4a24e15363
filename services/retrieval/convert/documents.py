"""Documents as messages: uploads, their progress, and what calls ask and answer about documents."""

from collections.abc import Sequence

from citemesh.api.common.v1 import span_pb2
from citemesh.api.retrieval.v1 import document_service_pb2 as pb
from citemesh.contract.bounds import MOST_DELETED, MOST_PART_BYTES
from citemesh.errors import InvalidInput
from citemesh.kit.timestamps import timestamp
from services.retrieval.convert import collections
from services.retrieval.ingestion.upload import End, Header, Part, Progress
from services.retrieval.types.document import DocumentInfo


def part(request: pb.IngestRequest) -> Part:
    """One message of an ingest stream."""
    kind = request.WhichOneof("part")
    if kind == "header":
        return _header(request.header)
    if kind == "data":
        if len(request.data) > MOST_PART_BYTES:
            raise InvalidInput("data", f"it has {len(request.data)} bytes", "send up to 1 MiB a part")
        return request.data
    if kind == "end":
        return End()
    raise InvalidInput("part", "the message holds none", "send a header, data or an end")


def progress(report: Progress) -> pb.IngestResponse:
    """One document's progress."""
    fault = report.fault
    error = pb.IngestError(reason=fault.reason, message=fault.message, remedy=fault.remedy) if fault else None
    return pb.IngestResponse(
        correlation_id=report.correlation_id,
        document_id=report.document_id,
        state=f"INGEST_STATE_{report.state.upper()}",
        chunks=report.chunks,
        characters=report.characters,
        error=error,
        rows=report.rows,
        failed_rows=report.failed_rows,
        notices=report.notices,
    )


def document(info: DocumentInfo) -> pb.Document:
    """A document without its text."""
    return pb.Document(
        document_id=info.document_id,
        collection=info.collection,
        title=info.title,
        uri=info.uri,
        source_type=info.source_type,
        language=info.language,
        content_sha256=info.content_sha256,
        size_bytes=info.size_bytes,
        characters=info.characters,
        chunks=info.chunks,
        pages=info.pages,
        ingested_at=timestamp(info.ingested_at),
        metadata=info.metadata,
        table_id=info.table_id,
    )


def document_text(
    request: pb.GetDocumentRequest, info: DocumentInfo, text: str, most_bytes: int
) -> pb.GetDocumentResponse:
    """A document and the stretch of its text that was asked for. Raises InvalidInput."""
    if request.without_text:
        return pb.GetDocumentResponse(document=document(info))
    start, end = _stretch(request, len(text))
    stretch = text[start:end]
    if len(stretch.encode()) > most_bytes:
        raise InvalidInput(
            "span", f"{end - start} characters are over a message's limit", "ask for a span, one after another"
        )
    span = span_pb2.Span(start=start, end=end)
    return pb.GetDocumentResponse(document=document(info), text=stretch, span=span)


def deletion(request: pb.DeleteDocumentsRequest) -> Sequence[str]:
    """Ids to delete. Raises InvalidInput without any: nothing goes by leaving a field empty."""
    ids = list(request.document_ids)
    if not ids:
        raise InvalidInput("document_ids", "it is empty", "name the documents to delete")
    if len(ids) > MOST_DELETED:
        raise InvalidInput("document_ids", f"it has {len(ids)} entries", f"delete up to {MOST_DELETED} at once")
    if "" in ids:
        raise InvalidInput("document_ids", "one of them is empty", "name the documents to delete")
    return ids


def _header(message: pb.DocumentHeader) -> Header:
    return Header(
        correlation_id=message.correlation_id,
        collection=collections.name_of(message.collection),
        document_id=message.document_id,
        title=message.title,
        uri=message.uri,
        media_type=message.media_type,
        size_bytes=message.size_bytes,
        metadata=dict(message.metadata),
    )


def _stretch(request: pb.GetDocumentRequest, length: int) -> tuple[int, int]:
    if not request.HasField("span"):
        return 0, length
    start, end = request.span.start, request.span.end
    if not 0 <= start <= end <= length:
        raise InvalidInput("span", f"{start}..{end} is not within the text", f"ask within 0..{length}")
    return start, end
