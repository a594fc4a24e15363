"""Filters as Milvus expressions. What a caller wrote never stands in one: only hashes, hex digits and numbers do.

A chunk carries its document's tags (hashes of what it may be chosen by), date, numbers and texts. An expression may
take more than the filter does, never less: the engine asks `passes` for the last word on what comes back.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from services.retrieval.search.domains import domain, suffix
from services.retrieval.search.numbers import number_of
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
    """Everything by which a chunk of a document is chosen for being one of some values."""
    found = [key("id", info.document_id), key("type", info.source_type), key("language", info.language)]
    found += [key("domain", name) for name in _suffixes(domain(info.uri))]
    found += [key("metadata", name, value) for name, value in info.metadata.items()]
    return found[:MAX_TAGS]


def numbers(info: DocumentInfo) -> dict[str, float]:
    """Numbers of the metadata by the hash of their key."""
    read = {key(name): number_of(value) for name, value in info.metadata.items()}
    return {name: number for name, number in read.items() if number is not None}


def texts(info: DocumentInfo) -> dict[str, str]:
    """Beginnings of the metadata's values as hex digits, whose order is that of the values' bytes."""
    return {key(name): _hex(value) for name, value in info.metadata.items()}


def microseconds(at: datetime | None) -> int | None:
    """A date as Milvus keeps it."""
    return None if at is None else round(at.astimezone(UTC).timestamp() * 1_000_000)


def expression(chosen: Filter) -> str:
    """What a chunk must be; empty where all pass."""
    parts = [
        _any("id", chosen.document_ids),
        _any("type", chosen.source_types),
        _any("language", chosen.languages),
        _any("domain", [suffix(name) for name in chosen.domains if not name.startswith("-")]),
    ]
    if denied := [suffix(name[1:]) for name in chosen.domains if name.startswith("-")]:
        parts.append(f"not {_any('domain', denied)}")
    parts += [_listed([key("metadata", *pair)]) for pair in chosen.metadata.items()]
    parts += [_condition(condition) for condition in chosen.conditions]
    parts += _dates(chosen)
    return " and ".join(f"({part})" for part in parts if part)


def _any(kind: str, values: Sequence[str]) -> str:
    return _listed([key(kind, value) for value in values]) if values else ""


def _listed(hashes: Iterable[str]) -> str:
    return f"array_contains_any(tags, [{quoted(hashes)}])"


def quoted(hashes: Iterable[str]) -> str:
    """Hashes as a list in an expression."""
    return ", ".join(f'"{one}"' for one in hashes)


def _condition(condition: Condition) -> str:
    if condition.any_of:
        return _listed([key("metadata", condition.key, value) for value in condition.any_of])
    if condition.numbers is not None:
        return _within("numbers", condition.key, [None if n is None else repr(float(n)) for n in condition.numbers])
    first, last = condition.texts or (None, None)
    low = None if first is None else f'"{_hex(first)}"'
    # What begins like the upper bound may be below it: the last word is `passes`'.
    high = None if last is None else f'"{_hex(last)}g"'
    return _within("texts", condition.key, [low, high])


def _within(field: str, name: str, bounds: Sequence[str | None]) -> str:
    place = f'{field}["{key(name)}"]'
    low, high = bounds
    return " and ".join(f"{place} {sign} {bound}" for sign, bound in ((">=", low), ("<=", high)) if bound is not None)


def _dates(chosen: Filter) -> list[str]:
    after, before = microseconds(chosen.published_after), microseconds(chosen.published_before)
    found = [] if after is None and before is None else ["published is not null"]
    found += [f"published >= {after}"] if after is not None else []
    return found + ([f"published < {before}"] if before is not None else [])


def _suffixes(host: str) -> list[str]:
    """`.docs.example.org`, `.example.org` and `.org` for `docs.example.org`."""
    labels = host.split(".")[-_DEEPEST_DOMAIN:] if host else []
    return ["." + ".".join(labels[at:]) for at in range(len(labels))]


def _hex(value: str) -> str:
    return value.encode("utf-8", "surrogatepass")[:_TEXT_BYTES].hex()


def row_fields(info: DocumentInfo) -> dict[str, Any]:
    """What a chunk's row carries of its document, to be chosen by."""
    return {
        "tags": tags(info),
        "published": microseconds(info.published_at),
        "numbers": numbers(info),
        "texts": texts(info),
    }
