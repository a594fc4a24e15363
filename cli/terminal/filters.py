"""What a person writes to narrow a search, as a filter: dates, and conditions on metadata.

A condition is `key=value`, `key in a,b`, or a bound: `key>=value`, `key<=value`, `key>value`, `key<value`. A bound that
reads as a number compares numbers; any other, or one in double quotes, compares text, which is right for ISO dates.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from citemesh.client.types import MetadataCondition, SearchFilter
from citemesh.errors import InvalidInput

_CONDITION_FORM = 'write it as key=value, key>=number or "key in a,b"'
_IN = re.compile(r"\s*(?P<key>[^=<>!]+?)\s+in\s+(?P<values>.+)", re.S)
_COMPARE = re.compile(r"\s*(?P<key>[^=<>!]+?)\s*(?P<sign>>=|<=|==?|>|<)\s*(?P<value>[^=<>].*|)", re.S)
_PART_OF_DATE = re.compile(r"\d{4}(?:-\d{2})?")


def search_filter(
    source_types: Sequence[str],
    domains: Sequence[str],
    languages: Sequence[str],
    times: tuple[datetime | None, datetime | None],
    conditions: Sequence[str],
) -> SearchFilter:
    """All of it as one filter; times are the first and the one before which. Raises InvalidInput."""
    return SearchFilter(
        source_types=tuple(source_types),
        domains=tuple(domains),
        languages=tuple(languages),
        published_after=times[0],
        published_before=times[1],
        conditions=tuple(condition(text) for text in conditions),
    )


def moment(field: str, text: str | None) -> datetime | None:
    """A year, a month, a day or a time in ISO 8601; UTC where it names no zone. Raises InvalidInput."""
    if text is None:
        return None
    trimmed = text.strip()
    if _PART_OF_DATE.fullmatch(trimmed):
        trimmed = f"{trimmed}-01-01"[:10]
    try:
        parsed = datetime.fromisoformat(trimmed)
    except ValueError:
        raise InvalidInput(field, f"{text!r} is no date", "write it as 2024-05-01 or 2024-05-01T12:00Z") from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def condition(text: str) -> MetadataCondition:
    """One condition. Raises InvalidInput."""
    if listed := _IN.fullmatch(text):
        values = next(csv.reader([listed["values"]], skipinitialspace=True), [])
        return MetadataCondition(listed["key"], any_of=tuple(value.strip() for value in values))
    compared = _COMPARE.fullmatch(text)
    if compared is None:
        raise InvalidInput("--where", f"{text!r} is no condition", _CONDITION_FORM)
    key, sign, value = compared["key"], compared["sign"], compared["value"].strip()
    if sign in ("=", "=="):
        return MetadataCondition(key, any_of=(_unquoted(value),))
    if not value:
        raise InvalidInput("--where", f"{text!r} names no bound", _CONDITION_FORM)
    number = _number(value)
    return _text_bound(text, key, sign, _unquoted(value)) if number is None else _number_bound(key, sign, number)


def _number_bound(key: str, sign: str, bound: float) -> MetadataCondition:
    """Bounds of the contract are included; one that is not is the next number there is."""
    if sign.startswith(">"):
        return MetadataCondition(key, numbers=(bound if sign == ">=" else math.nextafter(bound, math.inf), None))
    return MetadataCondition(key, numbers=(None, bound if sign == "<=" else math.nextafter(bound, -math.inf)))


def _text_bound(text: str, key: str, sign: str, bound: str) -> MetadataCondition:
    if sign in (">", "<"):
        raise InvalidInput("--where", f"{text!r}: a bound on text is itself included", f"write {key}{sign}={bound}")
    return MetadataCondition(key, texts=(bound, "") if sign == ">=" else ("", bound))


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
