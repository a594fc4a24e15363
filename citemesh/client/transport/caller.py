"""A call's time limit, its headers, and its errors as domain errors."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import grpc

from citemesh.client.transport.request_stream import RequestStream
from citemesh.contract.bounds import DEFAULT_COLLECTION
from citemesh.errors import CiteMeshError, DeadlineExceeded, Unavailable
from citemesh.kit import call_context
from citemesh.kit.collection_scope import COLLECTION_HEADER
from citemesh.kit.status import to_error

Headers = Sequence[tuple[str, str]]
EARLY_S = 0.05
"""Every hop keeps the deadline by its own clock; one that is early breaks the stream off before this one's time."""


def about_collection(name: str) -> Headers:
    """Returns the header by which the mesh finds the replica that holds a collection; an empty name is the default's.

    A name that no collection can have, and no header either, is left to the service to refuse.
    """
    name = name or DEFAULT_COLLECTION
    return ((COLLECTION_HEADER, name),) if name.isascii() and name.isprintable() else ()


class Caller:
    """Makes calls to one service over one channel.

    Args:
        service: names the other side in errors.
        key: credential shown to the mesh; empty shows none.
        timeout_s: longest a call may take where its own caller sets no tighter limit.
    """

    def __init__(self, channel: grpc.aio.Channel, service: str, key: str, timeout_s: float) -> None:
        self.channel = channel
        self.service = service
        self._key = key
        self._timeout_s = timeout_s

    async def unary(
        self, method: Callable[..., Any], request: Any, timeout_s: float | None = None, headers: Headers = ()
    ) -> Any:
        """Sends one request and returns the response. Raises the service's error.

        Args:
            timeout_s: overrides the caller's own.
            headers: sent beside those that every call has.
        """
        limit = self._limit(timeout_s)
        ends_at = asyncio.get_running_loop().time() + limit
        try:
            return await method(request, timeout=limit, metadata=self._metadata(headers))
        except grpc.RpcError as error:
            raise self._domain_error(error, ends_at) from None

    async def stream(
        self, method: Callable[..., Any], request: Any, timeout_s: float | None = None, headers: Headers = ()
    ) -> AsyncIterator[Any]:
        """Sends a request, or a RequestStream of them, and yields the responses; otherwise as `unary`.

        Leaving the iteration cancels the call.
        """
        limit = self._limit(timeout_s)
        ends_at = asyncio.get_running_loop().time() + limit
        call = method(request, timeout=limit, metadata=self._metadata(headers))
        if isinstance(request, RequestStream):
            request.over(call)
        try:
            async for response in call:
                yield response
        except grpc.aio.AioRpcError as error:
            status = await request.status_behind(error) if isinstance(request, RequestStream) else error
            if status is not None:
                raise self._domain_error(status, ends_at) from None
        finally:
            call.cancel()

    def _domain_error(self, status: grpc.RpcError, ends_at: float) -> CiteMeshError:
        error = to_error(status, self.service)
        if isinstance(error, Unavailable) and asyncio.get_running_loop().time() >= ends_at - EARLY_S:
            return DeadlineExceeded(f"{self.service} did not answer in time")
        return error

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
