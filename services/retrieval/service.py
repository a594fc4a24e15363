"""The three gRPC services of retrieval: a call is checked and handed to the engine, its answer turned into messages."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

import grpc
import numpy as np

from citemesh.api.retrieval.v1 import collection_service_pb2 as collections_pb
from citemesh.api.retrieval.v1 import collection_service_pb2_grpc as collections_grpc
from citemesh.api.retrieval.v1 import document_service_pb2 as documents_pb
from citemesh.api.retrieval.v1 import document_service_pb2_grpc as documents_grpc
from citemesh.api.retrieval.v1 import retrieval_service_pb2 as search_pb
from citemesh.api.retrieval.v1 import retrieval_service_pb2_grpc as search_grpc
from citemesh.errors import DeadlineExceeded, PreconditionFailed
from citemesh.kit import call_context
from services.retrieval import metrics
from services.retrieval.convert import collections, documents, pages, passages, searches, vectors
from services.retrieval.embedding.queue import EmbeddingQueue
from services.retrieval.engine import ChunkSearch, Snapshots, StoredCollections, StoredDocuments
from services.retrieval.ingestion.stream import IngestionStream
from services.retrieval.ingestion.upload import Part
from services.retrieval.types.query import Query
from services.retrieval.types.results import Results

Context = grpc.aio.ServicerContext[Any, Any]


class RetrievalService(search_grpc.RetrievalServiceServicer):
    """Finds passages. timeout_s: most seconds for a call."""

    def __init__(self, engine: ChunkSearch, embeddings: EmbeddingQueue, timeout_s: float) -> None:
        self._engine = engine
        self._embeddings = embeddings
        self._timeout_s = timeout_s

    async def Search(self, request: search_pb.SearchRequest, context: Context) -> search_pb.SearchResponse:
        """Embeds the query where the mode needs it, then searches."""
        query = searches.query(request)
        with metrics.timed_search(query.mode):
            async with _in_time(self._timeout_s, "the search was not done"):
                return passages.results(await self._results(query))

    async def BatchSearch(
        self, request: search_pb.BatchSearchRequest, context: Context
    ) -> search_pb.BatchSearchResponse:
        """Embeds the queries together, then searches."""
        queries = searches.queries(request)
        with metrics.timed_search("batch"):
            async with _in_time(self._timeout_s, "the searches were not done"):
                return passages.all_results(await self._engine.search_many(await self._embedded(queries)))

    async def Embed(self, request: search_pb.EmbedRequest, context: Context) -> search_pb.EmbedResponse:
        """Embeds texts as documents or questions are."""
        texts, as_queries = vectors.texts(request)
        async with _in_time(self._timeout_s, "the texts were not embedded"):
            return await self._vectors(texts, as_queries)

    async def _vectors(self, texts: Sequence[str], as_queries: bool) -> search_pb.EmbedResponse:
        encoder = self._embeddings.encoder
        if as_queries:
            rows = np.stack(await self._embeddings.queries(texts))
        else:
            rows = await self._embeddings.passages(texts)
        tokens = await self._embeddings.token_count(texts, "query" if as_queries else "passage")
        return vectors.answer(rows, encoder.embedding.model, tokens)

    async def _results(self, query: Query) -> Results:
        (embedded,) = await self._embedded([query])
        with metrics.tracer.start_as_current_span("citemesh.search") as span:
            results = await self._engine.search(embedded)
            span.set_attributes({"citemesh.search.mode": query.mode, "citemesh.search.found": len(results.chunks)})
            return results

    async def _embedded(self, queries: Sequence[Query]) -> list[Query]:
        """The queries with their vectors, where their modes need some."""
        texts = [query.text for query in queries if query.mode != "lexical"]
        if not texts:
            return list(queries)
        with metrics.tracer.start_as_current_span("citemesh.embed"):
            vectors = iter(await self._embeddings.readable(texts))
        embedding = self._embeddings.encoder.embedding
        return [
            query if query.mode == "lexical" else replace(query, vector=next(vectors), embedding=embedding)
            for query in queries
        ]


class DocumentService(documents_grpc.DocumentServiceServicer):
    """Takes documents in and gives them back."""

    def __init__(self, documents: StoredDocuments, stream: IngestionStream, most_message_bytes: int) -> None:
        self._documents = documents
        self._stream = stream
        self._most_text_bytes = most_message_bytes - 65536

    async def Ingest(
        self, request_iterator: AsyncIterator[documents_pb.IngestRequest], context: Context
    ) -> AsyncIterator[documents_pb.IngestResponse]:
        """Reports each document's progress as it goes."""
        async with aclosing(_parts(request_iterator)) as parts, aclosing(self._stream.run(parts)) as reports:
            async for report in reports:
                metrics.count_document(report)
                yield documents.progress(report)

    async def GetDocument(
        self, request: documents_pb.GetDocumentRequest, context: Context
    ) -> documents_pb.GetDocumentResponse:
        """Reads a document, or a span of its text."""
        name = collections.name_of(request.collection)
        info, text = await self._documents.document(name, request.document_id, not request.without_text)
        return documents.document_text(request, info, text, self._most_text_bytes)

    async def ListDocuments(
        self, request: documents_pb.ListDocumentsRequest, context: Context
    ) -> documents_pb.ListDocumentsResponse:
        """Lists documents by id."""
        size, after = pages.size(request.page_size), pages.start(request.page_token)
        name = collections.name_of(request.collection)
        infos = await self._documents.documents(name, after, size + 1, request.table_id)
        token = pages.token(infos[size - 1].document_id) if len(infos) > size else ""
        return documents_pb.ListDocumentsResponse(
            documents=map(documents.document, infos[:size]), next_page_token=token
        )

    async def DeleteDocuments(
        self, request: documents_pb.DeleteDocumentsRequest, context: Context
    ) -> documents_pb.DeleteDocumentsResponse:
        """Deletes documents by id."""
        ids = documents.deletion(request)
        outcome = await self._documents.delete(collections.name_of(request.collection), ids)
        return documents_pb.DeleteDocumentsResponse(
            deleted=outcome.deleted, missing=outcome.missing, sequence_number=outcome.sequence
        )


