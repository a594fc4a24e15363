"""Documents: taken in with their progress, listed, read by span, deleted."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.client.types import Document, IngestProgress, Span, Upload
from citemesh.contract.bounds import DEFAULT_PAGE, MOST_PAGE
from citemesh.errors import InvalidInput, NotFound, Overloaded
from gateway.rest.core.endpoint import JSON, SSE, Endpoint, HttpBounds
from gateway.rest.core.errors import Problem, problem
from gateway.rest.core.fields import Fields
from gateway.rest.core.render import span
from gateway.rest.core.streaming.disconnect import unless_gone
from gateway.rest.core.streaming.sse import EventStream, frame
from gateway.rest.native.upload import FORM, RAW, STREAM, Named, received

MOST_UPLOADS = 4
"""Requests whose documents are held at once, in temporary files; one more is refused."""
ENDED = ("committed", "unchanged", "failed")

LIST = Fields()
COLLECTION = LIST.text("collection", 'The collection; "default" where left out.')
PAGE_SIZE = LIST.whole("page_size", f"Most to answer, 1 to {MOST_PAGE}; {DEFAULT_PAGE} where left out.")
PAGE_TOKEN = LIST.text("page_token", "Where the page before ended.")
TABLE_ID = LIST.text("table_id", "Rows of this table only.")

READ = Fields()
OF = READ.text("collection", 'The collection; "default" where left out.')
TEXT = READ.flag("text", "Answers the text as well.")
START = READ.whole("start", "First code point of the text to answer.", -1)
END = READ.whole("end", "Code point behind the last one.", -1)

DELETE = Fields()
FROM = DELETE.text("collection", 'The collection; "default" where left out.')


class DocumentsPort(Protocol):
    """Where documents are: `citemesh.client.documents.DocumentClient`."""

    def ingest(self, uploads: AsyncIterable[Upload] | Iterable[Upload]) -> AsyncIterator[IngestProgress]:
        """Takes documents in and reports their progress."""
        ...

    async def get(
        self, document_id: str, collection: str = "", span: Span | None = None, without_text: bool = False
    ) -> tuple[Document, str]:
        """A document and its text."""
        ...

    async def list(
        self, collection: str = "", page_size: int = 100, page_token: str = "", table_id: str = ""
    ) -> tuple[tuple[Document, ...], str]:
        """A page of documents and the token of the next."""
        ...

    async def delete(
        self, document_ids: Sequence[str], collection: str = ""
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Ids that are gone, and those that were not there."""
        ...


