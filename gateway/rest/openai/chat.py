"""OpenAI's shape: ``POST /v1/chat/completions`` and ``GET /v1/models``.

The last user message is the question, earlier ones are its history. Beside OpenAI's own fields an answer carries
``sources``, ``notice``, ``ignored`` (what was sent and isn't used: system messages, tools, …), ``related_questions``
where asked for, and ``annotations`` of type ``url_citation`` over its ``[n]`` markers.
"""

import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.client.types import AskEvent, DoneEvent, Question, SourcesEvent
from citemesh.contract.bounds import MOST_ANSWER_TOKENS, MOST_RELATED_QUESTIONS
from citemesh.errors import InvalidInput
from gateway.query.pack.packing import documents
from gateway.rest.core.answer import Answer, begin, gather, listed
from gateway.rest.core.body import read_object
from gateway.rest.core.chat import MESSAGES_SCHEMA, finish_reason, only_text
from gateway.rest.core.endpoint import JSON, SSE, Asking, Endpoint, HttpBounds
from gateway.rest.core.errors import Problem, problem
from gateway.rest.core.fields import Fields
from gateway.rest.core.links import Links
from gateway.rest.core.question.field_names import in_words_of
from gateway.rest.core.question.fields import ALL_SOURCES, ANSWERED, focused
from gateway.rest.core.question.messages import ChatHistory, conversation
from gateway.rest.core.question.presets import OWN, preset
from gateway.rest.core.render import source
from gateway.rest.core.streaming.disconnect import unless_gone
from gateway.rest.core.streaming.sse import DONE, EventStream, frame

CHAT = Fields(ANSWERED)
MODEL = CHAT.text("model", f"One of {', '.join(OWN)}; the first where left out.")
MESSAGES = CHAT.anything("messages", "The conversation; its last user message is the question.", MESSAGES_SCHEMA, True)
STREAM = CHAT.flag("stream", "Answers as server-sent events.")
STREAM_OPTIONS = CHAT.object("stream_options", "`include_usage` ends a stream with a chunk of its usage.")
MAX_COMPLETION_TOKENS = CHAT.whole("max_completion_tokens", f"Most tokens of the answer, 1 to {MOST_ANSWER_TOKENS}.")
MAX_TOKENS = CHAT.whole("max_tokens", "The older name of max_completion_tokens.")
TEMPERATURE = CHAT.number("temperature", "Softness of the model's choice, 0 to 2.")
N = CHAT.whole("n", "Choices; only 1 is taken.", 1)
RESPONSE_FORMAT = CHAT.object("response_format", 'Only {"type": "text"} is taken.')
RELATED = CHAT.whole(
    "related_questions", f"Most related questions to propose, 0 to {MOST_RELATED_QUESTIONS} (not OpenAI's)."
)
CHAT.unused("sampling is the gateway's", "top_p", "presence_penalty", "frequency_penalty", "logit_bias", "seed", "stop")
CHAT.unused("no tools are called", "tools", "tool_choice", "functions", "function_call", "parallel_tool_calls")
CHAT.unused("answers don't have them", "logprobs", "top_logprobs", "audio", "modalities", "prediction")
CHAT.unused("there is one engine", "reasoning_effort", "service_tier", "verbosity", "web_search_options", "store")


@dataclass(frozen=True, slots=True)
class Completion:
    """What stays the same over one completion. links: addresses of its sources; ignored: what was sent for nothing.

    all_sources: whether those that nothing cites are listed as well.
    """

    id: str
    created: int
    model: str
    links: Links
    ignored: tuple[str, ...] = ()
    all_sources: bool = False

    @classmethod
    def new(cls, model: str, links: Links, ignored: Sequence[str], all_sources: bool) -> "Completion":
        """A completion that begins now."""
        return cls(f"chatcmpl-{uuid.uuid4().hex}", int(time.time()), model, links, tuple(ignored), all_sources)

    def head(self, kind: str) -> dict[str, Any]:
        """The fields that every object of it starts with."""
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


