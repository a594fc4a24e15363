"""Metrics of the service. They carry counts and times, never a query or a text."""

from collections.abc import Callable, Iterable

from opentelemetry.metrics import CallbackOptions, Observation

from citemesh.kit import telemetry
from services.reranker.token_vectors.cache import VectorCache

_meter = telemetry.meter(__name__)
waits = _meter.create_histogram("citemesh.reranker.queue.wait", "s", "Time that calls waited for a worker.")
_passages = _meter.create_counter(
    "citemesh.reranker.passages", "{passage}", "Passages by whether usable token vectors came with them."
)
dropped = _meter.create_counter("citemesh.reranker.dropped", "{request}", "Calls not worked on, by reason: full, left.")


def count_passages(count: int, with_vectors: int) -> None:
    """Counts passages to judge, and how many of them came with usable token vectors."""
    _passages.add(with_vectors, {"citemesh.reranker.vectors": "came"})
    _passages.add(count - with_vectors, {"citemesh.reranker.vectors": "missing"})


def observe_queue(waiting: Callable[[], int]) -> None:
    """Reports how many calls wait whenever metrics are collected."""
    _gauge("citemesh.reranker.queue.requests", "{request}", "Calls that wait for a worker.", waiting)


def observe_cache(cache: VectorCache) -> None:
    """Reports the cache of token vectors whenever metrics are collected."""
    _gauge("citemesh.reranker.cache.size", "By", "Memory that token vectors take.", lambda: cache.nbytes)
    for name, description, value in (
        ("citemesh.reranker.cache.hits", "Passages whose vectors were there.", lambda: cache.hits),
        ("citemesh.reranker.cache.misses", "Passages that had to be encoded.", lambda: cache.misses),
    ):
        _meter.create_observable_counter(name, [_reader(value)], "{passage}", description)


def _gauge(name: str, unit: str, description: str, value: Callable[[], int]) -> None:
    _meter.create_observable_gauge(name, [_reader(value)], unit, description)


def _reader(value: Callable[[], int]) -> Callable[[CallbackOptions], Iterable[Observation]]:
    return lambda _: [Observation(value())]
