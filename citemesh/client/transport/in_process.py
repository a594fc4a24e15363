"""A service without its process: its own servicers behind its own clients, with no socket, no sidecar and no bytes.

Messages go from a client's stub straight to the servicer's method and back, so that a service used in one process is
checked and converted exactly as over the wire. Benches compare the mesh with it, and tests compose services by it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import grpc

from citemesh.client.transport.caller import Caller, Headers
from citemesh.client.transport.request_stream import RequestStream
from citemesh.errors import DeadlineExceeded, NotSupported
from citemesh.kit import call_context
from citemesh.kit.channel_options import ACCEPTED
from citemesh.kit.server import ServiceSpec

Handler = Any  # grpc.RpcMethodHandler, whose stubs know the synchronous kind alone


class _Handlers:
    """Takes a service's handlers as a gRPC server would. by_path: handler by "/package.Service/Method"."""

    def __init__(self) -> None:
        self.by_path: dict[str, Handler] = {}

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Handler]) -> None:
        """Takes the handlers of one gRPC service; the generated code calls it."""
        self.by_path |= {f"/{service}/{method}": handler for method, handler in handlers.items()}

    def add_generic_rpc_handlers(self, handlers: object) -> None:
        """Takes nothing: the generated code calls it with the same handlers once more."""


@dataclass(frozen=True, slots=True)
class _Method:
    """A stub's method: the handler of a path."""

    path: str
    handler: Handler


class _Channel:
    """The channel that a stub takes its methods from."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers

    def _method(self, path: str, **_: object) -> _Method:
        return _Method(path, self._handlers.get(path))

    unary_unary = unary_stream = stream_unary = stream_stream = _method


class _AcceptedCall:
    """A call as a stream of requests needs it: accepted, and never failing to write."""

    async def initial_metadata(self) -> tuple[tuple[str, str], ...]:
        """Says that requests may be sent."""
        return (ACCEPTED,)

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        """Drops the callback: errors come as they are, so there is no status to wait for."""


class InProcessCaller(Caller):
    """Makes calls to a service in this process. Errors are the service's own."""

    def __init__(self, spec: ServiceSpec, timeout_s: float = 30.0) -> None:
        handlers = _Handlers()
        for registration in spec.services:
            registration.add(cast("grpc.aio.Server", handlers))
        super().__init__(cast("grpc.aio.Channel", _Channel(handlers.by_path)), spec.name, "", timeout_s)

    async def unary(
        self, method: Callable[..., Any], request: Any, timeout_s: float | None = None, headers: Headers = ()
    ) -> Any:
        """Sends one request and returns the response. Raises its error, or DeadlineExceeded after the limit."""
        handler, limit = self._handler(method), self._limit(timeout_s)
        with call_context.calling(self._context(limit, headers)):
            try:
                async with asyncio.timeout(limit):
                    return await handler.unary_unary(request, None)
            except TimeoutError:
                raise DeadlineExceeded(f"{self.service} did not answer in time") from None

    async def stream(
        self, method: Callable[..., Any], request: Any, timeout_s: float | None = None, headers: Headers = ()
    ) -> AsyncIterator[Any]:
        """Sends a request, or a RequestStream of them, and yields the responses. Leaving the iteration ends it."""
        handler, limit = self._handler(method), self._limit(timeout_s)
        if isinstance(request, RequestStream):
            request.over(_AcceptedCall())
        behaviour = handler.unary_stream or handler.stream_stream
        requests = aiter(request) if isinstance(request, RequestStream) else request
        with call_context.calling(self._context(limit, headers)):
            async with aclosing(behaviour(requests, None)) as responses:
                async for response in responses:
                    yield response

    def _handler(self, method: Any) -> Handler:
        if method.handler is None:
            raise NotSupported(method.path, f"{self.service} has no such method")
        return method.handler

    def _context(self, limit: float, headers: Headers) -> call_context.CallContext:
        """Returns the context that the call would have over the wire."""
        return call_context.from_headers(dict(self._metadata(headers)), limit)


@asynccontextmanager
async def in_process(spec: ServiceSpec, timeout_s: float = 30.0) -> AsyncIterator[InProcessCaller]:
    """Starts a service, and stops it at the end. Raises as its start does."""
    await spec.start()
    try:
        yield InProcessCaller(spec, timeout_s)
    finally:
        await spec.stop()
