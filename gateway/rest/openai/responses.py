"""Perplexity's Agent shape, which OpenAI's Responses clients read as well: ``POST /v1/responses`` and ``/v1/agent``.

Nothing is kept between calls: a conversation is sent whole, as ``input``.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.client.types import Question, SearchFilter
from citemesh.contract.bounds import MOST_ANSWER_TOKENS, MOST_HOPS
from citemesh.errors import InvalidInput
from gateway.query.question import check_text
from gateway.rest.core.answer import begin
from gateway.rest.core.body import as_kind, read_object
from gateway.rest.core.chat import only_text
from gateway.rest.core.endpoint import JSON, SSE, Asking, Endpoint, HttpBounds
from gateway.rest.core.errors import Problem, whole
from gateway.rest.core.fields import Fields
from gateway.rest.core.links import Links
from gateway.rest.core.question.field_names import in_words_of
from gateway.rest.core.question.fields import (
    COLLECTION,
    FILTERED,
    FOCUS,
    MORE_COLLECTIONS,
    SOURCE_PREFERENCE,
    source_types,
)
from gateway.rest.core.question.filters import language, search_filter
from gateway.rest.core.question.messages import ChatHistory, conversation
from gateway.rest.core.question.presets import BOTH
from gateway.rest.core.question.search_options import FILTERS, OPTIONS, SIZE, SIZE_HOPS, filter_of, model_of
from gateway.rest.core.streaming.disconnect import unless_gone
from gateway.rest.core.streaming.sse import EventStream
from gateway.rest.openai.responses_stream import Reply, events_of, read, rendered

PATHS = ("/v1/responses", "/v1/agent")
INPUT_SCHEMA = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]}
SEARCH_TOOLS = ("web_search", "web_search_preview", "file_search")
DEFAULT_MODEL = "citemesh"
NAMES = {
    "question": "input",
    "max_tokens": "max_output_tokens",
    "answer_language": "language_preference",
    "filter": "tools.filters",
}

RESPONSES = Fields(FOCUS)
INPUT = RESPONSES.anything("input", "The question, or the conversation as a list of items.", INPUT_SCHEMA, True)
MODEL = RESPONSES.text("model", f"One of {', '.join(BOTH)}, also behind a provider's name and a slash.")
MODELS = RESPONSES.texts("models", "Models in the order to try; the first that is known counts.")
PRESET = RESPONSES.text("preset", "Stands for a model where none is named.")
MAX_OUTPUT_TOKENS = RESPONSES.whole("max_output_tokens", f"Most tokens of the answer, 1 to {MOST_ANSWER_TOKENS}.")
MAX_STEPS = RESPONSES.whole("max_steps", f"Most searches one after another; over {MOST_HOPS} is {MOST_HOPS}.")
TEMPERATURE = RESPONSES.number("temperature", "Softness of the model's choice, 0 to 2.")
LANGUAGE = RESPONSES.text("language_preference", "Language to answer in (ISO 639-1).")
TOOLS = RESPONSES.items("tools", "A tool of the type web_search may carry `filters` and `search_context_size`.")
STREAM = RESPONSES.flag("stream", "Answers as server-sent events.")
BACKGROUND = RESPONSES.flag("background", "Refused where true.")
PREVIOUS = RESPONSES.text("previous_response_id", "Refused: nothing is kept; send the conversation as input.")
RESPONSE_FORMAT = RESPONSES.object("response_format", 'Only {"type": "text"} is taken.')
TEXT = RESPONSES.object("text", 'Only {"format": {"type": "text"}} is taken.')
RESPONSES.unused("answers follow the documents alone", "instructions")
RESPONSES.unused("there is one engine", "reasoning", "skills", "service_tier", "truncation", "include", "prompt")
RESPONSES.unused("sampling is the gateway's", "top_p", "top_logprobs", "parallel_tool_calls", "max_tool_calls")
RESPONSES.unused("nothing is kept", "store", "conversation", "metadata", "user", "tool_choice")

TOOL = Fields(OPTIONS)
FILTERS_OF_TOOL = TOOL.object("filters", "As the fields of /chat/completions.", FILTERS)


class ResponsesApi:
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
                self.create,
                "Responses",
                Problem.openai,
                "Answers the input's last user message.",
                body=RESPONSES,
                answers=(JSON, SSE),
                answer="A `response` whose output is what was found and a message with `annotations`.",
            )
            for path in PATHS
        ]

    async def create(self, request: Request) -> Response:
        """``POST /v1/responses``."""
        body = await read_object(request, self._bounds.body_bytes)
        model, history = model_name(body), said_in(INPUT.of(body))
        asked_question = question(body, model, history)
        reply = Reply(model, Links.of(request), (*RESPONSES.ignored(body), *unused_tools(body), *history.unused))
        events = in_words_of(NAMES, self._answering.ask(asked_question))
        if STREAM.of(body):
            return EventStream(events_of(reply, await unless_gone(request, begin(events))), self._bounds.idle_s)
        await unless_gone(request, read(reply, events))
        return JSONResponse(rendered(reply))


def said_in(value: Any) -> ChatHistory:
    """The conversation of an input. Raises InvalidInput."""
    if isinstance(value, str):
        check_text(INPUT.name, value)
        return ChatHistory(value)
    items = [as_kind(f"{INPUT.name}[{at}]", entry, dict) for at, entry in enumerate(as_kind(INPUT.name, value, list))]
    return conversation(INPUT.name, [_as_message(item) for item in items])


def _as_message(item: dict[str, Any]) -> dict[str, Any]:
    """The item; one that is no message, such as a call's output, stands as one of an unknown role."""
    return item if item.get("type") in (None, "message") else {"role": item.get("type")}


