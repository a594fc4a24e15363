"""The gateway's own API: ``POST /v1/query``."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.client.types import (
    AskEvent,
    Citation,
    CitationEvent,
    DeltaEvent,
    DoneEvent,
    FollowUpsEvent,
    Location,
    PlanEvent,
    Question,
    SearchEvent,
    Source,
    SourcesEvent,
    Span,
)
from citemesh.errors import InvalidInput
from gateway.answering import Answering
from gateway.query.context import documents
from gateway.query.question import SOURCE_TYPES, check_text
from gateway.rest.answer import Answer, begin, gather
from gateway.rest.body import as_kind, optional, read_object
from gateway.rest.errors import problem
from gateway.rest.gone import unless_gone
from gateway.rest.sse import EventStream, frame

ANY = ("any", "all", "auto", "")


class NativeApi:
    """Answers ``POST /v1/query``: as one object, or as server-sent events with ``stream``."""

    def __init__(self, answering: Answering, most_bytes: int, idle_s: float) -> None:
        self._answering = answering
        self._most_bytes = most_bytes
        self._idle_s = idle_s

    async def query(self, request: Request) -> Response:
        """The endpoint."""
        body = await read_object(request, self._most_bytes)
        events = self._answering.ask(question(body))
        if optional(body, "stream", bool, False):
            started = await unless_gone(request, begin(events))
            return EventStream(frames(started), self._idle_s)
        return JSONResponse(rendered(await unless_gone(request, gather(events))))


def question(body: dict[str, Any]) -> Question:
    """The question in a body. Raises InvalidInput naming the body's own field."""
    if "query" not in body:
        raise InvalidInput("query", "is missing", "send the question as a text")
    text = as_kind("query", body["query"], str)
    check_text("query", text)
    return Question(
        question=text,
        collection=optional(body, "collection", str, ""),
        mode=optional(body, "mode", str, ""),
        max_tokens=optional(body, "max_tokens", int, 0),
        source_types=source_types(body.get("source_preference")),
        temperature=temperature(body),
        thread_id=optional(body, "thread_id", str, ""),
    )


def temperature(body: dict[str, Any]) -> float | None:
    """Softness of the model's choice; None where the body doesn't say."""
    return None if body.get("temperature") is None else optional(body, "temperature", float, 0.0)


def source_types(preference: Any) -> tuple[str, ...]:
    """Kinds of source for a preference: "any", one kind, or a list of kinds."""
    wanted = preference if isinstance(preference, list) else [preference or "any"]
    kinds = [as_kind("source_preference", one, str).strip().lower() for one in wanted]
    if any(kind in ANY for kind in kinds):
        return ()
    for kind in kinds:
        if kind not in SOURCE_TYPES:
            raise InvalidInput(
                "source_preference", f"{kind[:40]!r} is not known", f"use any, {', '.join(SOURCE_TYPES)}, or a list"
            )
    return tuple(dict.fromkeys(kinds))


async def frames(events: AsyncGenerator[AskEvent]) -> AsyncGenerator[bytes]:
    """The events of an answer as server-sent events; an error on the way is the last one."""
    try:
        async with aclosing(events):
            async for event in events:
                name, data = named(event)
                yield frame(data, name)
    except Exception as error:  # the status is sent already, so the stream itself must tell
        yield frame(problem(error).native(), "error")


def rendered(answer: Answer) -> dict[str, Any]:
    """A whole answer as one object."""
    done = answer.ended
    return {
        "answer": answer.woven,
        "sources": [source(one) | {"cited": one.number in done.cited} for one in documents(answer.sources)],
        "text": answer.text,
        "sentences": [sentence(one) | {"text": _cut(answer.text, one.sentence)} for one in answer.sentences],
        **finish(done),
    }


def named(event: AskEvent) -> tuple[str, dict[str, Any]]:
    """An event's name and data."""
    match event:
        case PlanEvent():
            return "plan", {"question": event.question, "hops": list(event.hops)}
        case SearchEvent():
            return "search", {"hop": event.hop, "query": event.query, "found": event.found}
        case SourcesEvent():
            return "sources", {"sources": [source(one) for one in documents(event.sources)]}
        case DeltaEvent():
            return "delta", {"text": event.text}
        case CitationEvent():
            return "citation", sentence(event)
        case FollowUpsEvent():
            return "follow_ups", {"questions": list(event.questions)}
        case DoneEvent():
            return "done", finish(event)


def source(one: Source) -> dict[str, Any]:
    """A source; its quote is the passage's text, at its span in the document."""
    known = {"number": one.number, "title": one.title, "url": one.uri, "chunk_id": one.chunk_id}
    return known | _place(one.document_id, one.collection, one.location, one.text, one.score)


def sentence(event: CitationEvent) -> dict[str, Any]:
    """A sentence (span in the text without markers) and what supports it."""
    cited = [_citation(one) for one in event.citations]
    return {"sentence": _span(event.sentence), "supported": event.supported, "citations": cited}


def finish(event: DoneEvent) -> dict[str, Any]:
    """How an answer ended."""
    return {
        "finish": event.finish,
        "mode": event.mode,
        "model": event.model,
        "notice": event.notice,
        "cited": list(event.cited),
        "usage": {
            "prompt_tokens": event.usage.prompt_tokens,
            "completion_tokens": event.usage.completion_tokens,
            "cached_tokens": event.usage.cached_tokens,
        },
        "timings_ms": event.timings,
    }


def _citation(one: Citation) -> dict[str, Any]:
    return {"number": one.number} | _place(one.document_id, one.collection, one.location, one.quote, one.score)


def _place(document_id: str, collection: str, location: Location, quote: str, score: float) -> dict[str, Any]:
    return {
        "document_id": document_id,
        "collection": collection,
        "page": location.page or None,
        "headings": list(location.headings),
        "span": _span(location.span),
        "quote": quote,
        "score": round(score, 4),
    }


def _span(span: Span) -> dict[str, int]:
    return {"start": span.start, "end": span.end}


def _cut(text: str, span: Span) -> str:
    return text[span.start : span.end].strip()
