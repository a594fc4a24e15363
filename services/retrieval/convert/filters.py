"""Filters of a search, with every check of a field."""

import math

from citemesh.api.retrieval.v1 import retrieval_service_pb2 as pb
from citemesh.errors import InvalidInput
from citemesh.kit.timestamps import moment
from services.retrieval.types.query import Condition, Filter

MAX_FILTER_VALUES = 1000
MAX_CONDITIONS = 64
_LONGEST_KEY = 256


def chosen(message: pb.SearchFilter) -> Filter:
    """What a result must be. Raises InvalidInput."""
    for field in ("document_ids", "source_types", "domains", "languages", "metadata"):
        if len(getattr(message, field)) > MAX_FILTER_VALUES:
            raise InvalidInput(f"filter.{field}", "it has too many entries", f"name up to {MAX_FILTER_VALUES}")
    if any(not name.strip("-. ") for name in message.domains):
        raise InvalidInput("filter.domains", "one of them is empty", 'name domains, with a "-" before denied ones')
    return Filter(
        document_ids=tuple(message.document_ids),
        source_types=tuple(message.source_types),
        domains=tuple(message.domains),
        languages=tuple(message.languages),
        published_after=moment(message, "published_after", "filter.published_after"),
        published_before=moment(message, "published_before", "filter.published_before"),
        metadata=dict(message.metadata),
        conditions=_conditions(message),
    )


def _conditions(message: pb.SearchFilter) -> tuple[Condition, ...]:
    if len(message.conditions) > MAX_CONDITIONS:
        raise InvalidInput("filter.conditions", "it has too many entries", f"name up to {MAX_CONDITIONS}")
    return tuple(_condition(f"filter.conditions[{at}]", one) for at, one in enumerate(message.conditions))


def _condition(field: str, message: pb.MetadataCondition) -> Condition:
    if not 0 < len(message.key) <= _LONGEST_KEY:
        raise InvalidInput(
            f"{field}.key", "it is empty or too long", f"name an entry in up to {_LONGEST_KEY} characters"
        )
    must = message.WhichOneof("must")
    if must == "any_of":
        if not 0 < len(message.any_of.values) <= MAX_FILTER_VALUES:
            raise InvalidInput(f"{field}.any_of", "it has no value, or too many", f"name 1 to {MAX_FILTER_VALUES}")
        return Condition(message.key, any_of=tuple(message.any_of.values))
    if must == "number":
        return Condition(message.key, numbers=_numbers(f"{field}.number", message.number))
    if must == "text":
        bounds = message.text
        first, last = getattr(bounds, "from") or None, bounds.to or None
        _check_bounds(f"{field}.text", first, last)
        return Condition(message.key, texts=(first, last))
    raise InvalidInput(field, "it says nothing of the value", "set any_of, number or text")


def _numbers(field: str, message: pb.NumberRange) -> tuple[float | None, float | None]:
    low = getattr(message, "from") if message.HasField("from") else None
    high = message.to if message.HasField("to") else None
    if any(bound is not None and math.isnan(bound) for bound in (low, high)):
        raise InvalidInput(field, "a bound is no number", "send numbers")
    _check_bounds(field, low, high)
    return low, high


def _check_bounds(field: str, low: float | str | None, high: float | str | None) -> None:
    if low is None and high is None:
        raise InvalidInput(field, "it has no bound", "set from, to or both")
    if low is not None and high is not None and low > high:  # type: ignore[operator]  # both are of one type
        raise InvalidInput(field, "it begins after its end", "swap from and to")
