"""Perplexity's shape: ``POST /chat/completions`` and ``POST /v1/sonar``; see perplexity_fields for what they take.

Markers ``[n]`` count from 1 into ``citations`` and ``search_results``, which hold one entry a document.
"""

import time
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.client.types import AskEvent, PlanEvent, SearchEvent, Source, SourcesEvent
from gateway.rest.core.answer import Answer, begin
from gateway.rest.core.body import read_object
from gateway.rest.core.chat import finish_reason
from gateway.rest.core.endpoint import JSON, SSE, Asking, Endpoint, HttpBounds
from gateway.rest.core.errors import Problem, problem
from gateway.rest.core.links import Links, by_number, has_url
from gateway.rest.core.question.field_names import in_words_of
from gateway.rest.core.question.messages import conversation
from gateway.rest.core.render import day
from gateway.rest.core.streaming.disconnect import unless_gone
from gateway.rest.core.streaming.sse import DONE, EventStream, frame
from gateway.rest.perplexity import fields as fields

PATHS = ("/chat/completions", "/v1/sonar")
Objects = AsyncGenerator[dict[str, Any]]
Mode = Callable[["Sonar", AsyncGenerator[AskEvent]], Objects]
NO_COST = {"input_tokens_cost": 0.0, "output_tokens_cost": 0.0, "total_cost": 0.0}


@dataclass(slots=True)
class Sonar:
    """One completion: what stays the same over it, and what its answer adds up to."""

    model: str
    size: str
    links: Links
    ignored: tuple[str, ...] = ()
    related: bool = False
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    created: int = field(default_factory=lambda: int(time.time()))
    answer: Answer = field(default_factory=Answer)
    steps: list[dict[str, Any]] = field(default_factory=list)
    searched: int = 0

    def take(self, event: AskEvent) -> str:
        """Adds an event; returns the text that it released."""
        if isinstance(event, SearchEvent):
            self.searched += 1
            self.steps.append(_step(f"Searched: {event.passages} passages found.", [event.query]))
        if isinstance(event, PlanEvent):
            self.steps.append(_step("Planned the searches.", list(event.hops)))
        return self.answer.take(event)

    def head(self, kind: str) -> dict[str, Any]:
        """The fields that every object of it starts with."""
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def sources(self) -> dict[str, Any]:
        """Citations and search results, in the order of their numbers."""
        numbered = by_number(self.answer.sources)
        return {
            "citations": [self.links.to(document_source) for document_source in numbered],
            "search_results": [result(document_source, self.links) for document_source in numbered],
        }

    def usage(self) -> dict[str, Any]:
        """What it used. Nothing is billed, so its cost is none."""
        done = self.answer.ended
        read, wrote = done.usage.prompt_tokens, done.usage.completion_tokens
        return {
            "prompt_tokens": read,
            "completion_tokens": wrote,
            "total_tokens": read + wrote,
            "search_context_size": self.size or "medium",
            "num_search_queries": done.searches or self.searched,
            "cost": NO_COST,
        }

    def end(self) -> dict[str, Any]:
        """What the last object of it has beside its choice."""
        related = {"related_questions": list(self.answer.follow_ups)} if self.related else {}
        about = {"notice": self.answer.ended.notice, "ignored": list(self.ignored)}
        return self.sources() | related | {"usage": self.usage()} | about


class PerplexityApi:
    """The endpoints."""

    def __init__(self, answering: Asking, bounds: HttpBounds) -> None:
        self._answering = answering
        self._bounds = bounds

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        return [
            Endpoint(
                "POST",
                path,
                self.completions,
                "Perplexity",
                Problem.perplexity,
                "Answers the last user message, with the earlier ones as its history.",
                body=fields.SONAR,
                answers=(JSON, SSE),
                answer="A `chat.completion` with `citations`, `search_results`, `related_questions` where asked for, "
                "and `usage`.",
            )
            for path in PATHS
        ]

    async def completions(self, request: Request) -> Response:
        """``POST /chat/completions``."""
        body = await read_object(request, self._bounds.body_bytes)
        shape = concise if fields.STREAM_MODE.of(body) == "concise" else full
        history = conversation(fields.MESSAGES.name, fields.MESSAGES.of(body))
        events = in_words_of(fields.NAMES, self._answering.ask(fields.question(body, history)))
        ignored = (*fields.SONAR.ignored(body), *history.unused)
        sonar = Sonar(
            fields.MODEL.of(body),
            fields.context_size(body),
            Links.of(request),
            ignored,
            fields.RELATED.of(body),
        )
        if not fields.STREAM.of(body):
            await unless_gone(request, read(sonar, events))
            return JSONResponse(rendered(sonar))
        stream = await unless_gone(request, begin(events))
        return EventStream(told(sonar, stream, shape), self._bounds.idle_s)


