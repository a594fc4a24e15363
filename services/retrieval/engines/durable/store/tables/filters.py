"""Filters as SQL on a document's row, whose alias is d."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from services.retrieval.search.filter_values import suffix
from services.retrieval.types.query import Condition, Filter

_SIDE_BY_SIDE = 32


@dataclass(frozen=True, slots=True)
class Where:
    """A condition and its values."""

    sql: str
    values: tuple[object, ...]


def where(collection: int, document_filter: Filter) -> Where:
    """The condition that a document of a collection passes a filter; never empty."""
    parts = [
        Where("d.collection = ?", (collection,)),
        *_any_of("d.document_id", document_filter.document_ids),
        *_any_of("d.source_type", document_filter.source_types),
        *_any_of("d.language", document_filter.languages),
        *_domains(document_filter.domains),
        *_published(document_filter),
        *(_metadata(key, [("m.value = ?", value)]) for key, value in document_filter.metadata.items()),
        *map(_condition, document_filter.conditions),
    ]
    return Where(
        _joined(" AND ", [part.sql for part in parts]), tuple(value for part in parts for value in part.values)
    )


def _joined(word: str, parts: Sequence[str]) -> str:
    """Terms within brackets within brackets: SQLite takes no more than a thousand side by side."""
    if len(parts) <= _SIDE_BY_SIDE:
        return word.join(parts)
    groups = [parts[at : at + _SIDE_BY_SIDE] for at in range(0, len(parts), _SIDE_BY_SIDE)]
    return _joined(word, [f"({word.join(group)})" for group in groups])


def _any_of(column: str, values: Sequence[str]) -> list[Where]:
    if not values:
        return []
    if len(values) > _SIDE_BY_SIDE:  # as one value, of which a statement takes 32,766
        return [Where(f"{column} IN (SELECT value FROM json_each(?))", (json.dumps(list(values)),))]
    return [Where(f"{column} IN ({', '.join('?' * len(values))})", tuple(values))]


def _domains(domains: Sequence[str]) -> list[Where]:
    allowed = [name for name in domains if not name.startswith("-")]
    denied = [name[1:] for name in domains if name.startswith("-")]
    parts = [Where(f"NOT {_WITHIN}", _within(name)) for name in denied]
    if allowed:
        values = tuple(value for name in allowed for value in _within(name))
        parts.append(Where(f"({_joined(' OR ', [_WITHIN] * len(allowed))})", values))
    return parts


_WITHIN = "(substr('.' || d.domain, -?) = ?)"


def _within(name: str) -> tuple[object, ...]:
    end = suffix(name)
    return (len(end), end)


def _published(document_filter: Filter) -> list[Where]:
    parts = []
    if document_filter.published_after is not None:
        parts.append(Where("d.published_at >= ?", (document_filter.published_after.timestamp(),)))
    if document_filter.published_before is not None:
        parts.append(Where("d.published_at < ?", (document_filter.published_before.timestamp(),)))
    return parts


def _condition(condition: Condition) -> Where:
    if condition.any_of:
        part = _any_of("m.value", condition.any_of)[0]
        return _entry(condition.key, part)
    if condition.numbers is not None:
        return _metadata(condition.key, _bounds("m.number", condition.numbers))
    return _metadata(condition.key, _bounds("m.value", condition.texts or (None, None)))


def _bounds(column: str, bounds: tuple[object, object]) -> list[tuple[str, object]]:
    return [
        (f"{column} {sign} ?", bound) for sign, bound in zip((">=", "<="), bounds, strict=True) if bound is not None
    ]


def _metadata(key: str, parts: Sequence[tuple[str, object]]) -> Where:
    return _entry(key, Where(" AND ".join(sql for sql, _ in parts), tuple(value for _, value in parts)))


def _entry(key: str, must: Where) -> Where:
    """One entry of the metadata; text is compared by its bytes in UTF-8, which is the order of code points."""
    sql = f"EXISTS (SELECT 1 FROM metadata m WHERE m.document = d.id AND m.key = ? AND {must.sql})"
    return Where(sql, (key, *must.values))
