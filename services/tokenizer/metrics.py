"""Metrics of the tokenizer's pool."""

from collections.abc import Callable, Iterable

from opentelemetry.metrics import CallbackOptions, Observation

from citemesh.kit import telemetry
from services.tokenizer.pool import PoolLoad, TokenizerPool

NOW = {
    "citemesh.tokenizer.queue.requests": ("{request}", "Requests in the pool.", lambda load: load.jobs),
    "citemesh.tokenizer.queue.characters": ("{character}", "Code points in the pool.", lambda load: load.characters),
}
SO_FAR: dict[str, tuple[str, str, Callable[[PoolLoad], int]]] = {
    "citemesh.tokenizer.steps": ("{step}", "Calls of a tokenizer.", lambda load: load.steps),
    "citemesh.tokenizer.batched": (
        "{request}",
        "Requests in those calls; over steps, the mean batch size.",
        lambda load: load.batched,
    ),
    "citemesh.tokenizer.skipped": (
        "{request}",
        "Requests whose caller left before its turn.",
        lambda load: load.skipped,
    ),
}


def observe(pool: TokenizerPool) -> None:
    """Reports a pool's load whenever metrics are collected."""
    meter = telemetry.meter(__name__)
    for name, (unit, description, value) in NOW.items():
        meter.create_observable_gauge(name, [_reader(pool, value)], unit, description)
    for name, (unit, description, value) in SO_FAR.items():
        meter.create_observable_counter(name, [_reader(pool, value)], unit, description)


def _reader(
    pool: TokenizerPool, value: Callable[[PoolLoad], int]
) -> Callable[[CallbackOptions], Iterable[Observation]]:
    return lambda _: [Observation(value(pool.load))]
