"""The gateway's own API: ``POST /v1/query`` and ``POST /v1/search``."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.client.types import (
    AskEvent,
    CitationEvent,
    DeltaEvent,
    DoneEvent,
    FollowUpsEvent,
    PlanEvent,
    Question,
    SearchEvent,
    SourcesEvent,
    Span,
)
from citemesh.contract.bounds import MOST_ANSWER_TOKENS, MOST_HOPS
from citemesh.errors import InvalidInput
from gateway.query.pack.packing import documents
from gateway.rest.core.answer import Answer, begin, gather, listed
from gateway.rest.core.body import as_kind, read_object
from gateway.rest.core.endpoint import JSON, SSE, Asking, Endpoint, HttpBounds
from gateway.rest.core.errors import Problem, problem
from gateway.rest.core.fields import Fields
from gateway.rest.core.question.field_names import in_words_of, renamed
from gateway.rest.core.question.fields import (
    ALL_SOURCES,
    ANSWERED,
    COLLECTION,
    FILTERED,
    FOCUS,
    MORE_COLLECTIONS,
    SOURCE_PREFERENCE,
    focused,
    source_types,
)
from gateway.rest.core.question.filters import search_filter
from gateway.rest.core.render import finish, sentence, source
from gateway.rest.core.streaming.disconnect import unless_gone
from gateway.rest.core.streaming.sse import EventStream, frame

SEARCH = Fields(FOCUS)
SEARCHED = SEARCH.text("query", "What to look for, as a text.", required=True)
TOP_K = SEARCH.whole("top_k", "Most passages to answer, 1 to 100; 10 where left out.")

TURN = Fields()
ROLE = TURN.text("role", "Who said it.", ("user", "assistant"), required=True)
SAID = TURN.text("text", "What was said.", required=True)

QUERY = Fields(ANSWERED)
ASKED = QUERY.text("query", "The question, as a text.", required=True)
MODE = QUERY.text("mode", "How to answer.", ("", "generated", "extractive"))
MAX_TOKENS = QUERY.whole(
    "max_tokens", f"Most tokens of the answer, 1 to {MOST_ANSWER_TOKENS}; the gateway's default where left out."
)
TEMPERATURE = QUERY.number("temperature", "Softness of the model's choice, 0 to 2.")
LENGTH = QUERY.text("length", "How long the answer is to be.", ("", "short", "standard", "detailed"))
STYLE = QUERY.text("style", "What form the answer is to have.", ("", "prose", "list", "steps"))
ANSWER_LANGUAGE = QUERY.text("answer_language", "Language to answer in (ISO 639-1); the question's own if left out.")
RELATED = QUERY.whole("related_questions", "Most related questions to propose, 0 (none) to 10.")
MAX_HOPS = QUERY.whole(
    "max_hops", f"Most searches one after another, 1 to {MOST_HOPS}; the gateway's default where left out."
)
THREAD_ID = QUERY.text("thread_id", "Thread to go on with.")
START_THREAD = QUERY.flag("start_thread", "Starts a thread with this question; the answer names it.")
HISTORY = QUERY.items("history", 'What was said before, oldest first: {"role", "text"}; not with a thread.')
SKIP_CACHE = QUERY.flag("skip_cache", "Answers anew even where the same question was answered before.")
STREAM = QUERY.flag("stream", "Answers as server-sent events.")

NAMES = {"question": "query"}


class NativeApi:
    """The endpoints."""

    def __init__(self, answering: Asking, bounds: HttpBounds) -> None:
        self._answering = answering
        self._bounds = bounds

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        return [
            Endpoint(
                "POST",
                "/v1/query",
                self.query,
                "Questions",
                Problem.native,
                "Answers a question over the documents, every sentence with what supports it.",
                body=QUERY,
                answers=(JSON, SSE),
                answer="`answer` with [n] markers, `sources`, `text` without markers, `sentences`, and how it ended; "
                "as events: plan, search, sources, delta, citation, follow_ups, done, error.",
            ),
            Endpoint(
                "POST",
                "/v1/search",
                self.search,
                "Questions",
                Problem.native,
                "Finds passages as a question would, without an answer.",
                body=SEARCH,
                answer="`sources`, best first; passages of one document share a number.",
            ),
        ]

    async def query(self, request: Request) -> Response:
        """``POST /v1/query``: one object, or server-sent events with ``stream``."""
        body = await read_object(request, self._bounds.body_bytes)
        events = in_words_of(NAMES, self._answering.ask(question(body)))
        if STREAM.of(body):
            stream = await unless_gone(request, begin(events))
            return EventStream(frames(stream), self._bounds.idle_s)
        return JSONResponse(rendered(await unless_gone(request, gather(events)), ALL_SOURCES.of(body)))

    async def search(self, request: Request) -> Response:
        """``POST /v1/search``."""
        body = await read_object(request, self._bounds.body_bytes)
        try:
            passages = await unless_gone(request, self._search(body))
        except InvalidInput as error:
            raise renamed(error, NAMES) from None
        return JSONResponse({"sources": [source(passage) for passage in passages]})

    async def _search(self, body: dict[str, Any]) -> Any:
        return await self._answering.search(
            SEARCHED.of(body),
            COLLECTION.of(body),
            TOP_K.of(body),
            source_types(SOURCE_PREFERENCE.of(body)),
            search_filter(FILTERED.name, FILTERED.of(body)),
            MORE_COLLECTIONS.of(body),
        )


def question(body: dict[str, Any]) -> Question:
    """The question in a body. Raises InvalidInput naming the body's own field."""
    parsed = Question(
        question=ASKED.of(body),
        mode=MODE.of(body),
        max_tokens=MAX_TOKENS.of(body),
        temperature=TEMPERATURE.of(body),
        thread_id=THREAD_ID.of(body),
        answer_language=ANSWER_LANGUAGE.of(body),
        length=LENGTH.of(body),
        style=STYLE.of(body),
        related_questions=RELATED.of(body),
        skip_cache=SKIP_CACHE.of(body),
        max_hops=MAX_HOPS.of(body),
        history=tuple(_turn(at, turn) for at, turn in enumerate(HISTORY.of(body))),
        start_thread=START_THREAD.of(body),
    )
    return focused(parsed, body)


