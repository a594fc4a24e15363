"""What a request to the model looks like from outside: a span, and metrics named as OpenTelemetry names GenAI's."""

import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.trace import Span

from citemesh.kit import telemetry
from services.generation.engine import Delta
from services.generation.host import Host

tracer = telemetry.tracer(__name__)
meter = telemetry.meter(__name__)
first = meter.create_histogram("gen_ai.server.time_to_first_token", "s", "Time until the first token.")
between = meter.create_histogram("gen_ai.server.time_per_output_token", "s", "Time between tokens after the first.")
tokens = meter.create_counter("gen_ai.client.token.usage", "{token}", "Tokens read, written and found in the cache.")


def observe(host: Host) -> None:
    """Report how a host's engine is whenever metrics are collected."""

    def requests(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(host.last.running, {"citemesh.state": "running"})
        yield Observation(host.last.waiting, {"citemesh.state": "waiting"})

    def memory(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(host.last.memory)

    meter.create_observable_gauge("citemesh.generation.requests", [requests], "{request}", "Requests in the engine.")
    meter.create_observable_gauge("citemesh.generation.kv_cache.usage", [memory], "1", "Share of the KV cache in use.")


async def watched(deltas: AsyncGenerator[Delta, None], model: str, priority: int) -> AsyncGenerator[Delta, None]:
    """Pass deltas on and tell what they took; closing it closes them.

    The span isn't made the current one: an abandoned generator is closed in another context than it ran in.
    """
    span = tracer.start_span("citemesh.engine")
    span.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.request.model": model, "citemesh.priority": priority})
    watch = CallWatch(model, span)
    try:
        async with aclosing(deltas):
            async for delta in deltas:
                watch.see(delta)
                yield delta
    except Exception as fault:
        span.set_attribute("error.type", type(fault).__name__)
        raise
    finally:
        watch.end()
        span.end()


class CallWatch:
    """Times one answer."""

    def __init__(self, model: str, span: Span) -> None:
        self._attributes = {"gen_ai.request.model": model}
        self._span = span
        self._began = time.perf_counter()
        self._first = self._last = 0.0
        self._written = 0

    def see(self, delta: Delta) -> None:
        """Note a part of the answer."""
        self._last = time.perf_counter()
        if not self._written and delta.ids:
            self._first = self._last
            first.record(self._first - self._began, self._attributes)
            self._span.set_attribute("citemesh.ttft_ms", (self._first - self._began) * 1000)
        self._written += len(delta.ids)
        if delta.usage is not None:
            self._count("input", delta.usage.prompt_tokens)
            self._count("cached", delta.usage.cached_tokens)
        if delta.finish is not None:
            self._span.set_attribute("gen_ai.response.finish_reasons", [delta.finish.value])

    def end(self) -> None:
        """Note that nothing follows, whether the answer is complete or was left."""
        self._count("output", self._written)
        if self._written > 1:
            between.record((self._last - self._first) / (self._written - 1), self._attributes)

    def _count(self, kind: str, number: int) -> None:
        tokens.add(number, {**self._attributes, "gen_ai.token.type": kind})
        self._span.set_attribute(f"gen_ai.usage.{kind}_tokens", number)
