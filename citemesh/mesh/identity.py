"""API keys and the identity policy's configuration.

A key is `cm_<id>_<secret>`: 8 hex digits that name it and 32 random bytes as base64url. It is shown once; only
its salted SHA-256 is kept. A configuration is checked here by the policy's own rules, so that a fault is told by
field, fault and remedy before Envoy refuses it.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NoReturn

from citemesh.errors import InvalidInput
from citemesh.mesh.identity_rules import check_block, check_collection, check_name, check_pattern

VERSION = 1
MAX_BYTES = 1 << 20
MAX_KEYS = 10_000
MAX_BLOCKS = 1_024
MAX_PATTERNS = 64
MAX_COLLECTIONS = 64
EVERY_COLLECTION = ("*",)

_DOCUMENT = "configuration"


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """What is kept of a key. Hex is lowercase: 16 bytes of salt, and SHA-256 over salt and whole key text."""

    id: str
    salt: str
    sha256: str
    subject: str
    tenant: str
    methods: tuple[str, ...]
    """Call patterns, see `identity_rules.check_pattern`."""
    delegate: bool = False
    """May pass on subject, tenant and collections of the caller it serves; for our own services."""
    collections: tuple[str, ...] = EVERY_COLLECTION
    """Which it may reach, see `identity_rules.check_collection`; a delegating key's are its callers'."""


@dataclass(frozen=True, slots=True)
class IdentityConfig:
    """The policy's configuration: known keys, allowed address blocks, calls that need no key."""

    keys: tuple[KeyRecord, ...]
    allow: tuple[str, ...]
    public: tuple[str, ...] = ()


def new_key(
    subject: str,
    tenant: str,
    methods: Sequence[str],
    delegate: bool = False,
    collections: Sequence[str] = EVERY_COLLECTION,
) -> tuple[str, KeyRecord]:
    """A fresh key: its text, to be shown once and not kept, and its record.

    Raises:
        InvalidInput: subject, tenant, a method pattern or a collection pattern the policy would refuse.
    """
    text = f"cm_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"
    record = replace(record_of(text, subject, tenant, methods, delegate), collections=tuple(collections))
    _check_key("key", record)
    return text, record


def record_of(text: str, subject: str, tenant: str, methods: Sequence[str], delegate: bool = False) -> KeyRecord:
    """The record of a key text, under a fresh salt."""
    salt = secrets.token_bytes(16)
    digest = hashlib.sha256(salt + text.encode()).hexdigest()
    return KeyRecord(text.split("_")[1], salt.hex(), digest, subject, tenant, tuple(methods), delegate)


def identity_config(keys: Iterable[KeyRecord], allow: Iterable[str], public: Iterable[str]) -> dict[str, Any]:
    """The configuration as plain JSON values, checked.

    Raises:
        InvalidInput: the policy would refuse it.
    """
    config = IdentityConfig(tuple(keys), tuple(allow), tuple(public))
    _check(config)
    document = _document(config)
    if len(json.dumps(document).encode()) > MAX_BYTES:
        raise InvalidInput(_DOCUMENT, "larger than 1 MiB", "give keys fewer methods, or fewer keys")
    return document


def dump(config: IdentityConfig) -> str:
    """The configuration as JSON text, always the same. Raises InvalidInput as `identity_config`."""
    return json.dumps(identity_config(config.keys, config.allow, config.public), indent=1) + "\n"


def load(text: str | bytes) -> IdentityConfig:
    """Reads a configuration strictly: all fields (a key's collections aside), no others, none twice.

    Raises:
        InvalidInput: names the field, the fault and the remedy.
    """
    document = _object(_DOCUMENT, _parsed(text), ("version", "keys", "allow", "public"))
    version = document["version"]
    if type(version) is not int or version != VERSION:
        raise InvalidInput("version", f"{version!r} is not understood", f"write {VERSION}")
    keys = tuple(_key(f"keys[{at}]", item) for at, item in enumerate(_list("keys", document["keys"])))
    config = IdentityConfig(keys, _texts("allow", document["allow"]), _texts("public", document["public"]))
    _check(config)
    return config


def _document(config: IdentityConfig) -> dict[str, Any]:
    keys = [asdict(key) | {"methods": list(key.methods), "collections": list(key.collections)} for key in config.keys]
    return {"version": VERSION, "keys": keys, "allow": list(config.allow), "public": list(config.public)}