def rendered(sonar: Sonar) -> dict[str, Any]:
    """A whole answer."""
    return sonar.head("chat.completion") | sonar.end() | {"choices": [_last_choice(sonar)]}


async def told(sonar: Sonar, events: AsyncGenerator[AskEvent], shape: Mode) -> AsyncGenerator[bytes]:
    """An answer as events of a shape; an error on the way is the event ``error``."""
    try:
        async with aclosing(events), aclosing(shape(sonar, events)) as objects:
            async for body in objects:
                yield frame(body)
        yield DONE
    except Exception as error:  # the status is sent already, so the stream itself must tell
        yield frame(problem(error).perplexity(), "error")


async def full(sonar: Sonar, events: AsyncGenerator[AskEvent]) -> Objects:
    """Every chunk has the new text and all text so far; the first and the last have the sources."""
    async for event in events:
        text = sonar.take(event)
        source_fields = sonar.sources() if isinstance(event, SourcesEvent) else {}
        if text or source_fields:
            yield (
                sonar.head("chat.completion.chunk") | source_fields | {"choices": [_choice(text, sonar.answer.marked)]}
            )
    yield sonar.head("chat.completion.chunk") | sonar.end() | {"choices": [_last_choice(sonar)]}


async def concise(sonar: Sonar, events: AsyncGenerator[AskEvent]) -> Objects:
    """The searches step by step, then only new text; sources and usage in the objects that end a stage."""
    async for event in events:
        before = len(sonar.steps)
        text = sonar.take(event)
        if len(sonar.steps) > before:
            yield sonar.head("chat.reasoning") | {"choices": [_reasoning(sonar.steps[before:])]}
        if isinstance(event, SourcesEvent):
            reasoning = _reasoning(sonar.steps)
            yield sonar.head("chat.reasoning.done") | sonar.sources() | {"choices": [reasoning]}
        if text:
            delta = {"role": "assistant", "content": text}
            choice = {"index": 0, "finish_reason": None, "delta": delta}
            yield sonar.head("chat.completion.chunk") | {"choices": [choice]}
    yield sonar.head("chat.completion.done") | sonar.end() | {"choices": [_last_choice(sonar)]}


def result(source: Source, links: Links) -> dict[str, Any]:
    """A search result; its date is the one that the document states. When it was updated isn't known."""
    return {
        "title": source.title,
        "url": links.to(source),
        "date": day(source),
        "last_updated": None,
        "snippet": source.text,
        "source": "web" if has_url(source) else "attachment",
    }


async def read(sonar: Sonar, events: AsyncGenerator[AskEvent]) -> None:
    """Reads an answer to its end."""
    async with aclosing(events):
        async for event in events:
            sonar.take(event)


def _step(thought: str, keywords: list[str]) -> dict[str, Any]:
    return {
        "thought": thought,
        "type": "web_search",
        "web_search": {"search_keywords": keywords, "search_results": []},
    }


def _choice(text: str, full_text: str) -> dict[str, Any]:
    return {
        "index": 0,
        "finish_reason": None,
        "message": {"role": "assistant", "content": full_text},
        "delta": {"role": "assistant", "content": text},
    }


def _last_choice(sonar: Sonar) -> dict[str, Any]:
    return _choice("", sonar.answer.marked) | {"finish_reason": finish_reason(sonar.answer.ended)}


def _reasoning(steps: list[dict[str, Any]]) -> dict[str, Any]:
    message = {"role": "assistant", "content": "", "reasoning_steps": steps}
    return {"index": 0, "finish_reason": None, "message": message, "delta": message}
