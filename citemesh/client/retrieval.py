"""Clients of the retrieval service: search, documents, collections.

Every call says in a header which collection it is about: where the collections are spread over replicas, the mesh
finds the one that holds it by that. So a call, or a stream of documents, is about one collection.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from itertools import chain

from citemesh.api.common.v1 import span_pb2
from citemesh.api.retrieval.v1 import collection_service_pb2 as collections
from citemesh.api.retrieval.v1 import document_service_pb2 as documents
from citemesh.api.retrieval.v1 import retrieval_service_pb2 as pb
from citemesh.api.retrieval.v1.collection_service_pb2_grpc import CollectionServiceStub
from citemesh.api.retrieval.v1.document_service_pb2_grpc import DocumentServiceStub
from citemesh.api.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceStub
from citemesh.client import convert
from citemesh.client.transport.caller import Caller, Headers
from citemesh.client.transport.request_stream import RequestStream
from citemesh.client.types import (
    Collection,
    Copied,
    Document,
    Embedded,
    IngestProgress,
    Passage,
    Search,
    SearchAnswer,
    SearchFilter,
    Span,
    Upload,
)
from citemesh.contract.bounds import DEFAULT_COLLECTION, PART_BYTES
from citemesh.errors import InvalidInput, NotSupported
from citemesh.kit.collection_scope import COLLECTION_HEADER, SHARD_HEADER

INGEST_TIMEOUT_S = 24 * 3600.0


def about(collection: str) -> Headers:
    """The header by which the mesh finds the replica that holds a collection; an empty name is the default's.

    A name that no collection can have, and no header either, is left to the service to refuse.
    """
    name = collection or DEFAULT_COLLECTION
    return ((COLLECTION_HEADER, name),) if name.isascii() and name.isprintable() else ()


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
        request, headers = convert.search(search), about(search.collection)
        answer = await self._caller.unary(self._stub.Search, request, headers=headers)
        return convert.search_answer(answer, search.view)

    async def find_many(self, searches: Sequence[Search]) -> tuple[SearchAnswer, ...]:
        """One answer a search, in their order; 1 to 256 searches. Makes one call a collection, all at once."""
        places: dict[str, list[int]] = {}
        for at, search in enumerate(searches):
            places.setdefault(search.collection or DEFAULT_COLLECTION, []).append(at)
        calls = [self._find_in(name, [searches[at] for at in found]) for name, found in places.items() or [("", [])]]
        answers = dict(zip(chain(*places.values()), chain(*await asyncio.gather(*calls)), strict=True))
        return tuple(answers[at] for at in range(len(searches)))

    async def embed(self, texts: Sequence[str], as_queries: bool = False) -> Embedded:
        """Vectors of 1 to 256 texts, embedded as documents are, or as questions."""
        role = "EMBED_ROLE_QUERY" if as_queries else "EMBED_ROLE_PASSAGE"
        answer = await self._caller.unary(self._stub.Embed, pb.EmbedRequest(texts=texts, role=role))
        found = tuple(tuple(vector.values) for vector in answer.vectors)
        return Embedded(found, answer.embedding_model, answer.tokens)

    async def _find_in(self, collection: str, searches: Sequence[Search]) -> list[SearchAnswer]:
        request = pb.BatchSearchRequest(searches=map(convert.search, searches))
        answer = await self._caller.unary(self._stub.BatchSearch, request, headers=about(collection))
        return [convert.search_answer(found, one.view) for one, found in zip(searches, answer.results, strict=True)]


class DocumentClient:
    """Takes documents in and gives them back."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = DocumentServiceStub(caller.channel)

    async def ingest(self, uploads: AsyncIterable[Upload] | Iterable[Upload]) -> AsyncIterator[IngestProgress]:
        """Sends documents of one collection; yields progress until each one is committed, unchanged or failed.

        What ``uploads`` raises is raised here; what was committed by then stays. Raises InvalidInput for a document
        of another collection than the first one's.
        """
        others = _as_async(uploads)
        first = await anext(others, None)
        if first is None:
            return
        requests = RequestStream(_requests(first, others))
        calls = self._caller.stream(self._stub.Ingest, requests, INGEST_TIMEOUT_S, about(first.collection))
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
        answer = await self._caller.unary(self._stub.GetDocument, request, headers=about(collection))
        return convert.document(answer.document), answer.text

    async def list(
        self, collection: str = "", page_size: int = 100, page_token: str = "", table_id: str = ""
    ) -> tuple[tuple[Document, ...], str]:
        """A page of documents by id, of one table where it is named, and the token of the next (empty at the end)."""
        request = documents.ListDocumentsRequest(
            collection=collection, page_size=page_size, page_token=page_token, table_id=table_id
        )
        answer = await self._caller.unary(self._stub.ListDocuments, request, headers=about(collection))
        return tuple(convert.document(message) for message in answer.documents), answer.next_page_token

    async def delete(
        self, document_ids: Sequence[str], collection: str = ""
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Deletes documents; answers the ids that are gone and those that were not there."""
        request = documents.DeleteDocumentsRequest(collection=collection, document_ids=document_ids)
        answer = await self._caller.unary(self._stub.DeleteDocuments, request, headers=about(collection))
        return tuple(answer.deleted), tuple(answer.missing)


class CollectionClient:
    """Keeps collections. shards: over how many replicas they are spread."""

    def __init__(self, caller: Caller, shards: int = 1) -> None:
        self._caller = caller
        self._shards = shards
        self._stub = CollectionServiceStub(caller.channel)

    async def create(self, name: str, embedding_model: str = "") -> Collection:
        """Makes a collection; an empty model takes the service's."""
        request = collections.CreateCollectionRequest(name=name, embedding_model=embedding_model)
        answer = await self._caller.unary(self._stub.CreateCollection, request, headers=about(name))
        return convert.collection(answer.collection)

    async def list(self) -> tuple[Collection, ...]:
        """All collections by name, of every replica. Raises Unavailable where one of them is down."""
        if self._shards == 1:
            return await self._list(())
        each = (self._list(((SHARD_HEADER, str(shard)),)) for shard in range(self._shards))
        return tuple(sorted(chain(*await asyncio.gather(*each)), key=lambda found: found.name))

    async def _list(self, headers: Headers) -> tuple[Collection, ...]:
        found: list[Collection] = []
        token = ""
        while True:
            request = collections.ListCollectionsRequest(page_token=token)
            answer = await self._caller.unary(self._stub.ListCollections, request, headers=headers)
            found += [convert.collection(message) for message in answer.collections]
            token = answer.next_page_token
            if not token:
                return tuple(found)

    async def get(self, name: str) -> Collection:
        """One collection."""
        request = collections.GetCollectionRequest(name=name)
        answer = await self._caller.unary(self._stub.GetCollection, request, headers=about(name))
        return convert.collection(answer.collection)

    async def delete(self, name: str) -> None:
        """Deletes a collection and its documents."""
        request = collections.DeleteCollectionRequest(name=name)
        await self._caller.unary(self._stub.DeleteCollection, request, headers=about(name))

    async def snapshot(self, name: str = "") -> Copied:
        """Copies a collection, or all of them, on the service's machine while it serves.

        Raises NotSupported for all of them where they are spread over replicas.
        """
        if not name and self._shards > 1:
            raise NotSupported("one copy of collections on several replicas", "name a collection, or copy each replica")
        headers = about(name) if name else ()
        request = collections.SnapshotRequest(name=name)
        answer = await self._caller.unary(self._stub.Snapshot, request, headers=headers)
        return Copied(answer.directory, answer.sequence_number, answer.documents, answer.chunks)


async def _requests(first: Upload, others: AsyncIterator[Upload]) -> AsyncIterator[documents.IngestRequest]:
    async for request in _parts(first):
        yield request
    async for upload in others:
        if (upload.collection or DEFAULT_COLLECTION) != (first.collection or DEFAULT_COLLECTION):
            fault = f"{upload.collection!r} came in a stream to {first.collection!r}"
            raise InvalidInput("collection", fault, "ingest the documents of each collection by themselves")
        async for request in _parts(upload):
            yield request


async def _parts(upload: Upload) -> AsyncIterator[documents.IngestRequest]:
    yield documents.IngestRequest(header=_header(upload))
    for part in _cut(upload.data):
        yield documents.IngestRequest(data=part)
    if upload.parts is not None:
        async for longer in upload.parts:
            for part in _cut(longer):
                yield documents.IngestRequest(data=part)
    yield documents.IngestRequest(end=documents.DocumentEnd())


def _cut(data: bytes) -> Iterator[bytes]:
    return (data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES))


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
        size_bytes=len(upload.data) or upload.size_bytes,
        metadata=upload.metadata,
    )
