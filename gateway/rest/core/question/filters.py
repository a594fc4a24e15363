"""What a source must be, as the HTTP APIs spell it: dates, recency, domains."""

from datetime import UTC, datetime, timedelta
from typing import Any

from citemesh.client.types import MetadataCondition, SearchFilter
from citemesh.errors import InvalidInput
from gateway.rest.core.body import as_kind, texts_by_name
from gateway.rest.core.fields import Fields

RECENCIES = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=30),
    "year": timedelta(days=365),
}

FILTER = Fields()
DOCUMENT_IDS = FILTER.texts("document_ids", "Documents to use; empty takes all.")
SOURCE_TYPES = FILTER.texts("source_types", "Kinds of source to use; empty takes all.")
DOMAINS = FILTER.texts("domains", 'Domains of the address: a plain one allows, one with a leading "-" denies.')
LANGUAGES = FILTER.texts("languages", "Languages by ISO 639-1 code; empty takes all.")
PUBLISHED_AFTER = FILTER.text("published_after", "Published at this time (ISO 8601) or later.")
PUBLISHED_BEFORE = FILTER.text("published_before", "Published before this time (ISO 8601).")
METADATA = FILTER.object("metadata", "Metadata that must be equal: an object of texts.")
CONDITIONS = FILTER.items(
    "conditions",
    'What else metadata must be: {"key": …} with "any_of": [texts], or "number" or "text": {"from", "to"}.',
)

NUMBER_RANGE = Fields()
_FROM_NUMBER = NUMBER_RANGE.number("from", "Smallest that passes.")
_TO_NUMBER = NUMBER_RANGE.number("to", "Largest that passes.")
TEXT_RANGE = Fields()
_FROM_TEXT = TEXT_RANGE.text("from", "First that passes.")
_TO_TEXT = TEXT_RANGE.text("to", "Last that passes.")


def search_filter(field: str, body: dict[str, Any]) -> SearchFilter:
    """The filter of an object. Raises InvalidInput naming the part at fault."""
    try:
        return SearchFilter(
            document_ids=DOCUMENT_IDS.of(body),
            source_types=SOURCE_TYPES.of(body),
            domains=DOMAINS.of(body),
            languages=LANGUAGES.of(body),
            published_after=moment(PUBLISHED_AFTER.name, PUBLISHED_AFTER.of(body)),
            published_before=moment(PUBLISHED_BEFORE.name, PUBLISHED_BEFORE.of(body)),
            metadata=texts_by_name(METADATA.name, METADATA.of(body)),
            conditions=tuple(_condition(f"conditions[{at}]", item) for at, item in enumerate(CONDITIONS.of(body))),
        )
    except InvalidInput as error:
        raise InvalidInput(f"{field}.{error.field}", error.fault, error.remedy) from None


def _condition(field: str, value: Any) -> MetadataCondition:
    condition = as_kind(field, value, dict)
    key = as_kind(f"{field}.key", condition.get("key"), str)
    kinds = [kind for kind in ("any_of", "number", "text") if condition.get(kind) is not None]
    if len(kinds) != 1:
        raise InvalidInput(field, "must say one thing of its value", "send any_of, number or text")
    if kinds == ["number"]:
        bounds = as_kind(f"{field}.number", condition["number"], dict)
        return MetadataCondition(key, numbers=(_FROM_NUMBER.of(bounds), _TO_NUMBER.of(bounds)))
    if kinds == ["text"]:
        bounds = as_kind(f"{field}.text", condition["text"], dict)
        return MetadataCondition(key, texts=(_FROM_TEXT.of(bounds), _TO_TEXT.of(bounds)))
    values = as_kind(f"{field}.any_of", condition["any_of"], list)
    return MetadataCondition(key, tuple(as_kind(f"{field}.any_of", text, str) for text in values))


def moment(field: str, text: str) -> datetime | None:
    """A time in ISO 8601; without a zone it is UTC. None for an empty text."""
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(field, f"is {text[:40]!r}", "send one such as 2026-01-31 or 2026-01-31T12:00:00Z") from None
    return parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def american_date(field: str, text: str) -> datetime | None:
    """The start of a day written as MM/DD/YYYY, in UTC. None for an empty text."""
    if not text:
        return None
    try:
        return datetime.strptime(text, "%m/%d/%Y").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidInput(field, f"is {text[:40]!r}", "send a date as MM/DD/YYYY") from None


def since(recency: str, now: datetime) -> datetime | None:
    """When the stretch of time that a recency names began; None for an empty one."""
    return now - RECENCIES[recency] if recency else None


def language(text: str) -> str:
    """The ISO 639-1 code of a language tag such as "zh-CN"."""
    return text.strip().replace("_", "-").partition("-")[0].lower()
