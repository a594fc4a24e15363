"""Gives each HTTP request the context that a gRPC call has: deadline, priority, identity and a server span."""

import math
from collections.abc import Callable, Mapping

from opentelemetry import propagate, trace
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citemesh.errors import InvalidInput
from citemesh.kit import call_context
from gateway.rest.core.endpoint import Shape
from gateway.rest.core.errors import Problem, problem

TIMEOUT_HEADER = "x-request-timeout-ms"
UNTRACED = ("/healthz", "/readyz")
tracer = trace.get_tracer("citemesh.gateway")


class HttpCallContext:
    """ASGI middleware that sets the call's context and span around an application."""

    def __init__(self, app: ASGIApp, shape_of: Callable[[str], Shape] = lambda _: Problem.native) -> None:
        self._app = app
        self._shape_of = shape_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Runs the application within the context."""
        if scope["type"] != "http" or scope["path"] in UNTRACED:
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        try:
            context = call_context.from_headers(headers, timeout_s(headers))
        except InvalidInput as error:
            told = problem(error)
            body = self._shape_of(scope["path"])(told)
            return await JSONResponse(body, told.status)(scope, receive, send)
        with call_context.calling(context):
            return await self._traced(scope, receive, send, headers)

    async def _traced(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        attributes = {"http.request.method": scope["method"], "url.path": scope["path"], "url.scheme": scope["scheme"]}
        parent = propagate.extract(headers)
        with tracer.start_as_current_span(
            f"{scope['method']} {scope['path']}", parent, trace.SpanKind.SERVER, attributes
        ) as span:

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(trace.StatusCode.ERROR)
                await send(message)

            await self._app(scope, receive, noting)


def timeout_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the caller gives; None where it doesn't say. Raises InvalidInput for nonsense."""
    text = headers.get(TIMEOUT_HEADER)
    if text is None:
        return None
    try:
        milliseconds = float(text)
    except ValueError:
        milliseconds = math.nan
    if not 0 < milliseconds < math.inf:
        raise InvalidInput(TIMEOUT_HEADER, f"is {text[:40]!r}", "send a number of milliseconds over 0")
    return milliseconds / 1000