class DocumentsApi:
    """The endpoints."""

    def __init__(self, store: DocumentsPort, bounds: HttpBounds) -> None:
        self._store = store
        self._bounds = bounds
        self._uploads = 0

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        api, told, one = "Documents", Problem.native, "/v1/documents/{document_id:path}"
        return [
            Endpoint(
                "POST",
                "/v1/documents",
                self.post,
                api,
                told,
                "Takes documents in: a multipart form with `file`, or one document as the body itself.",
                query=RAW,
                form=FORM,
                answers=(JSON, SSE),
                answer="`documents`, each with its `state`: committed, unchanged or failed with its `error`. 201 where "
                "one was committed, 422 where all failed. With stream, events `progress` and a last `done`.",
                status=201,
            ),
            Endpoint(
                "GET",
                "/v1/documents",
                self.list,
                api,
                told,
                "Lists documents by id.",
                query=LIST,
                answer="`documents`, and `next_page_token`, empty at the end.",
            ),
            Endpoint(
                "GET",
                one,
                self.get,
                api,
                told,
                "Reads a document, with its text or a span of it where asked for.",
                query=READ,
                answer="What is known of it; `text` and its `span`.",
            ),
            Endpoint(
                "DELETE", one, self.delete, api, told, "Deletes a document.", query=DELETE, answer="`deleted`: its id."
            ),
        ]

    async def post(self, request: Request) -> Response:
        """``POST /v1/documents``."""
        query = RAW.from_texts(request.query_params)
        streams = STREAM.of(query) or "text/event-stream" in request.headers.get("accept", "")
        started = await _begun(self._take(request, query))
        if streams:
            return EventStream(_frames(started), self._bounds.idle_s)
        reports = await unless_gone(request, _last(started))
        states = {one["state"] for one in reports}
        status = 201 if "committed" in states else 422 if states == {"failed"} else 200
        return JSONResponse({"documents": reports}, status)

    async def _take(self, request: Request, query: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Reports of the request's documents as they go."""
        async with self._place(), received(request, query, self._bounds.upload_bytes) as named:
            names = {one.upload.correlation_id: one.name for one in named}
            yield {}  # the request was read, so that what is refused from here on can still have a status
            async with aclosing(_ingested(self._store, named)) as reports:
                async for report in reports:
                    yield _report(names.get(report.correlation_id, ""), report)

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        if self._uploads >= MOST_UPLOADS:
            raise Overloaded("the place for uploads", 5.0, "send fewer at once")
        self._uploads += 1
        try:
            yield
        finally:
            self._uploads -= 1

    async def list(self, request: Request) -> Response:
        """``GET /v1/documents``."""
        query = LIST.from_texts(request.query_params)
        found, token = await self._store.list(
            COLLECTION.of(query), PAGE_SIZE.of(query), PAGE_TOKEN.of(query), TABLE_ID.of(query)
        )
        return JSONResponse({"documents": [document(one) for one in found], "next_page_token": token})

    async def get(self, request: Request) -> Response:
        """``GET /v1/documents/{document_id}``."""
        query = READ.from_texts(request.query_params)
        asked = _span(query)
        wants = TEXT.of(query) or asked is not None
        found, text = await self._store.get(request.path_params["document_id"], OF.of(query), asked, not wants)
        start = asked.start if asked else 0
        beside = {"text": text, "span": span(Span(start, start + len(text)))} if wants else {}
        return JSONResponse(document(found) | beside)

    async def delete(self, request: Request) -> Response:
        """``DELETE /v1/documents/{document_id}``."""
        query = DELETE.from_texts(request.query_params)
        name = request.path_params["document_id"]
        deleted, missing = await self._store.delete([name], FROM.of(query))
        if missing and not deleted:
            raise NotFound("document", name, "GET /v1/documents lists those that are there")
        return JSONResponse({"deleted": list(deleted)})


def document(one: Document) -> dict[str, Any]:
    """A document without its text."""
    return {
        "document_id": one.document_id,
        "collection": one.collection,
        "title": one.title,
        "url": one.uri,
        "source_type": one.source_type,
        "language": one.language,
        "content_sha256": one.content_sha256,
        "size_bytes": one.size_bytes,
        "characters": one.characters,
        "chunks": one.chunks,
        "pages": one.pages,
        "ingested_at": one.ingested_at.isoformat(),
        "metadata": one.metadata,
        "table_id": one.table_id,
    }


async def _ingested(store: DocumentsPort, named: Sequence[Named]) -> AsyncGenerator[IngestProgress]:
    async for report in store.ingest([one.upload for one in named]):
        yield report


def _report(name: str, one: IngestProgress) -> dict[str, Any]:
    error = {"reason": one.error_reason, "message": one.error_message, "remedy": one.error_remedy}
    return {
        "name": name,
        "document_id": one.document_id,
        "state": one.state,
        "characters": one.characters,
        "chunks": one.chunks,
        "rows": one.rows,
        "failed_rows": one.failed_rows,
        "notices": list(one.notices),
    } | ({"error": error} if one.error_reason else {})


async def _begun(taken: AsyncGenerator[dict[str, Any]]) -> AsyncGenerator[dict[str, Any]]:
    """The reports, once the request was read."""
    try:
        await anext(taken)
    except BaseException:
        await taken.aclose()
        raise
    return taken


async def _last(started: AsyncGenerator[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last report of each document."""
    async with aclosing(started) as reports:
        return [one async for one in reports if one["state"] in ENDED]


async def _frames(taken: AsyncGenerator[dict[str, Any]]) -> AsyncGenerator[bytes]:
    ended = []
    try:
        async with aclosing(taken):
            async for one in taken:
                ended += [one] if one["state"] in ENDED else []
                yield frame(one, "progress")
        yield frame({"documents": ended}, "done")
    except Exception as error:  # the status is sent already, so the stream itself must tell
        yield frame(problem(error).native(), "error")


def _span(query: dict[str, Any]) -> Span | None:
    start, end = START.of(query), END.of(query)
    if start == end == -1:
        return None
    if not 0 <= start <= end:
        raise InvalidInput("start", f"{start} to {end} is no span", "send start and end, in code points of the text")
    return Span(start, end)
