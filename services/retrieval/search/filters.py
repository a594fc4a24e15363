"""Filters on documents in memory: the same as the durable store's SQL, in Python."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from services.retrieval.search.filter_values import domain, number_of, suffix
from services.retrieval.types.document import DocumentInfo
from services.retrieval.types.query import Condition, Filter

T = TypeVar("T", float, bytes)


def passes(info: DocumentInfo, document_filter: Filter) -> bool:
    """Whether a document passes a filter."""
    return (
        (not document_filter.document_ids or info.document_id in document_filter.document_ids)
        and (not document_filter.source_types or info.source_type in document_filter.source_types)
        and (not document_filter.languages or info.language in document_filter.languages)
        and _from_domains(info.uri, document_filter.domains)
        and _published(info.published_at, document_filter)
        and all(info.metadata.get(key) == value for key, value in document_filter.metadata.items())
        and all(_holds(condition, info.metadata.get(condition.key)) for condition in document_filter.conditions)
    )


def _from_domains(uri: str, domains: Sequence[str]) -> bool:
    host = "." + domain(uri)
    allowed = [suffix(name) for name in domains if not name.startswith("-")]
    denied = [suffix(name[1:]) for name in domains if name.startswith("-")]
    return not any(map(host.endswith, denied)) and (not allowed or any(map(host.endswith, allowed)))


def _published(at: datetime | None, document_filter: Filter) -> bool:
    after, before = document_filter.published_after, document_filter.published_before
    return (after is None or (at is not None and at >= after)) and (before is None or (at is not None and at < before))


def _holds(condition: Condition, value: str | None) -> bool:
    if value is None:
        return False
    if condition.any_of:
        return value in condition.any_of
    if condition.numbers is not None:
        number = number_of(value)
        return number is not None and _within(number, *condition.numbers)
    return _within(value.encode("utf-8", "surrogatepass"), *map(_bytes, condition.texts or (None, None)))


def _bytes(bound: str | None) -> bytes | None:
    return None if bound is None else bound.encode("utf-8", "surrogatepass")


def _within(value: T, low: T | None, high: T | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)
