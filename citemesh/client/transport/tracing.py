"""Client spans of calls.

OpenTelemetry's aio client interceptors hand back a bare generator for a streaming call, and wait for the end of a
unary one themselves: cancelling the call then doesn't reach the wire and its span stays open when the caller leaves
early (https://github.com/open-telemetry/opentelemetry-python-contrib/issues/2014 and …/issues/3271, both open). These
keep the call itself, so that cancellation works, and end the span when the call is done, however it ends.
"""

from typing import Any

import grpc
from grpc.aio import ClientCallDetails, Metadata
from opentelemetry.propagate import inject
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, get_tracer, set_span_in_context

from citemesh.client.transport.call_status import status_of

tracer = get_tracer("citemesh.client")
UNTRACED = ("/grpc.health.",)
"""Probes come every second or so and would drown the traces of real calls."""


class UnaryUnaryTracing(grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[type-arg]  # generic in the stubs alone
    """A client span around a call with one request and one response."""

    async def intercept_unary_unary(self, continuation: Any, details: ClientCallDetails, request: Any) -> Any:
        """Makes the call within a span."""
        return await _traced(continuation, details, request)


class UnaryStreamTracing(grpc.aio.UnaryStreamClientInterceptor):  # type: ignore[type-arg]  # generic in the stubs alone
    """A client span around a call with one request and many responses."""

    async def intercept_unary_stream(self, continuation: Any, details: ClientCallDetails, request: Any) -> Any:
        """Makes the call within a span."""
        return await _traced(continuation, details, request)


class StreamStreamTracing(grpc.aio.StreamStreamClientInterceptor):  # type: ignore[type-arg]  # generic in the stubs alone
    """A client span around a call with many of both."""

    async def intercept_stream_stream(self, continuation: Any, details: ClientCallDetails, requests: Any) -> Any:
        """Makes the call within a span."""
        return await _traced(continuation, details, requests)


async def _traced(continuation: Any, details: ClientCallDetails, request: Any) -> Any:
    name = _path(details)
    if name.startswith(UNTRACED):
        return await continuation(details, request)
    span = _start(name)
    try:
        call = await continuation(_carrying(details, span), request)
    except BaseException as error:
        _end(span, grpc.StatusCode.UNKNOWN, str(error))
        raise
    call.add_done_callback(lambda done: _finish(span, done))
    return call


def _path(details: ClientCallDetails) -> str:
    method: Any = details.method  # bytes at run time, text in the stubs
    return method.decode() if isinstance(method, bytes) else str(method)


def _start(name: str) -> Span:
    service, _, action = name.lstrip("/").partition("/")
    attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": action}
    return tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes)


def _carrying(details: ClientCallDetails, span: Span) -> ClientCallDetails:
    carrier: dict[str, str] = {}
    inject(carrier, context=set_span_in_context(span))
    metadata = Metadata(*(details.metadata or ()), *carrier.items())
    return ClientCallDetails(details.method, details.timeout, metadata, details.credentials, details.wait_for_ready)


def _finish(span: Span, call: Any) -> None:
    status = status_of(call)
    # The core call alone knows who cancelled it.
    core = getattr(call, "_cython_call", None)
    left = status.code() is grpc.StatusCode.CANCELLED and core is not None and core.is_locally_cancelled()
    _end(span, status.code(), status.details() or "", left)


def _end(span: Span, code: grpc.StatusCode, details: str, left: bool = False) -> None:
    """Ends a span. A call that its own caller left, having had enough of it, is no error."""
    span.set_attribute("rpc.grpc.status_code", code.value[0])
    if code is not grpc.StatusCode.OK and not left:
        span.set_status(Status(StatusCode.ERROR, details))
    span.end()
