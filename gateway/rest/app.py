"""The HTTP application: routes, context and errors."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from citemesh.errors import CiteMeshError
from gateway.answering import Answering
from gateway.rest.context import CallContext
from gateway.rest.errors import Problem, problem
from gateway.rest.health import HealthApi, Probe
from gateway.rest.native import NativeApi
from gateway.rest.openai import OpenAiApi

OPENAI_PATHS = ("/v1/chat/", "/v1/models")
CLIENT_GONE = 499


def build(answering: Answering, probe: Probe, most_bytes: int, idle_s: float) -> Starlette:
    """The application.

    Args:
        probe: asks the health of the other rooms.
        most_bytes: largest request body.
        idle_s: silence after which an event stream gets a comment.
    """
    native = NativeApi(answering, most_bytes, idle_s)
    openai = OpenAiApi(answering, most_bytes, idle_s)
    health = HealthApi(probe)
    routes = [
        Route("/v1/query", native.query, methods=["POST"]),
        Route("/v1/chat/completions", openai.completions, methods=["POST"]),
        Route("/v1/models", openai.models),
        Route("/v1/models/{model}", openai.model),
        Route("/healthz", health.live),
        Route("/readyz", health.ready),
    ]
    handlers = {
        CiteMeshError: on_error,
        HTTPException: on_http_error,
        ClientDisconnect: on_gone,
        Exception: on_error,
    }
    return Starlette(routes=routes, exception_handlers=handlers, middleware=[Middleware(CallContext)])  # type: ignore[arg-type]  # handlers by class


async def on_error(request: Request, error: Exception) -> Response:
    """An error as JSON, in the shape that the path's clients know."""
    return _response(request, problem(error))


async def on_http_error(request: Request, error: HTTPException) -> Response:
    """A path or method that there is not."""
    code = {404: "NO_SUCH_PATH", 405: "METHOD_NOT_ALLOWED"}.get(error.status_code, "HTTP_ERROR")
    message = f"{request.method} {request.url.path}: {error.detail}"
    return _response(request, Problem(error.status_code, code, message), error.headers)


async def on_gone(request: Request, error: ClientDisconnect) -> Response:
    """No one reads this; it is for the span."""
    return Response(status_code=CLIENT_GONE)


def _response(request: Request, told: Problem, headers: object = None) -> Response:
    openai = request.url.path.startswith(OPENAI_PATHS)
    extra = dict(headers) if isinstance(headers, dict) else {}
    return JSONResponse(told.openai() if openai else told.native(), told.status, told.headers | extra)
