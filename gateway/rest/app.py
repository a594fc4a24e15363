"""The HTTP application: endpoints, context and errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from citemesh.errors import CiteMeshError
from gateway.jobs.runner import Runner
from gateway.rest.core.context import HttpCallContext
from gateway.rest.core.embedder import Embedder
from gateway.rest.core.endpoint import Asking, Endpoint, HttpBounds, Shape, routes
from gateway.rest.core.errors import Problem, problem
from gateway.rest.health import HealthApi, Probe
from gateway.rest.native.collections import CollectionsApi, CollectionsPort
from gateway.rest.native.documents import DocumentsApi, DocumentsPort
from gateway.rest.native.questions import NativeApi
from gateway.rest.native.threads import ThreadsApi
from gateway.rest.ollama.chat import OllamaApi
from gateway.rest.ollama.embeddings import OllamaEmbeddingsApi
from gateway.rest.openai.chat import OpenAiApi
from gateway.rest.openai.embeddings import OpenAIEmbeddingsApi
from gateway.rest.openai.responses import ResponsesApi
from gateway.rest.openapi import OpenApi
from gateway.rest.perplexity.chat import PerplexityApi
from gateway.rest.perplexity.later import PerplexityAsyncApi
from gateway.rest.perplexity.search import PerplexitySearchApi
from gateway.rest.web.page import WebPage
from gateway.threads.store import ThreadStore

SHAPES: tuple[tuple[str, Shape], ...] = (
    ("/api/", Problem.ollama),
    ("/v1/chat/", Problem.openai),
    ("/v1/models", Problem.openai),
    ("/v1/responses/", Problem.openai),
    ("/async/", Problem.perplexity),
    ("/chat/", Problem.perplexity),
)
"""How errors are told on paths that are no endpoint's."""
CLIENT_GONE = 499
METHODS = ("GET", "POST", "DELETE")


class Api(Protocol):
    """Endpoints that belong together."""

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        ...


@dataclass(frozen=True, slots=True)
class ApiBackends:
    """What the APIs are built on."""

    answering: Asking
    documents: DocumentsPort
    collections: CollectionsPort
    embedder: Embedder
    threads: ThreadStore
    probe: Probe
    jobs: Runner


def build(backends: ApiBackends, bounds: HttpBounds, origins: Sequence[str] = ()) -> Starlette:
    """The application.

    Args:
        origins: web origins whose pages may call it; none by default.
    """
    declared = endpoints(backends, bounds)
    health = HealthApi(backends.probe)
    shapes = Shapes(declared)
    handlers = {
        CiteMeshError: shapes.on_error,
        HTTPException: shapes.on_http_error,
        ClientDisconnect: on_gone,
        Exception: shapes.on_error,
    }
    health_routes = [Route("/healthz", health.live), Route("/readyz", health.ready)]
    middleware = [Middleware(HttpCallContext, shape_of=shapes.of)]
    if origins:
        # The sidecar says the same before its policy; this is for a gateway without one.
        cors = Middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=METHODS,
            allow_headers=["*"],
            expose_headers=["retry-after"],
            max_age=600,
        )
        middleware.insert(0, cors)
    return Starlette(routes=[*routes(declared), *health_routes], exception_handlers=handlers, middleware=middleware)  # type: ignore[arg-type]  # handlers by class


def endpoints(backends: ApiBackends, bounds: HttpBounds) -> list[Endpoint]:
    """All endpoints but those of health."""
    apis: list[Api] = [
        NativeApi(backends.answering, bounds),
        DocumentsApi(backends.documents, bounds),
        CollectionsApi(backends.collections, bounds),
        ThreadsApi(backends.threads),
        PerplexityApi(backends.answering, bounds),
        PerplexityAsyncApi(backends.jobs, bounds),
        PerplexitySearchApi(backends.answering, bounds),
        ResponsesApi(backends.answering, bounds),
        OpenAiApi(backends.answering, bounds),
        OllamaApi(backends.answering, bounds),
        OpenAIEmbeddingsApi(backends.embedder, bounds),
        OllamaEmbeddingsApi(backends.embedder, bounds),
        WebPage(),
    ]
    declared = [endpoint for api in apis for endpoint in api.endpoints()]
    return [*declared, *OpenApi(declared).endpoints()]


class Shapes:
    """Tells errors in the shape that the clients of a path know."""

    def __init__(self, declared: Sequence[Endpoint]) -> None:
        self._exact = {endpoint.path: endpoint.shape for endpoint in declared}

    async def on_error(self, request: Request, error: Exception) -> Response:
        """An error as JSON."""
        return self._response(request, problem(error))

    async def on_http_error(self, request: Request, error: HTTPException) -> Response:
        """A path or method that there is not."""
        code = {404: "NO_SUCH_PATH", 405: "METHOD_NOT_ALLOWED"}.get(error.status_code, "HTTP_ERROR")
        message = f"{request.method} {request.url.path}: {error.detail}"
        return self._response(request, Problem(error.status_code, code, message), error.headers)

    def of(self, path: str) -> Shape:
        """The shape of a path."""
        by_prefix = (shape for prefix, shape in SHAPES if path.startswith(prefix))
        return self._exact.get(path) or next(by_prefix, Problem.native)

    def _response(self, request: Request, fault: Problem, headers: object = None) -> Response:
        extra = dict(headers) if isinstance(headers, dict) else {}
        return JSONResponse(self.of(request.url.path)(fault), fault.status, fault.headers | extra)


async def on_gone(request: Request, error: ClientDisconnect) -> Response:
    """No one reads this; it is for the span."""
    return Response(status_code=CLIENT_GONE)
