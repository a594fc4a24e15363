"""Clients of the retrieval service: search, documents, collections."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from contextlib import aclosing

from citemesh.api.common.v1 import span_pb2
from citemesh.api.retrieval.v1 import collection_service_pb2 as collections
from citemesh.api.retrieval.v1 import document_service_pb2 as documents
from citemesh.api.retrieval.v1 import retrieval_service_pb2 as pb
from citemesh.api.retrieval.v1.collection_service_pb2_grpc import CollectionServiceStub
from citemesh.api.retrieval.v1.document_service_pb2_grpc import DocumentServiceStub
from citemesh.api.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceStub
from citemesh.client import convert
from citemesh.client.caller import Caller, Sent
from citemesh.client.types import (
    Collection,
    Copied,
    Document,
    IngestProgress,
    Passage,
    Search,
    SearchAnswer,
    SearchFilter,
    Span,
    Upload,
)

PART_BYTES = 256 * 1024
INGEST_TIMEOUT_S = 24 * 3600.0


class RetrievalClient:
    """Finds passages."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = RetrievalServiceStub(caller.channel)

    async def search(
        self,
        query: str,
        collection: str = "",
        top_k: int = 10,
        mode: str = "",
        source_types: Sequence[str] = (),
        document_ids: Sequence[str] = (),
        with_token_ids: bool = False,
        with_token_vectors: bool = False,
    ) -> tuple[Passage, ...]:
        """Passages, best first. mode: "", "hybrid", "dense" or "lexical"."""
        chosen = SearchFilter(document_ids=tuple(document_ids), source_types=tuple(source_types))
        asked = Search(query, collection, top_k, mode, chosen, with_token_ids, with_token_vectors)
        return (await self.find(asked)).passages

    async def find(self, search: Search) -> SearchAnswer:
        """Passages for a search, and what a reader should know of them."""
        return convert.search_answer(await self._caller.unary(self._stub.Search, convert.search(search)))

    async def find_many(self, searches: Sequence[Search]) -> tuple[SearchAnswer, ...]:
        """One answer a search, in their order; 1 to 256 searches."""
        request = pb.BatchSearchRequest(searches=map(convert.search, searches))
        answer = await self._caller.unary(self._stub.BatchSearch, request)
        return tuple(map(convert.search_answer, answer.results))


class DocumentClient:
    """Takes documents in and gives them back."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = DocumentServiceStub(caller.channel)

    async def ingest(self, uploads: AsyncIterable[Upload] | Iterable[Upload]) -> AsyncIterator[IngestProgress]:
        """Sends documents; yields progress until each one is committed, unchanged or failed.

        What ``uploads`` raises is raised here; what was committed by then stays.
        """
        requests = Sent(_requests(uploads))
        calls = self._caller.stream(self._stub.Ingest, requests, INGEST_TIMEOUT_S)
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
        """A document and its text, or the span's text."""
        asked = None if span is None else span_pb2.Span(start=span.start, end=span.end)
        request = documents.GetDocumentRequest(
            collection=collection, document_id=document_id, span=asked, without_text=without_text
        )
        answer = await self._caller.unary(self._stub.GetDocument, request)
        return convert.document(answer.document), answer.text

    async def list(
        self, collection: str = "", page_size: int = 100, page_token: str = "", table_id: str = ""
    ) -> tuple[tuple[Document, ...], str]:
        """A page of documents by id, of one table where it is named, and the token of the next (empty at the end)."""
        request = documents.ListDocumentsRequest(
            collection=collection, page_size=page_size, page_token=page_token, table_id=table_id
        )
        answer = await self._caller.unary(self._stub.ListDocuments, request)
        return tuple(convert.document(message) for message in answer.documents), answer.next_page_token

    async def delete(
        self, document_ids: Sequence[str], collection: str = ""
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Deletes documents; answers the ids that are gone and those that were not there."""
        request = documents.DeleteDocumentsRequest(collection=collection, document_ids=document_ids)
        answer = await self._caller.unary(self._stub.DeleteDocuments, request)
        return tuple(answer.deleted), tuple(answer.missing)


class CollectionClient:
    """Keeps collections."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = CollectionServiceStub(caller.channel)

    async def create(self, name: str, embedding_model: str = "") -> Collection:
        """Makes a collection; an empty model takes the service's."""
        request = collections.CreateCollectionRequest(name=name, embedding_model=embedding_model)
        return convert.collection((await self._caller.unary(self._stub.CreateCollection, request)).collection)

    async def list(self) -> tuple[Collection, ...]:
        """All collections by name."""
        found: list[Collection] = []
        token = ""
        while True:
            request = collections.ListCollectionsRequest(page_token=token)
            answer = await self._caller.unary(self._stub.ListCollections, request)
            found += [convert.collection(message) for message in answer.collections]
            token = answer.next_page_token
            if not token:
                return tuple(found)

    async def get(self, name: str) -> Collection:
        """One collection."""
        request = collections.GetCollectionRequest(name=name)
        return convert.collection((await self._caller.unary(self._stub.GetCollection, request)).collection)

    async def delete(self, name: str) -> None:
        """Deletes a collection and its documents."""
        await self._caller.unary(self._stub.DeleteCollection, collections.DeleteCollectionRequest(name=name))

    async def snapshot(self, name: str = "") -> Copied:
        """Copies a collection, or all of them, on the service's machine while it serves."""
        answer = await self._caller.unary(self._stub.Snapshot, collections.SnapshotRequest(name=name))
        return Copied(answer.directory, answer.sequence_number, answer.documents, answer.chunks)


async def _requests(
    uploads: AsyncIterable[Upload] | Iterable[Upload],
) -> AsyncIterator[documents.IngestRequest]:
    async for upload in _as_async(uploads):
        yield documents.IngestRequest(header=_header(upload))
        for start in range(0, len(upload.data), PART_BYTES):
            yield documents.IngestRequest(data=upload.data[start : start + PART_BYTES])
        yield documents.IngestRequest(end=documents.DocumentEnd())


async def _as_async(uploads: AsyncIterable[Upload] | Iterable[Upload]) -> AsyncIterator[Upload]:
    if isinstance(uploads, AsyncIterable):
        async for upload in uploads:
            yield upload
    else:
        for upload in uploads:
            yield upload


def _header(upload: Upload) -> documents.DocumentHeader:
    return documents.DocumentHeader(
        correlation_id=upload.correlation_id,
        collection=upload.collection,
        document_id=upload.document_id,
        title=upload.title,
        uri=upload.uri,
        media_type=upload.media_type,
        size_bytes=len(upload.data),
        metadata=upload.metadata,
    )