def question(body: Mapping[str, Any], model: str, history: ChatHistory) -> Question:
    """The question in a body. Raises InvalidInput naming the body's own field."""
    refuse(body)
    preset_of_model = model_of(model)
    tool = search_tool(body)
    steps = min(MAX_STEPS.of(body), MOST_HOPS)
    return Question(
        question=history.question,
        collection=COLLECTION.of(body),
        mode=preset_of_model.mode,
        max_tokens=MAX_OUTPUT_TOKENS.of(body),
        source_types=source_types(SOURCE_PREFERENCE.of(body)),
        temperature=TEMPERATURE.of(body),
        filter=_filter(body, tool),
        more_collections=MORE_COLLECTIONS.of(body),
        answer_language=language(LANGUAGE.of(body)),
        length=preset_of_model.length,
        max_hops=steps or max(preset_of_model.max_hops, SIZE_HOPS[SIZE.of(tool)]),
        history=history.history,
    )


def refuse(body: Mapping[str, Any]) -> None:
    """Raises InvalidInput for what can't be done and would change what the caller gets."""
    if BACKGROUND.of(body):
        raise InvalidInput(BACKGROUND.name, "is true, and nothing is kept here", "leave it out, and stream")
    if PREVIOUS.of(body):
        raise InvalidInput(PREVIOUS.name, "names a response, and none is kept", "send the conversation as input")
    only_text(RESPONSE_FORMAT.name, RESPONSE_FORMAT.of(body))
    only_text(f"{TEXT.name}.format", as_kind(f"{TEXT.name}.format", TEXT.of(body).get("format") or {}, dict))


def model_name(body: Mapping[str, Any]) -> str:
    """The model that is asked, without a provider's name before it."""
    candidates = [*MODELS.of(body), MODEL.of(body), PRESET.of(body)]
    names = [name.rpartition("/")[2] for name in candidates if name] or [DEFAULT_MODEL]
    return next((name for name in names if name in BOTH), names[0])


def search_tool(body: Mapping[str, Any]) -> dict[str, Any]:
    """The first tool that searches; {} where there is none."""
    tools = [as_kind(f"{TOOLS.name}[{at}]", item, dict) for at, item in enumerate(TOOLS.of(body))]
    return next((item for item in tools if item.get("type") in SEARCH_TOOLS), {})


def unused_tools(body: Mapping[str, Any]) -> list[str]:
    """Tools that are not called here."""
    kinds = enumerate(tool.get("type") if isinstance(tool, dict) else None for tool in TOOLS.of(body))
    return [f"{TOOLS.name}[{at}] ({whole(str(kind)[:20])})" for at, kind in kinds if kind not in SEARCH_TOOLS]


def _filter(body: Mapping[str, Any], tool: Mapping[str, Any]) -> SearchFilter:
    inner = FILTERS_OF_TOOL.of(tool)
    native = body.get(FILTERED.name)
    if not inner:
        return search_filter(FILTERED.name, FILTERED.of(body))
    return filter_of({**inner, FILTERED.name: native}, datetime.now(UTC))
