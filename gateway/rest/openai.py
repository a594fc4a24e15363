"""OpenAI's shape: ``POST /v1/chat/completions`` and ``GET /v1/models``.

The last user message is the question; earlier turns are not used until threads are there. Beside OpenAI's own fields
an answer carries ``sources``, and ``annotations`` of type ``url_citation`` over its ``[n]`` markers.
"""

import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.client.types import AskEvent, DoneEvent, Question, SourcesEvent
from citemesh.errors import InvalidInput, NotFound
from gateway.answering import Answering
from gateway.query.context import documents
from gateway.query.question import check_text
from gateway.rest.answer import Answer, begin, gather
from gateway.rest.body import as_kind, optional, read_object
from gateway.rest.errors import problem
from gateway.rest.gone import unless_gone
from gateway.rest.native import source, source_types, temperature
from gateway.rest.sse import DONE, EventStream, frame

MODELS = {"citemesh": "", "citemesh-extractive": "extractive"}


@dataclass(frozen=True, slots=True)
class Completion:
    """What stays the same over one completion."""

    id: str
    created: int
    model: str

    @classmethod
    def new(cls, model: str) -> "Completion":
        """A completion that begins now."""
        return cls(f"chatcmpl-{uuid.uuid4().hex}", int(time.time()), model)

    def head(self, kind: str) -> dict[str, Any]:
        """The fields that every object of it starts with."""
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


class OpenAiApi:
    """The endpoints."""

    def __init__(self, answering: Answering, most_bytes: int, idle_s: float) -> None:
        self._answering = answering
        self._most_bytes = most_bytes
        self._idle_s = idle_s

    async def models(self, request: Request) -> Response:
        """``GET /v1/models``."""
        return JSONResponse({"object": "list", "data": [_model(name) for name in MODELS]})

    async def model(self, request: Request) -> Response:
        """``GET /v1/models/{model}``."""
        return JSONResponse(_model(_known(request.path_params["model"])))

    async def completions(self, request: Request) -> Response:
        """``POST /v1/chat/completions``."""
        body = await read_object(request, self._most_bytes)
        model = _known(optional(body, "model", str, "citemesh"))
        completion = Completion.new(model)
        events = self._answering.ask(question(body, MODELS[model]))
        if optional(body, "stream", bool, False):
            usage = bool(optional(body, "stream_options", dict, {}).get("include_usage"))
            started = await unless_gone(request, begin(events))
            return EventStream(chunks(completion, started, usage), self._idle_s)
        return JSONResponse(rendered(completion, await unless_gone(request, gather(events))))


def question(body: dict[str, Any], mode: str) -> Question:
    """The question in a body. Raises InvalidInput naming the body's own field."""
    if optional(body, "n", int, 1) != 1:
        raise InvalidInput("n", "is not 1", "ask for one choice")
    limit = "max_completion_tokens" if body.get("max_completion_tokens") is not None else "max_tokens"
    return Question(
        question=asked(body.get("messages")),
        collection=optional(body, "collection", str, ""),
        mode=mode,
        max_tokens=optional(body, limit, int, 0),
        source_types=source_types(body.get("source_preference")),
        temperature=temperature(body),
    )


def asked(messages: Any) -> str:
    """Text of the last user message."""
    if messages is None:
        raise InvalidInput("messages", "is missing", "send a list of messages")
    turns = as_kind("messages", messages, list)
    for at in range(len(turns) - 1, -1, -1):
        turn = as_kind(f"messages[{at}]", turns[at], dict)
        if turn.get("role") == "user":
            field = f"messages[{at}].content"
            text = _content(field, turn.get("content"))
            check_text(field, text)
            return text
    raise InvalidInput("messages", "has no message of the role user", "send the question as a user message")


def _content(field: str, content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = []
    for at, part in enumerate(as_kind(field, content, list)):
        if as_kind(f"{field}[{at}]", part, dict).get("type") != "text":
            raise InvalidInput(f"{field}[{at}].type", "is not text", "send parts of the type text")
        parts.append(as_kind(f"{field}[{at}].text", part.get("text"), str))
    return "\n".join(parts)


def rendered(completion: Completion, answer: Answer) -> dict[str, Any]:
    """A whole answer as a ``chat.completion``."""
    message = {"role": "assistant", "content": answer.woven, "refusal": None, "annotations": annotations(answer)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer.ended)}
    return completion.head("chat.completion") | {
        "choices": [choice],
        "usage": _usage(answer.ended),
        "sources": [source(one) for one in documents(answer.sources)],
        "notice": answer.ended.notice,
    }


async def chunks(completion: Completion, events: AsyncGenerator[AskEvent], usage: bool) -> AsyncGenerator[bytes]:
    """An answer as ``chat.completion.chunk`` events; an error on the way is told in the stream and ends it."""
    answer = Answer()
    null = {"usage": None} if usage else {}

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return frame(completion.head("chat.completion.chunk") | {"choices": [choice]} | null | more)

    try:
        async with aclosing(events):
            yield chunk({"role": "assistant", "content": ""})
            async for event in events:
                if text := answer.take(event):
                    yield chunk({"content": text})
                if isinstance(event, SourcesEvent):
                    yield chunk({}, sources=[source(one) for one in documents(event.sources)])
        done = answer.ended
        yield chunk({"annotations": annotations(answer)}, _finish(done), notice=done.notice)
        if usage:
            yield frame(completion.head("chat.completion.chunk") | {"choices": [], "usage": _usage(done)})
        yield DONE
    except Exception as error:  # the status is sent already, so the stream itself must tell
        yield frame(problem(error).openai())


def annotations(answer: Answer) -> list[dict[str, Any]]:
    """One ``url_citation`` a marker; the indices are of the marker in the content."""
    by_number = {one.number: one for one in documents(answer.sources)}
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": mark.start,
                "end_index": mark.end,
                "title": by_number[mark.number].title,
                "url": by_number[mark.number].uri,
            },
        }
        for mark in answer.weaver.marks
    ]


def _known(model: str) -> str:
    if model not in MODELS:
        raise NotFound("model", model, f"use {' or '.join(MODELS)}")
    return model


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "citemesh"}


def _finish(done: DoneEvent) -> str:
    return "length" if done.finish == "length" else "stop"


def _usage(done: DoneEvent) -> dict[str, Any]:
    read, wrote = done.usage.prompt_tokens, done.usage.completion_tokens
    return {
        "prompt_tokens": read,
        "completion_tokens": wrote,
        "total_tokens": read + wrote,
        "prompt_tokens_details": {"cached_tokens": done.usage.cached_tokens},
    }
