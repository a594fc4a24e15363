"""Span and metrics of a request to the model, named as OpenTelemetry names those of GenAI."""

import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.trace import Span

from citemesh.kit import telemetry
from services.generation.engine import AnswerPart
from services.generation.host import Host

tracer = telemetry.tracer(__name__)
meter = telemetry.meter(__name__)
first = meter.create_histogram("gen_ai.server.time_to_first_token", "s", "Time until the first token.")
between = meter.create_histogram("gen_ai.server.time_per_output_token", "s", "Time between tokens after the first.")
tokens = meter.create_counter("gen_ai.client.token.usage", "{token}", "Tokens read, written and found in the cache.")


def observe(host: Host) -> None:
    """Reports how a host's engine is whenever metrics are collected."""

    def requests(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(host.last.running, {"citemesh.state": "running"})
        yield Observation(host.last.waiting, {"citemesh.state": "waiting"})

    def memory(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(host.last.memory)

    meter.create_observable_gauge("citemesh.generation.requests", [requests], "{request}", "Requests in the engine.")
    meter.create_observable_gauge("citemesh.generation.kv_cache.usage", [memory], "1", "Share of the KV cache in use.")


async def measured(
    deltas: AsyncGenerator[AnswerPart, None], model: str, priority: int
) -> AsyncGenerator[AnswerPart, None]:
    """Passes deltas on and records their times; closing it closes them.

    The span isn't made the current one: an abandoned generator is closed in another context than it ran in.
    """
    span = tracer.start_span("citemesh.engine")
    span.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.request.model": model, "citemesh.priority": priority})
    timing = AnswerTiming(model, span)
    try:
        async with aclosing(deltas):
            async for delta in deltas:
                timing.add(delta)
                yield delta
    except Exception as fault:
        span.set_attribute("error.type", type(fault).__name__)
        raise
    finally:
        timing.end()
        span.end()


class AnswerTiming:
    """Times one answer."""

    def __init__(self, model: str, span: Span) -> None:
        self._attributes = {"gen_ai.request.model": model}
        self._span = span
        self._start_s = time.perf_counter()
        self._first_s = self._last_s = 0.0
        self._tokens = 0

    def add(self, delta: AnswerPart) -> None:
        """Adds a part of the answer."""
        self._last_s = time.perf_counter()
        if not self._tokens and delta.ids:
            self._first_s = self._last_s
            first.record(self._first_s - self._start_s, self._attributes)
            self._span.set_attribute("citemesh.ttft_ms", (self._first_s - self._start_s) * 1000)
        self._tokens += len(delta.ids)
        if delta.usage is not None:
            self._count("input", delta.usage.prompt_tokens)
            self._count("cached", delta.usage.cached_tokens)
        if delta.finish is not None:
            self._span.set_attribute("gen_ai.response.finish_reasons", [delta.finish.value])

    def end(self) -> None:
        """Records the end, of a complete answer or of one that the caller left."""
        self._count("output", self._tokens)
        if self._tokens > 1:
            between.record((self._last_s - self._first_s) / (self._tokens - 1), self._attributes)

    def _count(self, kind: str, number: int) -> None:
        tokens.add(number, {**self._attributes, "gen_ai.token.type": kind})
        self._span.set_attribute(f"gen_ai.usage.{kind}_tokens", number)
