"""The gateway's gRPC services."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from grpc.aio import ServicerContext

from citemesh.api.query.v1 import query_service_pb2 as pb
from citemesh.api.query.v1 import thread_service_pb2 as threads
from citemesh.api.query.v1.query_service_pb2_grpc import QueryServiceServicer
from citemesh.api.query.v1.thread_service_pb2_grpc import ThreadServiceServicer
from gateway import convert
from gateway.answering import Answering
from gateway.threads.owner import current_owner
from gateway.threads.store import ThreadStore

Context = ServicerContext[Any, Any]


class QueryService(QueryServiceServicer):
    """Answers questions over gRPC."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering

    async def Ask(self, request: pb.AskRequest, context: Context) -> AsyncIterator[pb.AskResponse]:
        """Streams the events of an answer."""
        async with aclosing(self._answering.ask(convert.question(request))) as events:
            async for event in events:
                yield convert.response(event)

    async def Search(self, request: pb.SearchRequest, context: Context) -> pb.SearchResponse:
        """Finds passages."""
        sources = await self._answering.search(
            request.query,
            request.collection,
            request.top_k,
            tuple(request.source_types),
            convert.search_filter(request.filter),
            tuple(request.more_collections),
        )
        return pb.SearchResponse(sources=map(convert.source, sources))


class ThreadService(ThreadServiceServicer):
    """Keeps conversations, each for the caller who began it."""

    def __init__(self, store: ThreadStore) -> None:
        self._store = store

    async def GetThread(self, request: threads.GetThreadRequest, context: Context) -> threads.GetThreadResponse:
        """Reads a thread."""
        thread, turns = await self._store.read(current_owner(), convert.thread_id(request.thread_id))
        return threads.GetThreadResponse(thread=convert.thread(thread), turns=map(convert.turn, turns))

    async def ListThreads(self, request: threads.ListThreadsRequest, context: Context) -> threads.ListThreadsResponse:
        """Lists the caller's threads."""
        size = convert.page_size(request.page_size)
        page = await self._store.list(current_owner(), request.page_token, size)
        return threads.ListThreadsResponse(threads=map(convert.thread, page.threads), next_page_token=page.next_token)

    async def DeleteThread(
        self, request: threads.DeleteThreadRequest, context: Context
    ) -> threads.DeleteThreadResponse:
        """Deletes a thread."""
        await self._store.delete(current_owner(), convert.thread_id(request.thread_id))
        return threads.DeleteThreadResponse()