def _turn(at: int, value: Any) -> tuple[str, str]:
    turn = as_kind(f"history[{at}]", value, dict)
    try:
        return ROLE.of(turn), SAID.of(turn)
    except InvalidInput as error:
        raise InvalidInput(f"history[{at}].{error.field}", error.fault, error.remedy) from None


async def frames(events: AsyncGenerator[AskEvent]) -> AsyncGenerator[bytes]:
    """The events of an answer as server-sent events; an error on the way is the last one."""
    try:
        async with aclosing(events):
            async for event in events:
                name, data = named(event)
                yield frame(data, name)
    except Exception as error:  # the status is sent already, so the stream itself must tell
        yield frame(problem(error).native(), "error")


def rendered(answer: Answer, all_sources: bool = False) -> dict[str, Any]:
    """A whole answer as one object."""
    done = answer.ended
    return {
        "answer": answer.marked,
        "sources": listed(answer, all_sources),
        "text": answer.text,
        "sentences": [sentence(event) | {"text": _cut(answer.text, event.sentence)} for event in answer.sentences],
        "related_questions": list(answer.follow_ups),
        **finish(done),
    }


def named(event: AskEvent) -> tuple[str, dict[str, Any]]:
    """An event's name and data."""
    match event:
        case PlanEvent():
            return "plan", {"question": event.question, "hops": list(event.hops)}
        case SearchEvent():
            return "search", {"hop": event.hop, "query": event.query, "found": event.passages}
        case SourcesEvent():
            return "sources", {"sources": [source(document_source) for document_source in documents(event.sources)]}
        case DeltaEvent():
            return "delta", {"text": event.text}
        case CitationEvent():
            return "citation", sentence(event)
        case FollowUpsEvent():
            return "follow_ups", {"questions": list(event.questions)}
        case DoneEvent():
            return "done", finish(event)


def _cut(text: str, span: Span) -> str:
    return text[span.start : span.end].strip()
