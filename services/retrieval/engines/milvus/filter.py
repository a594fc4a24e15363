"""Filters as Milvus expressions. They hold no text of a caller, only hashes, hex digits and numbers.

A chunk carries its document's tags (hashes of values that a filter may name), date, numbers and texts. An expression
may let more pass than the filter, never less: the engine checks the result with `passes`.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from services.retrieval.search.filter_values import domain, number_of, suffix
from services.retrieval.types.document import DocumentInfo
from services.retrieval.types.query import Condition, Filter

MAX_TAGS = 1024
MAX_TAG = 32
_TEXT_BYTES = 128
"""Bytes of a metadata value by which ranges of texts are narrowed down."""
_DEEPEST_DOMAIN = 128


def key(*parts: str) -> str:
    """32 hex digits that stand for some texts."""
    joined = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=16).hexdigest()


def tags(info: DocumentInfo) -> list[str]:
    """Hashes of the document's values that a filter may name."""
    hashes = [key("id", info.document_id), key("type", info.source_type), key("language", info.language)]
    hashes += [key("domain", name) for name in _suffixes(domain(info.uri))]
    hashes += [key("metadata", name, value) for name, value in info.metadata.items()]
    return hashes[:MAX_TAGS]


def numbers(info: DocumentInfo) -> dict[str, float]:
    """Numbers of the metadata by the hash of their key."""
    read = {key(name): number_of(value) for name, value in info.metadata.items()}
    return {name: number for name, number in read.items() if number is not None}


def texts(info: DocumentInfo) -> dict[str, str]:
    """Beginnings of the metadata's values as hex digits, whose order is that of the values' bytes."""
    return {key(name): _hex(value) for name, value in info.metadata.items()}


def microseconds(at: datetime | None) -> int | None:
    """A date as Milvus stores it."""
    return None if at is None else round(at.astimezone(UTC).timestamp() * 1_000_000)


def expression(document_filter: Filter) -> str:
    """The expression that a chunk must fulfil; empty where all pass."""
    parts = [
        _any("id", document_filter.document_ids),
        _any("type", document_filter.source_types),
        _any("language", document_filter.languages),
        _any("domain", [suffix(name) for name in document_filter.domains if not name.startswith("-")]),
    ]
    if denied := [suffix(name[1:]) for name in document_filter.domains if name.startswith("-")]:
        parts.append(f"not {_any('domain', denied)}")
    parts += [_listed([key("metadata", *pair)]) for pair in document_filter.metadata.items()]
    parts += [_condition(condition) for condition in document_filter.conditions]
    parts += _dates(document_filter)
    return " and ".join(f"({part})" for part in parts if part)


def _any(kind: str, values: Sequence[str]) -> str:
    return _listed([key(kind, value) for value in values]) if values else ""


def _listed(hashes: Iterable[str]) -> str:
    return f"array_contains_any(tags, [{quoted(hashes)}])"


def quoted(hashes: Iterable[str]) -> str:
    """Hashes as a list in an expression."""
    return ", ".join(f'"{digest}"' for digest in hashes)


def _condition(condition: Condition) -> str:
    if condition.any_of:
        return _listed([key("metadata", condition.key, value) for value in condition.any_of])
    if condition.numbers is not None:
        return _within("numbers", condition.key, [None if n is None else repr(float(n)) for n in condition.numbers])
    first, last = condition.texts or (None, None)
    low = None if first is None else f'"{_hex(first)}"'
    # What begins like the upper bound may be below it: `passes` decides.
    high = None if last is None else f'"{_hex(last)}g"'
    return _within("texts", condition.key, [low, high])


def _within(field: str, name: str, bounds: Sequence[str | None]) -> str:
    place = f'{field}["{key(name)}"]'
    low, high = bounds
    return " and ".join(f"{place} {sign} {bound}" for sign, bound in ((">=", low), ("<=", high)) if bound is not None)


def _dates(document_filter: Filter) -> list[str]:
    after, before = microseconds(document_filter.published_after), microseconds(document_filter.published_before)
    parts = [] if after is None and before is None else ["published is not null"]
    parts += [f"published >= {after}"] if after is not None else []
    return parts + ([f"published < {before}"] if before is not None else [])


def _suffixes(host: str) -> list[str]:
    """`.docs.example.org`, `.example.org` and `.org` for `docs.example.org`."""
    labels = host.split(".")[-_DEEPEST_DOMAIN:] if host else []
    return ["." + ".".join(labels[at:]) for at in range(len(labels))]


def _hex(value: str) -> str:
    return value.encode("utf-8", "surrogatepass")[:_TEXT_BYTES].hex()


def row_fields(info: DocumentInfo) -> dict[str, Any]:
    """Fields of a chunk's row by which filters choose it."""
    return {
        "tags": tags(info),
        "published": microseconds(info.published_at),
        "numbers": numbers(info),
        "texts": texts(info),
    }
