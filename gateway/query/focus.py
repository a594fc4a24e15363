"""What a question's focus may hold: the bounds that its filter has, before any service is asked."""

import math

from citemesh.client.types import MetadataCondition, SearchFilter
from citemesh.errors import InvalidInput

SOURCE_TYPES = ("markdown", "text", "html", "pdf", "docx", "epub", "csv", "jsonl", "code")
MOST_VALUES = 1000
MOST_CONDITIONS = 64
MOST_COLLECTIONS = 16
LONGEST_VALUE = 4096
LONGEST_KEY = 256


def check_filter(field: str, chosen: SearchFilter) -> None:
    """Raises InvalidInput for a filter out of bounds; the error's field begins with ``field``."""
    for name in ("document_ids", "source_types", "domains", "languages"):
        _check_values(f"{field}.{name}", getattr(chosen, name), MOST_VALUES)
    check_source_types(f"{field}.source_types", chosen.source_types)
    if any(not domain.strip("-. ") for domain in chosen.domains):
        raise InvalidInput(f"{field}.domains", "one of them is empty", 'name domains, with a "-" before denied ones')
    _check_values(f"{field}.metadata", (*chosen.metadata, *chosen.metadata.values()), 2 * MOST_VALUES)
    _check_dates(field, chosen)
    if len(chosen.conditions) > MOST_CONDITIONS:
        fault = f"has {len(chosen.conditions)} entries"
        raise InvalidInput(f"{field}.conditions", fault, f"name up to {MOST_CONDITIONS}")
    for at, condition in enumerate(chosen.conditions):
        _check_condition(f"{field}.conditions[{at}]", condition)


def check_source_types(field: str, types: tuple[str, ...]) -> None:
    """Raises InvalidInput for a kind of source that there is not."""
    for kind in types:
        if kind not in SOURCE_TYPES:
            raise InvalidInput(field, f"{kind[:40]!r} is no kind of source", f"use {', '.join(SOURCE_TYPES)}")


def check_collections(field: str, names: tuple[str, ...]) -> None:
    """Raises InvalidInput for too many collections, or one without a name."""
    _check_values(field, names, MOST_COLLECTIONS)
    if "" in names:
        raise InvalidInput(field, "one of them is empty", "name each collection")


def check_whole(field: str, text: str) -> None:
    """Raises InvalidInput for a text with half a character: JSON can spell a lone surrogate, UTF-8 can't."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        fault = f"has half a character (a lone surrogate) at {error.start}"
        raise InvalidInput(field, fault, "send whole Unicode characters") from None


def _check_values(field: str, values: tuple[str, ...], most: int) -> None:
    if len(values) > most:
        raise InvalidInput(field, f"has {len(values)} entries", f"name up to {most}")
    for value in values:
        check_whole(field, value)
        if len(value) > LONGEST_VALUE:
            raise InvalidInput(field, f"has a value of {len(value)} characters", f"use up to {LONGEST_VALUE}")


def _check_dates(field: str, chosen: SearchFilter) -> None:
    after, before = chosen.published_after, chosen.published_before
    if after is not None and before is not None and after >= before:
        raise InvalidInput(f"{field}.published_before", "is not after published_after", "swap the two")


def _check_condition(field: str, condition: MetadataCondition) -> None:
    check_whole(f"{field}.key", condition.key)
    if not 0 < len(condition.key) <= LONGEST_KEY:
        raise InvalidInput(f"{field}.key", "is empty or too long", f"name an entry in up to {LONGEST_KEY} characters")
    if condition.numbers is not None:
        _check_bounds(f"{field}.number", *condition.numbers)
    elif condition.texts is not None:
        _check_values(f"{field}.text", condition.texts, 2)
        _check_bounds(f"{field}.text", condition.texts[0] or None, condition.texts[1] or None)
    elif not condition.any_of:
        raise InvalidInput(field, "says nothing of the value", "set any_of, number or text")
    _check_values(f"{field}.any_of", condition.any_of, MOST_VALUES)


def _check_bounds(field: str, low: float | str | None, high: float | str | None) -> None:
    if low is None and high is None:
        raise InvalidInput(field, "has no bound", "set from, to or both")
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (low, high)):
        raise InvalidInput(field, "has a bound that is no number", "send numbers")
    if low is not None and high is not None and low > high:  # type: ignore[operator]  # both are of one type
        raise InvalidInput(field, "begins after its end", "swap from and to")
