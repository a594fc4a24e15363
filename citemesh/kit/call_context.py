"""The context of a call, carried from its caller to the last hop: deadline, priority, subject, tenant and collections.

The server's interceptor sets it for the task that works on a call; the clients read it when that task makes calls.
"""

import asyncio
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass

from citemesh.kit.collection_scope import (
    COLLECTION_HEADER,
    COLLECTIONS_HEADER,
    EVERYTHING,
    NOTHING,
    SHARD_HEADER,
    CollectionScope,
)

PRIORITIES = {"interactive": 0, "batch": 1, "background": 2}
PRIORITY_HEADER = "x-citemesh-priority"
SUBJECT_HEADER = "x-citemesh-subject"
TENANT_HEADER = "x-citemesh-tenant"
CACHE_HEADER = "cache-control"
SKIPS_CACHE = frozenset(("no-cache", "no-store"))
"""Of that header's words, those that refuse a cached answer (RFC 9111, section 5.2.1)."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """Context of one call.

    Attributes:
        ends_at: deadline on the event loop's clock, in seconds; infinite where there is none.
        priority: 0 interactive, 1 batch, 2 background.
        subject: who calls, as the identity policy established; empty where no policy stands in front.
        tenant: whose data the call is about, likewise.
        scope: the collections that the caller's key may reach; None where no policy stands in front.
        collection, shard: where the call is addressed to; empty where it doesn't say. They concern this hop alone.
        skip_cache: whether the caller refuses a cached answer. It too concerns this hop alone.
    """

    ends_at: float = math.inf
    priority: int = 0
    subject: str = ""
    tenant: str = ""
    scope: CollectionScope | None = None
    collection: str = ""
    shard: str = ""
    skip_cache: bool = False


_NONE = CallContext()
_current: ContextVar[CallContext] = ContextVar("citemesh_call", default=_NONE)


def current() -> CallContext:
    """Returns the context of the call that this task works on; an empty one outside of calls."""
    return _current.get()


def current_priority() -> int:
    """Returns 0 interactive, 1 batch or 2 background; lower is more urgent."""
    return current().priority


def current_subject() -> str:
    """Returns who calls, as the identity policy established; empty where no policy stands in front."""
    return current().subject


def current_tenant() -> str:
    """Returns whose data the call is about, as the identity policy established."""
    return current().tenant


def current_scope() -> CollectionScope:
    """Returns the collections that the current call may reach: all where no policy stands in front, none outside calls.

    Work that has lost its call must not pass for one that may do anything.
    """
    context = current()
    if context is _NONE:
        return NOTHING
    return EVERYTHING if context.scope is None else context.scope


def remaining_s(default: float) -> float:
    """Returns the seconds left of the current call, at most ``default``; never below 0."""
    left = current().ends_at - asyncio.get_running_loop().time()
    return max(0.0, min(left, default))


def from_headers(headers: Mapping[str, str], timeout_s: float | None) -> CallContext:
    """Reads a call's context from its headers and the time its caller gives it (None: no limit)."""
    ends_at = math.inf if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
    priority = PRIORITIES.get(headers.get(PRIORITY_HEADER, ""), 0)
    patterns = headers.get(COLLECTIONS_HEADER)
    return CallContext(
        ends_at,
        priority,
        headers.get(SUBJECT_HEADER, ""),
        headers.get(TENANT_HEADER, ""),
        None if patterns is None else CollectionScope.parse(patterns),
        headers.get(COLLECTION_HEADER, ""),
        headers.get(SHARD_HEADER, ""),
        asks_to_skip_cache(headers.get(CACHE_HEADER, "")),
    )


def asks_to_skip_cache(cache_control: str) -> bool:
    """Says whether a `cache-control` header refuses a cached answer."""
    return not SKIPS_CACHE.isdisjoint(word.strip().lower() for word in cache_control.split(","))


def to_headers(context: CallContext) -> list[tuple[str, str]]:
    """Returns the headers that carry the caller's context on, but for the deadline: gRPC has its own for that."""
    name = next(name for name, value in PRIORITIES.items() if value == context.priority)
    scope = context.scope.header if context.scope else ""
    pairs = [
        (PRIORITY_HEADER, name),
        (SUBJECT_HEADER, context.subject),
        (TENANT_HEADER, context.tenant),
        (COLLECTIONS_HEADER, scope),
    ]
    return [(key, value) for key, value in pairs if value]


@contextmanager
def calling(context: CallContext) -> Iterator[None]:
    """Makes ``context`` the current one within the block."""
    token = _current.set(context)
    try:
        yield
    finally:
        # An async generator may be closed from another context than it ran in; that one is gone, so nothing to undo.
        with suppress(ValueError):
            _current.reset(token)