class OpenAiApi:
    """The endpoints."""

    def __init__(self, answering: Asking, bounds: HttpBounds) -> None:
        self._answering = answering
        self._bounds = bounds

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        return [
            Endpoint(
                "POST",
                "/v1/chat/completions",
                self.completions,
                "OpenAI",
                Problem.openai,
                "Answers the last user message, with the earlier ones as its history.",
                body=CHAT,
                answers=(JSON, SSE),
                answer="A `chat.completion` whose content has [n] markers, each also a `url_citation` annotation; "
                "beside OpenAI's fields: `sources`, `notice`, `ignored`.",
            ),
            Endpoint("GET", "/v1/models", self.models, "OpenAI", Problem.openai, "Lists the names that `model` takes."),
            Endpoint("GET", "/v1/models/{model}", self.model, "OpenAI", Problem.openai, "One of these names."),
        ]

    async def models(self, request: Request) -> Response:
        """``GET /v1/models``."""
        return JSONResponse({"object": "list", "data": [_model(name) for name in OWN]})

    async def model(self, request: Request) -> Response:
        """``GET /v1/models/{model}``."""
        name = request.path_params["model"]
        preset(name, OWN)
        return JSONResponse(_model(name))

    async def completions(self, request: Request) -> Response:
        """``POST /v1/chat/completions``."""
        body = await read_object(request, self._bounds.body_bytes)
        model, history = MODEL.of(body) or "citemesh", conversation(MESSAGES.name, MESSAGES.of(body))
        asked_question = question(body, model, history)
        completion = Completion.new(
            model, Links.of(request), [*CHAT.ignored(body), *history.unused], ALL_SOURCES.of(body)
        )
        events = in_words_of({"related_questions": RELATED.name}, self._answering.ask(asked_question))
        if STREAM.of(body):
            usage = bool(STREAM_OPTIONS.of(body).get("include_usage"))
            stream = await unless_gone(request, begin(events))
            return EventStream(chunks(completion, stream, usage), self._bounds.idle_s)
        return JSONResponse(rendered(completion, await unless_gone(request, gather(events))))


def question(body: dict[str, Any], model: str, history: ChatHistory) -> Question:
    """The question in a body. Raises InvalidInput naming the body's own field."""
    if N.of(body) != 1:
        raise InvalidInput("n", "is not 1", "ask for one choice")
    only_text(RESPONSE_FORMAT.name, RESPONSE_FORMAT.of(body))
    parsed = Question(
        question=history.question,
        mode=preset(model, OWN).mode,
        max_tokens=MAX_COMPLETION_TOKENS.of(body) or MAX_TOKENS.of(body),
        temperature=TEMPERATURE.of(body),
        related_questions=RELATED.of(body),
        history=history.history,
    )
    return focused(parsed, body)


def rendered(completion: Completion, answer: Answer) -> dict[str, Any]:
    """A whole answer as a ``chat.completion``."""
    notes = annotations(answer, completion.links)
    message = {"role": "assistant", "content": answer.marked, "refusal": None, "annotations": notes}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(answer.ended)}
    return completion.head("chat.completion") | {
        "choices": [choice],
        "usage": usage_of(answer.ended),
        "sources": listed(answer, completion.all_sources),
        **_beside(completion, answer),
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
                    yield chunk({}, sources=[source(document_source) for document_source in documents(event.sources)])
        notes = annotations(answer, completion.links)
        source_list = listed(answer, completion.all_sources)
        yield chunk(
            {"annotations": notes}, finish_reason(answer.ended), sources=source_list, **_beside(completion, answer)
        )
        if usage:
            yield frame(completion.head("chat.completion.chunk") | {"choices": [], "usage": usage_of(answer.ended)})
        yield DONE
    except Exception as error:  # the status is sent already, so the stream itself must tell
        yield frame(problem(error).openai())


def annotations(answer: Answer, links: Links) -> list[dict[str, Any]]:
    """One ``url_citation`` a marker; the indices are of the marker in the content."""
    by_number = {document_source.number: document_source for document_source in documents(answer.sources)}
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": mark.start,
                "end_index": mark.end,
                "title": by_number[mark.number].title,
                "url": links.to(by_number[mark.number]),
            },
        }
        for mark in answer.markers.marks
    ]


def usage_of(done: DoneEvent) -> dict[str, Any]:
    """What generation used."""
    read, wrote = done.usage.prompt_tokens, done.usage.completion_tokens
    return {
        "prompt_tokens": read,
        "completion_tokens": wrote,
        "total_tokens": read + wrote,
        "prompt_tokens_details": {"cached_tokens": done.usage.cached_tokens},
    }


def _beside(completion: Completion, answer: Answer) -> dict[str, Any]:
    related = {"related_questions": list(answer.follow_ups)} if answer.follow_ups else {}
    return {"notice": answer.ended.notice, "ignored": list(completion.ignored)} | related


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "citemesh"}
