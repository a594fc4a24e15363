"""What Perplexity's chat and search requests hold, and what of it steers an answer here.

A filter that can't be kept is refused: passing over it would answer from sources that the caller excluded. A knob
that changes nothing here is taken and named in the answer's ``ignored``.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from citemesh.client.types import Question
from citemesh.contract.bounds import MOST_ANSWER_TOKENS
from citemesh.errors import InvalidInput
from gateway.rest.core.chat import MESSAGES_SCHEMA, only_text
from gateway.rest.core.fields import Fields
from gateway.rest.core.question.fields import COLLECTION, MORE_COLLECTIONS, SOURCE_PREFERENCE, source_types
from gateway.rest.core.question.filters import language
from gateway.rest.core.question.messages import ChatHistory
from gateway.rest.core.question.presets import BOTH
from gateway.rest.core.question.search_options import FILTERS, OPTIONS, SIZE, SIZE_HOPS, filter_of, model_of

RELATED_QUESTIONS = 5
NAMES = {
    "question": "messages",
    "filter.domains": "search_domain_filter",
    "filter.languages": "search_language_filter",
    "filter.published_after": "search_after_date_filter",
    "filter.published_before": "search_before_date_filter",
    "answer_language": "language_preference",
}
"""A question's fields in this API's words, for errors."""

SONAR = Fields(FILTERS)
MODEL = SONAR.text("model", f"One of {', '.join(BOTH)}.", required=True)
MESSAGES = SONAR.anything("messages", "The conversation; its last user message is asked.", MESSAGES_SCHEMA, True)
MAX_TOKENS = SONAR.whole("max_tokens", f"Most tokens of the answer, 1 to {MOST_ANSWER_TOKENS}.")
TEMPERATURE = SONAR.number("temperature", "Softness of the model's choice, 0 to 2.")
STREAM = SONAR.flag("stream", "Answers as server-sent events.")
STREAM_MODE = SONAR.text("stream_mode", "Shape of the events; full where left out.", ("full", "concise"))
RELATED = SONAR.flag("return_related_questions", "Proposes up to five related questions.")
LANGUAGE = SONAR.text("language_preference", "Language to answer in (ISO 639-1).")
DISABLE_SEARCH = SONAR.flag("disable_search", "Refused where true: an answer here is made of the documents.")
RESPONSE_FORMAT = SONAR.object("response_format", 'Only {"type": "text"} is taken.')
WEB_SEARCH_OPTIONS = SONAR.object("web_search_options", "How much is searched.", OPTIONS)
SONAR.unused("sampling is the gateway's", "top_p", "top_k", "presence_penalty", "frequency_penalty", "stop", "best_of")
SONAR.unused("there are no pictures", "return_images", "num_images", "image_domain_filter", "image_format_filter")
SONAR.unused("every question is searched", "enable_search_classifier", "num_search_results", "safe_search")
SONAR.unused("no tools are called", "tools", "tool_choice", "parallel_tool_calls")
SONAR.unused("there is one engine", "reasoning_effort", "country", "latitude", "longitude", "logprobs", "top_logprobs")
SONAR.unused("send the conversation as messages", "thread_id", "use_threads")


def question(body: Mapping[str, Any], said: ChatHistory, now: datetime | None = None) -> Question:
    """The question in a body. Raises InvalidInput naming the body's own field."""
    chosen = model_of(MODEL.of(body))
    only_text(RESPONSE_FORMAT.name, RESPONSE_FORMAT.of(body))
    if DISABLE_SEARCH.of(body):
        fault = "is true, and an answer here is made of what search finds"
        raise InvalidInput(DISABLE_SEARCH.name, fault, "leave it out")
    return Question(
        question=said.question,
        collection=COLLECTION.of(body),
        mode=chosen.mode,
        max_tokens=MAX_TOKENS.of(body),
        source_types=source_types(SOURCE_PREFERENCE.of(body)),
        temperature=TEMPERATURE.of(body),
        filter=filter_of(body, now or datetime.now(UTC)),
        more_collections=MORE_COLLECTIONS.of(body),
        answer_language=language(LANGUAGE.of(body)),
        length=chosen.length,
        related_questions=RELATED_QUESTIONS if RELATED.of(body) else 0,
        max_hops=max(chosen.max_hops, SIZE_HOPS[context_size(body)]),
        history=said.history,
    )


def context_size(body: Mapping[str, Any]) -> str:
    """The context size asked for, "" where none is. Raises InvalidInput naming it by its path."""
    try:
        return SIZE.of(WEB_SEARCH_OPTIONS.of(body))
    except InvalidInput as error:
        raise InvalidInput(f"{WEB_SEARCH_OPTIONS.name}.{error.field}", error.fault, error.remedy) from None
