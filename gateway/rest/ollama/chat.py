"""Ollama's shape: ``/api/chat``, ``/api/generate``, ``/api/tags``, ``/api/show``, ``/api/ps`` and ``/api/version``.

Streams are NDJSON and the default. Durations are nanoseconds that were measured; what isn't measured is left out.
"""

import hashlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.client.types import AskEvent, DoneEvent, Question
from citemesh.errors import InvalidInput
from citemesh.version import own_version
from gateway.rest.core.answer import Answer, begin, listed
from gateway.rest.core.body import optional, read_object
from gateway.rest.core.chat import MESSAGES_SCHEMA, finish_reason
from gateway.rest.core.endpoint import JSON, NDJSON, Asking, Endpoint, HttpBounds
from gateway.rest.core.errors import Problem, problem
from gateway.rest.core.fields import Fields
from gateway.rest.core.question.field_names import in_words_of
from gateway.rest.core.question.fields import ALL_SOURCES, ANSWERED, focused
from gateway.rest.core.question.messages import ChatHistory, conversation
from gateway.rest.core.question.presets import OWN, UnknownModel, preset
from gateway.rest.core.streaming.disconnect import unless_gone
from gateway.rest.core.streaming.ndjson import LineStream, line

TAG = ":latest"
DETAILS = {
    "parent_model": "",
    "format": "",
    "family": "citemesh",
    "families": ["citemesh"],
    "parameter_size": "",
    "quantization_level": "",
}
Part = Callable[[str], dict[str, Any]]

OPTIONS = Fields()
TEMPERATURE = OPTIONS.number("temperature", "Softness of the model's choice, 0 to 2.")
NUM_PREDICT = OPTIONS.whole("num_predict", "Most tokens of the answer; below 1 is the gateway's default.")

COMMON = Fields(ANSWERED)
MODEL = COMMON.text("model", f"One of {', '.join(OWN)}, also with {TAG}.", required=True)
STREAM = COMMON.flag("stream", "Answers line by line (NDJSON).", True)
FORMAT = COMMON.anything("format", "Refused: answers are cited text.", {})
OPTIONS_FIELD = COMMON.object("options", "temperature and num_predict are used.", OPTIONS)
COMMON.unused("models stay loaded", "keep_alive")
COMMON.unused("answers don't have them", "think", "logprobs", "top_logprobs")

CHAT = Fields(COMMON)
MESSAGES = CHAT.anything("messages", "The conversation; its last user message is the question.", MESSAGES_SCHEMA, True)
CHAT.unused("no tools are called", "tools")

GENERATE = Fields(COMMON)
PROMPT = GENERATE.text("prompt", "The question.", required=True)
SUFFIX = GENERATE.text("suffix", "Refused: nothing is filled in.")
GENERATE.unused("answers follow the documents alone", "system", "template", "raw", "context")

SHOW = Fields()
SHOWN = SHOW.text("model", "A model's name.", required=True)


@dataclass(slots=True)
class Run:
    """One answer on its way. part: a piece of text in the shape of the endpoint."""

    model: str
    part: Part
    ignored: tuple[str, ...] = ()
    all_sources: bool = False
    began: int = field(default_factory=time.perf_counter_ns)
    answer: Answer = field(default_factory=Answer)

    def piece(self, text: str, done: bool = False) -> dict[str, Any]:
        """One object of the answer."""
        return {"model": self.model, "created_at": _now()} | self.part(text) | {"done": done}

    def end(self) -> dict[str, Any]:
        """What the last object has beside its text."""
        done = self.answer.ended
        used = {"prompt_eval_count": done.usage.prompt_tokens, "eval_count": done.usage.completion_tokens}
        return {
            "done_reason": finish_reason(done),
            "total_duration": time.perf_counter_ns() - self.began,
            **durations(done),
            **used,
            "sources": listed(self.answer, self.all_sources),
            "notice": done.notice,
            "ignored": list(self.ignored),
        }


