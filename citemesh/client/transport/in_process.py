"""A service in the caller's process: its own servicers behind its own clients, without a socket or serialisation.

Servicers get the messages of the clients' stubs, so that a service is checked and converted as over the wire. Headers,
deadlines, the call's context, cancellation and statuses work as over the wire too. Limits of messages don't apply, and
calls make no spans of their own. Benches compare the mesh with it, and tests compose services by it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self, cast

import grpc

from citemesh.client.transport.caller import Caller
from citemesh.client.transport.in_process_call import CallSide, Metadata, ResponseStream, status
from citemesh.kit.interceptors import CallInterceptor
from citemesh.kit.server import ServiceSpec


@asynccontextmanager
async def in_process(spec: ServiceSpec, timeout_s: float = 30.0) -> AsyncIterator[Caller]:
    """Starts a service, yields what its clients call through, and stops it. Raises as the service's start does.

    timeout_s: longest a call may take where its own caller sets no tighter limit.
    """
    try:
        await spec.start()
        async with InProcessChannel(spec) as channel:
            yield Caller(channel, spec.name, "", timeout_s)
    finally:
        await spec.stop()


class InProcessChannel(grpc.aio.Channel):
    """A channel whose calls run the servicers of a service, each as the service's server would run it."""

    def __init__(self, spec: ServiceSpec) -> None:
        self._interceptor = CallInterceptor(spec.name, lambda: True)
        self._handlers = _Handlers()
        self._streams: set[ResponseStream] = set()
        for service in spec.services:
            service.add(cast(grpc.aio.Server, self._handlers))

    def unary_unary(self, method: str, *_: Any, **__: Any) -> Any:
        """Returns a function that makes a call with one request and one response."""
        return partial(self._single, method)

    def stream_unary(self, method: str, *_: Any, **__: Any) -> Any:
        """Returns a function that makes a call with many requests and one response."""
        return partial(self._single, method)

    def unary_stream(self, method: str, *_: Any, **__: Any) -> Any:
        """Returns a function that makes a call with one request and many responses."""
        return partial(self._stream, method)

    def stream_stream(self, method: str, *_: Any, **__: Any) -> Any:
        """Returns a function that makes a call with many of both."""
        return partial(self._stream, method)

    async def _single(self, method: str, request: Any, timeout: float | None = None, metadata: Metadata = ()) -> Any:
        handler, side = await self._handler(method), CallSide(timeout, metadata)
        return await side.run((handler.unary_unary or handler.stream_unary)(request, side))

    def _stream(
        self, method: str, request: Any, timeout: float | None = None, metadata: Metadata = ()
    ) -> ResponseStream:
        stream = ResponseStream(self._handler(method), request, CallSide(timeout, metadata))
        self._streams.add(stream)
        stream.add_done_callback(self._streams.discard)
        return stream

    async def _handler(self, method: str) -> Any:
        """The handler of a method, within what the kit does around every handler."""

        async def find(_: grpc.HandlerCallDetails) -> Any:
            return self._handlers.by_path.get(method)

        handler = await self._interceptor.intercept_service(find, cast(grpc.HandlerCallDetails, _Details(method)))
        if handler is None:
            raise status(grpc.StatusCode.UNIMPLEMENTED, f"there is no {method}")
        return handler

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self, grace: float | None = None) -> None:
        """Cancels the calls that still stream, and waits for their ends."""
        await asyncio.gather(*(stream.leave() for stream in list(self._streams)))

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        """Always READY."""
        return grpc.ChannelConnectivity.READY

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Waits for ever after READY, since the state does not change."""
        if last_observed_state is grpc.ChannelConnectivity.READY:
            await asyncio.Event().wait()

    async def channel_ready(self) -> None:
        """Returns at once."""


@dataclass(frozen=True, slots=True)
class _Details:
    """What the interceptor reads of a call before its handler runs."""

    method: str
    invocation_metadata: Metadata = ()


class _Handlers:
    """Stands in for a server where servicers are added to one; keeps their handlers by path."""

    def __init__(self) -> None:
        self.by_path: dict[str, Any] = {}

    def add_registered_method_handlers(self, service: str, handlers: dict[str, Any]) -> None:
        """Adds the handlers of a service by their methods' names."""
        self.by_path |= {f"/{service}/{name}": handler for name, handler in handlers.items()}

    def add_generic_rpc_handlers(self, handlers: object) -> None:
        """Does nothing: they are the same handlers again."""
