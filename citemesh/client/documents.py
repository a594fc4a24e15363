"""Client of the retrieval service's documents. A call, and a stream of documents, is about one collection."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing

from citemesh.api.common.v1 import span_pb2
from citemesh.api.retrieval.v1 import document_service_pb2 as pb
from citemesh.api.retrieval.v1.document_service_pb2_grpc import DocumentServiceStub
from citemesh.client import convert
from citemesh.client.transport.caller import Caller, about_collection
from citemesh.client.transport.request_stream import RequestStream
from citemesh.client.types import Document, IngestProgress, Span, Upload
from citemesh.contract.bounds import DEFAULT_COLLECTION, DEFAULT_PAGE, PART_BYTES
from citemesh.errors import InvalidInput

INGEST_TIMEOUT_S = 24 * 3600.0


class DocumentClient:
    """Ingests, reads, lists and deletes documents."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = DocumentServiceStub(caller.channel)

    async def ingest(self, uploads: AsyncIterable[Upload] | Iterable[Upload]) -> AsyncIterator[IngestProgress]:
        """Sends documents of one collection; yields progress until each one is committed, unchanged or failed.

        What ``uploads`` raises is raised here; what was committed by then stays. Raises InvalidInput for a document
        of another collection than the first one's.
        """
        stream = _as_async(uploads)
        first = await anext(stream, None)
        if first is None:
            return
        requests = RequestStream(_requests(first, stream))
        calls = self._caller.stream(self._stub.Ingest, requests, INGEST_TIMEOUT_S, about_collection(first.collection))
        try:
            async with aclosing(calls) as responses:  # type: ignore[type-var]  # it is an async generator
                async for message in responses:
                    yield convert.progress(message)
        except asyncio.CancelledError:
            if requests.error is not None:
                raise requests.error from None
            raise

    async def get(
        self, document_id: str, collection: str = "", span: Span | None = None, without_text: bool = False
    ) -> tuple[Document, str]:
        """Returns a document and its text, or the span's text."""
        stretch = None if span is None else span_pb2.Span(start=span.start, end=span.end)
        request = pb.GetDocumentRequest(
            collection=collection, document_id=document_id, span=stretch, without_text=without_text
        )
        answer = await self._caller.unary(self._stub.GetDocument, request, headers=about_collection(collection))
        return convert.document(answer.document), answer.text

    async def list(
        self, collection: str = "", page_size: int = DEFAULT_PAGE, page_token: str = "", table_id: str = ""
    ) -> tuple[tuple[Document, ...], str]:
        """Returns a page of documents by id, of one table if named, and the next page's token (empty at the end)."""
        request = pb.ListDocumentsRequest(
            collection=collection, page_size=page_size, page_token=page_token, table_id=table_id
        )
        answer = await self._caller.unary(self._stub.ListDocuments, request, headers=about_collection(collection))
        return tuple(convert.document(message) for message in answer.documents), answer.next_page_token

    async def delete(
        self, document_ids: Sequence[str], collection: str = ""
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Deletes documents; returns the ids of those that it deleted, and of those that were not there."""
        request = pb.DeleteDocumentsRequest(collection=collection, document_ids=document_ids)
        answer = await self._caller.unary(self._stub.DeleteDocuments, request, headers=about_collection(collection))
        return tuple(answer.deleted), tuple(answer.missing)


async def _requests(first: Upload, rest: AsyncIterator[Upload]) -> AsyncIterator[pb.IngestRequest]:
    async for request in _parts(first):
        yield request
    async for upload in rest:
        if (upload.collection or DEFAULT_COLLECTION) != (first.collection or DEFAULT_COLLECTION):
            fault = f"{upload.collection!r} came in a stream to {first.collection!r}"
            raise InvalidInput("collection", fault, "ingest the documents of each collection by themselves")
        async for request in _parts(upload):
            yield request


async def _parts(upload: Upload) -> AsyncIterator[pb.IngestRequest]:
    yield pb.IngestRequest(header=_header(upload))
    for part in _cut(upload.data):
        yield pb.IngestRequest(data=part)
    if upload.parts is not None:
        async for block in upload.parts:
            for part in _cut(block):
                yield pb.IngestRequest(data=part)
    yield pb.IngestRequest(end=pb.DocumentEnd())


def _cut(data: bytes) -> Iterator[bytes]:
    return (data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES))


async def _as_async(uploads: AsyncIterable[Upload] | Iterable[Upload]) -> AsyncIterator[Upload]:
    if isinstance(uploads, AsyncIterable):
        async for upload in uploads:
            yield upload
    else:
        for upload in uploads:
            yield upload


def _header(upload: Upload) -> pb.DocumentHeader:
    return pb.DocumentHeader(
        correlation_id=upload.correlation_id,
        collection=upload.collection,
        document_id=upload.document_id,
        title=upload.title,
        uri=upload.uri,
        media_type=upload.media_type,
        size_bytes=len(upload.data) or upload.size_bytes,
        metadata=upload.metadata,
    )
