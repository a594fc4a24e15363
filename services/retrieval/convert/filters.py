"""Filters of a search, with every check of a field."""

from citemesh.api.retrieval.v1 import retrieval_service_pb2 as pb
from citemesh.contract.filters import MOST_VALUES, check_filter
from citemesh.errors import InvalidInput
from citemesh.kit.timestamps import datetime_of
from services.retrieval.types.query import Condition, Filter


def search_filter(message: pb.SearchFilter) -> Filter:
    """The filter of a search. Raises InvalidInput."""
    fields = Filter(
        document_ids=tuple(message.document_ids),
        source_types=tuple(message.source_types),
        domains=tuple(message.domains),
        languages=tuple(message.languages),
        published_after=datetime_of(message, "published_after", "filter.published_after"),
        published_before=datetime_of(message, "published_before", "filter.published_before"),
        metadata=dict(message.metadata),
        conditions=tuple(
            _condition(f"filter.conditions[{at}]", condition) for at, condition in enumerate(message.conditions)
        ),
    )
    check_filter("filter", fields)
    return fields


def _condition(field: str, message: pb.MetadataCondition) -> Condition:
    must = message.WhichOneof("must")
    if must == "any_of" and not message.any_of.values:
        raise InvalidInput(f"{field}.any_of", "has no value", f"name 1 to {MOST_VALUES}")
    number, text = message.number, message.text
    return Condition(
        message.key,
        any_of=tuple(message.any_of.values),
        numbers=(_bound(number, "from"), _bound(number, "to")) if must == "number" else None,
        texts=(getattr(text, "from") or None, text.to or None) if must == "text" else None,
    )


def _bound(message: pb.NumberRange, field: str) -> float | None:
    return getattr(message, field) if message.HasField(field) else None
