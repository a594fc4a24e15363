"""Options of web search that Perplexity's requests and OpenAI's Responses for Perplexity's clients share.

A filter that can't be kept is refused: passing over it would answer from sources that the caller excluded.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from citemesh.client.types import SearchFilter
from citemesh.errors import InvalidInput
from gateway.rest.core.fields import Fields
from gateway.rest.core.question.fields import FILTERED, FOCUS
from gateway.rest.core.question.filters import RECENCIES, american_date, language, search_filter, since
from gateway.rest.core.question.presets import BOTH, Preset, UnknownModel, preset

SIZES = ("low", "medium", "high")
SIZE_HOPS = {"": 0, "low": 1, "medium": 0, "high": 3}
"""Searches that a context size stands for; 0 is the gateway's default."""
MODES = ("web", "academic", "sec")

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


class InvalidModel(InvalidInput):
    """There is no model of a name."""

    reason = "INVALID_MODEL"


def filter_of(body: Mapping[str, Any], now: datetime) -> SearchFilter:
    """What a source must be. Raises InvalidInput, also for a filter that can't be kept."""
    refuse_unkept(body)
    native = search_filter(FILTERED.name, FILTERED.of(body))
    after = [american_date(AFTER.name, AFTER.of(body)), since(RECENCY.of(body), now), native.published_after]
    return SearchFilter(
        document_ids=native.document_ids,
        source_types=native.source_types,
        domains=(*native.domains, *DOMAINS.of(body)),
        languages=(*native.languages, *map(language, LANGUAGES.of(body))),
        published_after=max((at for at in after if at is not None), default=None),
        published_before=american_date(BEFORE.name, BEFORE.of(body)) or native.published_before,
        metadata=native.metadata,
        conditions=native.conditions,
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
