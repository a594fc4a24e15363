"""How a call is made: its time limit, its headers, and its errors as domain errors."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import grpc

from citemesh.client.request_stream import RequestStream
from citemesh.errors import CiteMeshError, DeadlineExceeded, Unavailable
from citemesh.kit import call_context
from citemesh.kit.status import to_error

Headers = Sequence[tuple[str, str]]
# Every hop keeps the deadline by its own clock; one that is early breaks the stream off before ours has struck.
EARLY_S = 0.05


class Caller:
    """Makes calls to one service over one channel.

    Args:
        service: what errors call the other side.
        key: credential shown to the mesh; empty shows none.
        timeout_s: longest a call may take where its own caller sets no tighter limit.
    """

    def __init__(self, channel: grpc.aio.Channel, service: str, key: str = "", timeout_s: float = 30.0) -> None:
        self.channel = channel
        self.service = service
        self._key = key
        self._timeout_s = timeout_s

    async def unary(
        self, method: Callable[..., Any], request: Any, timeout_s: float | None = None, headers: Headers = ()
    ) -> Any:
        """One request, one response, with more headers than every call has. Raises the error that was told."""
        limit = self._limit(timeout_s)
        ends_at = asyncio.get_running_loop().time() + limit
        try:
            return await method(request, timeout=limit, metadata=self._metadata(headers))
        except grpc.RpcError as error:
            raise self._told(error, ends_at) from None

    async def stream(
        self, method: Callable[..., Any], request: Any, timeout_s: float | None = None, headers: Headers = ()
    ) -> AsyncIterator[Any]:
        """One request (or many, as Sent), many responses. Leaving the iteration cancels the call."""
        limit = self._limit(timeout_s)
        ends_at = asyncio.get_running_loop().time() + limit
        call = method(request, timeout=limit, metadata=self._metadata(headers))
        if isinstance(request, RequestStream):
            request.over(call)
        try:
            async for response in call:
                yield response
        except grpc.aio.AioRpcError as error:
            ended = await request.ended_with(error) if isinstance(request, RequestStream) else error
            if ended is not None:
                raise self._told(ended, ends_at) from None
        finally:
            call.cancel()

    def _told(self, error: grpc.RpcError, ends_at: float) -> CiteMeshError:
        told = to_error(error, self.service)
        if isinstance(told, Unavailable) and asyncio.get_running_loop().time() >= ends_at - EARLY_S:
            return DeadlineExceeded(f"{self.service} did not answer in time")
        return told

    def _limit(self, timeout_s: float | None) -> float:
        limit = call_context.remaining_s(self._timeout_s if timeout_s is None else timeout_s)
        if limit <= 0:
            raise DeadlineExceeded(f"no time was left to call {self.service}")
        return limit

    def _metadata(self, more: Headers) -> tuple[tuple[str, str], ...]:
        headers = [*call_context.to_headers(call_context.current()), *more]
        if self._key:
            headers.append(("authorization", f"Bearer {self._key}"))
        return tuple(headers)