class OllamaApi:
    """The endpoints."""

    def __init__(self, answering: Asking, bounds: HttpBounds) -> None:
        self._answering = answering
        self._bounds = bounds
        self._started = _now()

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        shape, two = Problem.ollama, (NDJSON, JSON)
        return [
            Endpoint(
                "POST",
                "/api/chat",
                self.chat,
                "Ollama",
                shape,
                "Answers the last user message.",
                body=CHAT,
                answers=two,
                answer="`message` with [n] markers; the last object has `sources` and durations.",
            ),
            Endpoint(
                "POST",
                "/api/generate",
                self.generate,
                "Ollama",
                shape,
                "Answers a prompt.",
                body=GENERATE,
                answers=two,
                answer="`response` with [n] markers; the last object has `sources` and durations.",
            ),
            Endpoint("GET", "/api/tags", self.tags, "Ollama", shape, "Lists the models."),
            Endpoint("GET", "/api/ps", self.running, "Ollama", shape, "Lists the models, which all stay loaded."),
            Endpoint("POST", "/api/show", self.show, "Ollama", shape, "Tells of a model.", body=SHOW),
            Endpoint("GET", "/api/version", self.version, "Ollama", shape, "The version of CiteMesh."),
        ]

    async def chat(self, request: Request) -> Response:
        """``POST /api/chat``."""
        body = await read_object(request, self._bounds.body_bytes)
        history = conversation(MESSAGES.name, MESSAGES.of(body))
        unused = (*CHAT.ignored(body), *history.unused)
        return await self._answer(request, body, history, Run(MODEL.of(body), _message, unused, ALL_SOURCES.of(body)))

    async def generate(self, request: Request) -> Response:
        """``POST /api/generate``."""
        body = await read_object(request, self._bounds.body_bytes)
        if SUFFIX.of(body):
            raise InvalidInput(SUFFIX.name, "is set, and nothing is filled in here", "leave it out")
        run = Run(MODEL.of(body), _response, tuple(GENERATE.ignored(body)), ALL_SOURCES.of(body))
        return await self._answer(request, body, ChatHistory(PROMPT.of(body)), run)

    async def _answer(self, request: Request, body: dict[str, Any], history: ChatHistory, run: Run) -> Response:
        prompt = "prompt" if run.part is _response else "messages"
        names = {"question": prompt, "max_tokens": "options.num_predict", "temperature": "options.temperature"}
        events = in_words_of(names, self._answering.ask(question(body, history)))
        if STREAM.of(body):
            return LineStream(lines(run, await unless_gone(request, begin(events))))
        await unless_gone(request, _read(run, events))
        return JSONResponse(run.piece(run.answer.marked, True) | run.end())

    async def tags(self, request: Request) -> Response:
        """``GET /api/tags``."""
        return JSONResponse({"models": [self._model(name) for name in OWN]})

    async def running(self, request: Request) -> Response:
        """``GET /api/ps``."""
        return JSONResponse({"models": [self._model(name) for name in OWN]})

    async def show(self, request: Request) -> Response:
        """``POST /api/show``."""
        body = await read_object(request, self._bounds.body_bytes)
        name = plain(SHOWN.of(body) if body.get("model") else optional(body, "name", str, ""))
        preset(name, OWN)
        return JSONResponse(
            {
                "modelfile": "",
                "parameters": "",
                "template": "",
                "modified_at": self._started,
                "details": DETAILS,
                "model_info": {"general.architecture": "citemesh", "general.basename": name},
                "capabilities": ["completion"],
            }
        )

    async def version(self, request: Request) -> Response:
        """``GET /api/version``."""
        return JSONResponse({"version": own_version()})

    def _model(self, name: str) -> dict[str, Any]:
        digest = hashlib.sha256(f"{name} {own_version()}".encode()).hexdigest()
        tag = {"name": name + TAG, "model": name + TAG, "modified_at": self._started, "size": 0, "digest": digest}
        return tag | {"details": DETAILS}


def question(body: Mapping[str, Any], history: ChatHistory) -> Question:
    """The question in a body. Raises InvalidInput naming the body's own field."""
    if FORMAT.of(body):
        raise InvalidInput(FORMAT.name, "is set, and answers are cited text", "leave it out")
    if body.get("images"):
        raise InvalidInput("images", "can't be read here", "leave them out")
    options = OPTIONS_FIELD.of(body)
    parsed = Question(
        question=history.question,
        mode=preset(plain(MODEL.of(body)), OWN).mode,
        max_tokens=max(0, NUM_PREDICT.of(options)),
        temperature=TEMPERATURE.of(options),
        history=history.history,
    )
    return focused(parsed, body)


async def lines(run: Run, events: AsyncGenerator[AskEvent]) -> AsyncGenerator[bytes]:
    """An answer line by line; an error on the way is a line of its own, the last."""
    try:
        async with aclosing(events):
            async for event in events:
                if text := run.answer.take(event):
                    yield line(run.piece(text))
        yield line(run.piece("", True) | run.end())
    except Exception as error:  # the status is sent already, so the stream itself must tell
        yield line(problem(error).ollama())


def durations(done: DoneEvent) -> dict[str, int]:
    """Times of reading the prompt and of writing, in nanoseconds, where a model wrote."""
    timings = done.timings
    if "first_token" not in timings or "generate" not in timings:
        return {}
    read = round(timings["first_token"] * 1e6)
    return {"prompt_eval_duration": read, "eval_duration": max(0, round(timings["generate"] * 1e6) - read)}


def plain(model: str) -> str:
    """A model's name without the tag that all have. Raises UnknownModel for another tag."""
    name = model.removesuffix(TAG)
    if ":" in name:
        raise UnknownModel("model", model[:80], f"use {' or '.join(OWN)}")
    return name


async def _read(run: Run, events: AsyncGenerator[AskEvent]) -> None:
    async with aclosing(events):
        async for event in events:
            run.answer.take(event)


def _message(text: str) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text}}


def _response(text: str) -> dict[str, Any]:
    return {"response": text}


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
