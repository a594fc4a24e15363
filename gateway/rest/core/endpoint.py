"""An endpoint: its route and what the API's description says of it, declared together."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from citemesh.client.types import AskEvent, Question, SearchFilter, Source
from gateway.rest.core.errors import Problem
from gateway.rest.core.fields import Fields

Handler = Callable[[Request], Awaitable[Response]]
Shape = Callable[[Problem], dict[str, Any]]
JSON, SSE, NDJSON = "application/json", "text/event-stream", "application/x-ndjson"


class Asking(Protocol):
    """What the APIs ask: `gateway.answering.Answering`."""

    def ask(self, question: Question) -> AsyncGenerator[AskEvent]:
        """Streams an answer."""
        ...

    async def search(
        self,
        query: str,
        collection: str = "",
        top_k: int = 0,
        source_types: Sequence[str] = (),
        filter: SearchFilter = ...,
        more_collections: Sequence[str] = (),
    ) -> tuple[Source, ...]:
        """Passages, best first."""
        ...


@dataclass(frozen=True, slots=True)
class HttpBounds:
    """What a request may cost: most bytes of a JSON body and of an upload; silence before a stream's comment."""

    body_bytes: int
    upload_bytes: int
    idle_s: float


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path.

    Attributes:
        api: the API that it belongs to; a heading of the description.
        shape: how that API tells an error.
        summary: what it does, one sentence.
        body: the fields of a JSON body, where it takes one.
        query: the parameters of its query string.
        form: the fields of a multipart form, where it takes one.
        answers: media types of its answers.
        answer: what a JSON answer holds, in a sentence or two.
    """

    method: str
    path: str
    handler: Handler
    api: str
    shape: Shape
    summary: str
    body: Fields | None = None
    query: Fields = field(default_factory=Fields)
    form: Fields | None = None
    answers: tuple[str, ...] = (JSON,)
    answer: str = ""
    status: int = 200


def routes(endpoints: Sequence[Endpoint]) -> list[Route]:
    """The routes of the endpoints, in their order; methods of one path share a route, so that others are refused."""
    by_path: dict[str, dict[str, Handler]] = {}
    for one in endpoints:
        by_path.setdefault(one.path, {})[one.method] = one.handler
    return [Route(path, _by_method(handlers), methods=list(handlers)) for path, handlers in by_path.items()]


def _by_method(handlers: dict[str, Handler]) -> Handler:
    async def handle(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" and "HEAD" not in handlers else request.method
        return await handlers[method](request)

    return handle