def _check(config: IdentityConfig) -> None:
    _at_most("keys", config.keys, MAX_KEYS)
    for at, key in enumerate(config.keys):
        _check_key(f"keys[{at}]", key)
    _check_unique(config.keys)
    if not config.allow:
        raise InvalidInput("allow", "empty: nobody could call", "name address blocks, as 127.0.0.0/8 and ::1/128")
    _check_each("allow", config.allow, MAX_BLOCKS, check_block)
    _check_each("public", config.public, MAX_PATTERNS, check_pattern)


def _check_key(field: str, key: KeyRecord) -> None:
    _check_hex(f"{field}.id", key.id, 8)
    _check_hex(f"{field}.salt", key.salt, 32)
    _check_hex(f"{field}.sha256", key.sha256, 64)
    check_name(f"{field}.subject", key.subject)
    check_name(f"{field}.tenant", key.tenant)
    if not key.methods:
        raise InvalidInput(f"{field}.methods", "empty: the key could call nothing", 'name call patterns, or ["*"]')
    _check_each(f"{field}.methods", key.methods, MAX_PATTERNS, check_pattern)
    _check_collections(f"{field}.collections", key)


def _check_collections(field: str, key: KeyRecord) -> None:
    if not key.collections:
        raise InvalidInput(field, "empty: the key could reach none", 'name collection patterns, or ["*"]')
    if key.delegate and key.collections != EVERY_COLLECTION:
        raise InvalidInput(field, "a delegating key reaches what its callers may", 'leave it out, or write ["*"]')
    _check_each(field, key.collections, MAX_COLLECTIONS, check_collection)


def _check_each(field: str, texts: Sequence[str], most: int, check: Callable[[str, str], None]) -> None:
    _at_most(field, texts, most)
    for at, text in enumerate(texts):
        check(f"{field}[{at}]", text)


def _check_hex(field: str, text: str, digits: int) -> None:
    if not re.fullmatch(rf"[0-9a-f]{{{digits}}}", text):
        raise InvalidInput(field, "not of the right form", f"{digits} lowercase hex digits are expected")


def _check_unique(keys: Sequence[KeyRecord]) -> None:
    ids: set[str] = set()
    for key in keys:
        if key.id in ids:
            raise InvalidInput("keys", f"the id {key.id} is there twice", "remove one of them, or make a new key")
        ids.add(key.id)


def _at_most(field: str, items: Sequence[object], most: int) -> None:
    if len(items) > most:
        raise InvalidInput(field, f"{len(items)} entries", f"at most {most} are taken")


def _key(field: str, value: object) -> KeyRecord:
    required = tuple(name for name in KeyRecord.__dataclass_fields__ if name != "collections")
    fields = _object(field, value, required, ("collections",))
    names = ("id", "salt", "sha256", "subject", "tenant")
    texts = {name: _text(f"{field}.{name}", fields[name]) for name in names}
    if not isinstance(fields["delegate"], bool):
        raise InvalidInput(f"{field}.delegate", "not a boolean", "write true or false")
    methods = _texts(f"{field}.methods", fields["methods"])
    collections = _texts(f"{field}.collections", fields.get("collections", list(EVERY_COLLECTION)))
    return KeyRecord(**texts, methods=methods, delegate=fields["delegate"], collections=collections)


def _object(field: str, value: object, required: Sequence[str], optional: Sequence[str] = ()) -> Mapping[str, Any]:
    allowed = (*required, *optional)
    if not isinstance(value, dict):
        raise InvalidInput(field, "not an object", f"write an object with {', '.join(allowed)}")
    if missing := [name for name in required if name not in value]:
        raise InvalidInput(f"{field}.{missing[0]}", "missing", "the field is needed")
    if unknown := sorted(set(value) - set(allowed)):
        raise InvalidInput(f"{field}.{unknown[0][:40]}", "not a known field", f"known are {', '.join(allowed)}")
    return value


def _list(field: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInput(field, "not a list", "write a list")
    return value


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(field, "not a string", "write a string")
    return value


def _texts(field: str, value: object) -> tuple[str, ...]:
    return tuple(_text(f"{field}[{at}]", item) for at, item in enumerate(_list(field, value)))


def _parsed(text: str | bytes) -> object:
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if len(data) > MAX_BYTES:
        raise InvalidInput(_DOCUMENT, "larger than 1 MiB", "give keys fewer methods, or fewer keys")
    try:
        return json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(_DOCUMENT, f"not JSON: {error}", "correct the file, or make it anew") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field is there twice")
    return fields


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")