class CollectionService(collections_grpc.CollectionServiceServicer):
    """Manages collections."""

    def __init__(self, store: StoredCollections, snapshots: Snapshots, embeddings: EmbeddingQueue) -> None:
        self._store = store
        self._snapshots = snapshots
        self._embeddings = embeddings

    async def CreateCollection(
        self, request: collections_pb.CreateCollectionRequest, context: Context
    ) -> collections_pb.CreateCollectionResponse:
        """Makes a collection for the loaded embedding model."""
        name, loaded = collections.new_name(request.name), self._embeddings.encoder.embedding
        if request.embedding_model not in ("", loaded.model):
            raise PreconditionFailed(
                "MODEL_MISMATCH",
                f"the embedding model {request.embedding_model[:80]!r} is not loaded",
                f"leave it empty for {loaded.model}, or start the service with that model",
            )
        info = await self._store.create(name, loaded)
        return collections_pb.CreateCollectionResponse(collection=collections.collection(info))

    async def ListCollections(
        self, request: collections_pb.ListCollectionsRequest, context: Context
    ) -> collections_pb.ListCollectionsResponse:
        """Lists collections by name."""
        size, after = pages.size(request.page_size), pages.start(request.page_token)
        infos = await self._store.collections(after, size + 1)
        token = pages.token(infos[size - 1].name) if len(infos) > size else ""
        return collections_pb.ListCollectionsResponse(
            collections=map(collections.collection, infos[:size]), next_page_token=token
        )

    async def GetCollection(
        self, request: collections_pb.GetCollectionRequest, context: Context
    ) -> collections_pb.GetCollectionResponse:
        """Reads a collection."""
        info = await self._store.collection(collections.name_of(request.name))
        return collections_pb.GetCollectionResponse(collection=collections.collection(info))

    async def DeleteCollection(
        self, request: collections_pb.DeleteCollectionRequest, context: Context
    ) -> collections_pb.DeleteCollectionResponse:
        """Deletes a collection. An empty name is refused: the default one has to be named."""
        sequence = await self._store.drop(collections.new_name(request.name))
        return collections_pb.DeleteCollectionResponse(sequence_number=sequence)

    async def Snapshot(
        self, request: collections_pb.SnapshotRequest, context: Context
    ) -> collections_pb.SnapshotResponse:
        """Copies a collection, or all of them, while the service runs."""
        return collections.snapshot(await self._snapshots.snapshot(request.name))


@asynccontextmanager
async def _in_time(limit_s: float, fault: str) -> AsyncIterator[None]:
    """Ends the block with the call's time, at most the limit. Raises DeadlineExceeded, which tells the fault."""
    try:
        async with asyncio.timeout(call_context.remaining_s(limit_s)):
            yield
    except TimeoutError:
        raise DeadlineExceeded(fault) from None


async def _parts(requests: AsyncIterator[documents_pb.IngestRequest]) -> AsyncGenerator[Part, None]:
    async for request in requests:
        yield documents.part(request)
