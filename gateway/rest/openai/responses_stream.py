"""One response of the Agent shape: what its events add up to, as an object and as a stream of events."""

import time
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from citemesh.client.types import AskEvent, PlanEvent, SearchEvent, SourcesEvent
from gateway.rest.core.answer import Answer
from gateway.rest.core.errors import problem
from gateway.rest.core.links import Links, by_number
from gateway.rest.core.render import day
from gateway.rest.core.streaming.sse import DONE, frame

NO_COST = {"currency": "USD", "input_cost": 0.0, "output_cost": 0.0, "total_cost": 0.0}
OUTPUT = 1
"""Place of the message in the output, behind what was found."""


@dataclass(slots=True)
class Reply:
    """A response on its way."""

    model: str
    links: Links
    ignored: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: f"resp_{uuid.uuid4().hex}")
    message_id: str = field(default_factory=lambda: f"msg_{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))
    answer: Answer = field(default_factory=Answer)
    queries: list[str] = field(default_factory=list)
    noted: int = 0
    begun: bool = False
    sequence: int = -1

    def event(self, kind: str, **data: Any) -> bytes:
        """One event, with the next sequence number."""
        self.sequence += 1
        return frame({"type": kind, "sequence_number": self.sequence} | data, kind)

    def head(self, status: str) -> dict[str, Any]:
        """The response as it begins."""
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "model": self.model,
            "status": status,
            "output": [],
            "error": None,
            "incomplete_details": None,
            "background": False,
            "store": False,
            "previous_response_id": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "text": {"format": {"type": "text"}},
            "usage": None,
        }


async def read(reply: Reply, events: AsyncGenerator[AskEvent]) -> None:
    """Reads an answer to its end."""
    async with aclosing(events):
        async for event in events:
            take(reply, event)


def take(reply: Reply, event: AskEvent) -> str:
    """Adds an event; returns the text that it released."""
    if isinstance(event, SearchEvent):
        reply.queries.append(event.query)
    return reply.answer.take(event)


def rendered(reply: Reply) -> dict[str, Any]:
    """The whole response."""
    done = reply.answer.ended
    cut = {"reason": "max_output_tokens"} if done.finish == "length" else None
    return reply.head("completed") | {
        "output": [found(reply), message(reply)],
        "usage": usage(reply),
        "incomplete_details": cut,
        "notice": done.notice,
        "ignored": list(reply.ignored),
    }


def found(reply: Reply) -> dict[str, Any]:
    """What was found, as an item of the output."""
    return {"type": "search_results", "queries": reply.queries, "results": results(reply)}


def results(reply: Reply) -> list[dict[str, Any]]:
    """The sources; an id is the number that markers name."""
    return [
        {
            "id": document_source.number,
            "title": document_source.title,
            "url": reply.links.to(document_source),
            "snippet": document_source.text,
            "date": day(document_source),
            "last_updated": None,
            "source": "web",
        }
        for document_source in by_number(reply.answer.sources)
    ]


def message(reply: Reply, status: str = "completed") -> dict[str, Any]:
    """The answer, as an item of the output."""
    content = [part(reply)] if status == "completed" else []
    return {"id": reply.message_id, "type": "message", "role": "assistant", "status": status, "content": content}


def part(reply: Reply) -> dict[str, Any]:
    """The answer's text and its annotations."""
    notes = annotations(reply)
    return {"type": "output_text", "text": reply.answer.marked, "annotations": notes, "logprobs": []}


def annotations(reply: Reply, start: int = 0) -> list[dict[str, Any]]:
    """One a marker, from the ``start``-th on; the indices are of the marker in the text."""
    sources = by_number(reply.answer.sources)
    return [
        {
            "type": "url_citation",
            "url": reply.links.to(sources[mark.number - 1]),
            "title": sources[mark.number - 1].title,
            "start_index": mark.start,
            "end_index": mark.end,
        }
        for mark in reply.answer.markers.marks[start:]
    ]


def usage(reply: Reply) -> dict[str, Any]:
    """What it used, in the words of both kinds of client. Nothing is billed, so its cost is none."""
    done = reply.answer.ended
    used = done.usage
    return {
        "input_tokens": used.prompt_tokens,
        "output_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
        "input_tokens_details": {
            "cached_tokens": used.cached_tokens,
            "cache_read_input_tokens": used.cached_tokens,
            "cache_write_tokens": 0,
        },
        "output_tokens_details": {"reasoning_tokens": 0},
        "tool_calls_details": {"search_web": {"invocation": done.searches or len(reply.queries)}},
        "cost": NO_COST,
    }


async def events_of(reply: Reply, events: AsyncGenerator[AskEvent]) -> AsyncGenerator[bytes]:
    """A response as a stream of events; an error on the way is ``response.failed``."""
    try:
        async with aclosing(events):
            yield reply.event("response.created", response=reply.head("in_progress"))
            yield reply.event("response.in_progress", response=reply.head("in_progress"))
            yield reply.event("response.reasoning.started", thought="Searching the documents.")
            async for event in events:
                text = take(reply, event)
                for last_event in (*_before(reply, event), *_text(reply, text)):
                    yield last_event
        for last_event in _end(reply):
            yield last_event
        yield DONE
    except Exception as error:  # the status is sent already, so the stream itself must tell
        fault = problem(error).openai()["error"]
        failed = reply.head("failed") | {"error": {"code": "server_error", "message": fault["message"]}}
        yield reply.event("response.failed", error=fault, response=failed)


def _before(reply: Reply, event: AskEvent) -> Iterator[bytes]:
    """What is told before the text: searches, what was found, and that the message begins."""
    if isinstance(event, PlanEvent):
        yield reply.event("response.reasoning.search_queries", queries=list(event.hops))
    if isinstance(event, SourcesEvent) and not reply.begun:
        reply.begun = True
        yield reply.event("response.reasoning.search_results", results=results(reply))
        yield reply.event("response.reasoning.stopped")
        yield reply.event("response.output_item.added", output_index=0, item=found(reply))
        yield reply.event("response.output_item.done", output_index=0, item=found(reply))
        opening = message(reply, "in_progress")
        yield reply.event("response.output_item.added", output_index=OUTPUT, item=opening)
        yield reply.event("response.content_part.added", **_at(reply), part=part(reply))


def _text(reply: Reply, text: str) -> Iterator[bytes]:
    """New text and the annotations of its markers."""
    if text:
        yield reply.event("response.output_text.delta", **_at(reply), delta=text, logprobs=[])
    for at, note in enumerate(annotations(reply, reply.noted), reply.noted):
        yield reply.event("response.output_text.annotation.added", **_at(reply), annotation_index=at, annotation=note)
    reply.noted = len(reply.answer.markers.marks)


def _end(reply: Reply) -> Iterator[bytes]:
    yield reply.event("response.output_text.done", **_at(reply), text=reply.answer.marked, logprobs=[])
    yield reply.event("response.content_part.done", **_at(reply), part=part(reply))
    yield reply.event("response.output_item.done", output_index=OUTPUT, item=message(reply))
    yield reply.event("response.completed", response=rendered(reply))


def _at(reply: Reply) -> dict[str, Any]:
    return {"item_id": reply.message_id, "output_index": OUTPUT, "content_index": 0}
