"""The gateway's gRPC services."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from grpc.aio import ServicerContext

from citemesh.api.query.v1 import query_service_pb2 as pb
from citemesh.api.query.v1 import thread_service_pb2 as threads
from citemesh.api.query.v1.query_service_pb2_grpc import QueryServiceServicer
from citemesh.api.query.v1.thread_service_pb2_grpc import ThreadServiceServicer
from citemesh.errors import NotSupported
from gateway import convert
from gateway.answering import Answering

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
    """Conversations are not kept yet."""

    async def GetThread(self, request: threads.GetThreadRequest, context: Context) -> threads.GetThreadResponse:
        """Not built yet."""
        raise _not_yet()

    async def ListThreads(self, request: threads.ListThreadsRequest, context: Context) -> threads.ListThreadsResponse:
        """Not built yet."""
        raise _not_yet()

    async def DeleteThread(
        self, request: threads.DeleteThreadRequest, context: Context
    ) -> threads.DeleteThreadResponse:
        """Not built yet."""
        raise _not_yet()


def _not_yet() -> NotSupported:
    return NotSupported("keeping threads", "ask each question by itself")
