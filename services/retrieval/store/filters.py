"""Filters as SQL on a document's row, whose alias is d."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.retrieval.domains import suffix
from services.retrieval.engine import Filter


@dataclass(frozen=True, slots=True)
class Where:
    """A condition and its values."""

    sql: str
    values: tuple[object, ...]


def where(collection: int, chosen: Filter) -> Where:
    """The condition that a document of a collection passes a filter; never empty."""
    parts = [
        Where("d.collection = ?", (collection,)),
        *_any_of("d.document_id", chosen.document_ids),
        *_any_of("d.source_type", chosen.source_types),
        *_any_of("d.language", chosen.languages),
        *_domains(chosen.domains),
        *_published(chosen),
        *(_metadata(key, value) for key, value in chosen.metadata.items()),
    ]
    return Where(" AND ".join(part.sql for part in parts), tuple(value for part in parts for value in part.values))


def _any_of(column: str, values: Sequence[str]) -> list[Where]:
    if not values:
        return []
    return [Where(f"{column} IN ({', '.join('?' * len(values))})", tuple(values))]


def _domains(domains: Sequence[str]) -> list[Where]:
    allowed = [name for name in domains if not name.startswith("-")]
    denied = [name[1:] for name in domains if name.startswith("-")]
    parts = [Where(f"NOT {_WITHIN}", _within(name)) for name in denied]
    if allowed:
        values = tuple(value for name in allowed for value in _within(name))
        parts.append(Where(f"({' OR '.join([_WITHIN] * len(allowed))})", values))
    return parts


_WITHIN = "(substr('.' || d.domain, -?) = ?)"


def _within(name: str) -> tuple[object, ...]:
    end = suffix(name)
    return (len(end), end)


def _published(chosen: Filter) -> list[Where]:
    parts = []
    if chosen.published_after is not None:
        parts.append(Where("d.published_at >= ?", (chosen.published_after.timestamp(),)))
    if chosen.published_before is not None:
        parts.append(Where("d.published_at < ?", (chosen.published_before.timestamp(),)))
    return parts


def _metadata(key: str, value: str) -> Where:
    sql = "EXISTS (SELECT 1 FROM metadata m WHERE m.document = d.id AND m.key = ? AND m.value = ?)"
    return Where(sql, (key, value))
