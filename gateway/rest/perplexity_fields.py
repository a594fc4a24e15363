"""What Perplexity's chat and search requests hold, and what of it steers an answer here.

A filter that can't be kept is refused: passing over it would answer from sources that the caller excluded. A knob
that changes nothing here is taken and named in the answer's ``ignored``.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from citemesh.client.types import Question, SearchFilter
from citemesh.errors import InvalidInput
from gateway.rest.fields import Fields
from gateway.rest.focus import RECENCIES, american_date, language, search_filter, since
from gateway.rest.messages import Conversation
from gateway.rest.models import BOTH, Preset, UnknownModel, preset
from gateway.rest.native import COLLECTION, FILTERED, FOCUS, MORE_COLLECTIONS, SOURCE_PREFERENCE, source_types
from gateway.rest.openai import MESSAGES_SCHEMA, only_text

SIZES = ("low", "medium", "high")
SIZE_HOPS = {"": 0, "low": 1, "medium": 0, "high": 3}
"""Searches that a context size stands for; 0 is the gateway's default."""
RELATED_QUESTIONS = 5
MODES = ("web", "academic", "sec")
NAMES = {
    "question": "messages",
    "filter.domains": "search_domain_filter",
    "filter.languages": "search_language_filter",
    "filter.published_after": "search_after_date_filter",
    "filter.published_before": "search_before_date_filter",
    "answer_language": "language_preference",
}
"""A question's fields in this API's words, for errors."""

FILTERS = Fields(FOCUS)
MODE = FILTERS.text("search_mode", "Only web, which stands for all collections, is kept.", MODES)
DOMAINS = FILTERS.texts("search_domain_filter", 'Domains to use; one with a leading "-" is denied.')
LANGUAGES = FILTERS.texts("search_language_filter", "Languages of the documents (ISO 639-1).")
RECENCY = FILTERS.text("search_recency_filter", "Published within this time.", tuple(RECENCIES))
AFTER = FILTERS.text("search_after_date_filter", "Published on this day (MM/DD/YYYY) or later.")
BEFORE = FILTERS.text("search_before_date_filter", "Published before this day (MM/DD/YYYY).")
UPDATED = tuple(
    FILTERS.text(name, "Refused: documents have no date of update here.")
    for name in ("last_updated_after_filter", "last_updated_before_filter")
)

OPTIONS = Fields()
SIZE = OPTIONS.text(
    "search_context_size", "low makes one search, high up to three after another, medium the default.", SIZES
)
OPTIONS.unused("there is one kind of search", "search_type", "user_location", "image_results_enhanced_relevance")

SONAR = Fields(FILTERS)
MODEL = SONAR.text("model", f"One of {', '.join(BOTH)}.", required=True)
MESSAGES = SONAR.anything("messages", "The conversation; its last user message is asked.", MESSAGES_SCHEMA, True)
MAX_TOKENS = SONAR.whole("max_tokens", "Most tokens of the answer, 1 to 4096.")
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


class InvalidModel(InvalidInput):
    """There is no model of a name."""

    reason = "INVALID_MODEL"


def question(body: Mapping[str, Any], said: Conversation, now: datetime | None = None) -> Question:
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


def filter_of(body: Mapping[str, Any], now: datetime) -> SearchFilter:
    """What a source must be. Raises InvalidInput, also for a filter that can't be kept."""
    refuse_unkept(body)
    own = search_filter(FILTERED.name, FILTERED.of(body))
    after = [american_date(AFTER.name, AFTER.of(body)), since(RECENCY.of(body), now), own.published_after]
    return SearchFilter(
        document_ids=own.document_ids,
        source_types=own.source_types,
        domains=(*own.domains, *DOMAINS.of(body)),
        languages=(*own.languages, *map(language, LANGUAGES.of(body))),
        published_after=max((at for at in after if at is not None), default=None),
        published_before=american_date(BEFORE.name, BEFORE.of(body)) or own.published_before,
        metadata=own.metadata,
        conditions=own.conditions,
    )


def refuse_unkept(body: Mapping[str, Any]) -> None:
    """Raises InvalidInput for a filter that can't be kept."""
    if MODE.of(body) not in ("", "web"):
        raise InvalidInput(MODE.name, f"is {MODE.of(body)!r}", "leave it out, and name a collection where you mean one")
    for field in UPDATED:
        if field.of(body):
            raise InvalidInput(field.name, "can't be kept: documents have no date of update", f"use {AFTER.name}")


def model_of(name: str) -> Preset:
    """What a model's name stands for. Raises InvalidModel."""
    try:
        return preset(name, BOTH)
    except UnknownModel:
        raise InvalidModel("model", f"invalid model {name[:80]!r}", f"use {' or '.join(BOTH)}") from None
