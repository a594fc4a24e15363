"""Spans and metrics of the flow. Text of questions and documents goes on a span only where a setting says so."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from opentelemetry import metrics, trace

from citemesh.client.types import Sampling, Usage

tracer = trace.get_tracer("citemesh.gateway")
_meter = metrics.get_meter("citemesh.gateway")

first_token = _meter.create_histogram(
    "citemesh.ttft", unit="s", description="From the question's arrival to the answer's first text."
)
tokens = _meter.create_counter(
    "citemesh.tokens", unit="{token}", description="Tokens that generation read (in) and wrote (out)."
)
answers = _meter.create_counter("citemesh.answers", description="Answers by finish and mode.")


class Steps:
    """Times an answer's steps, in milliseconds, and gives each its span.

    Args:
        waited_s: seconds that the question waited in the queue.
    """

    def __init__(self, waited_s: float) -> None:
        self._arrived = time.monotonic() - waited_s
        self.timings: dict[str, float] = {}
        self._took("queue", waited_s)

    @contextmanager
    def step(self, name: str, hop: int = 1) -> Iterator[trace.Span]:
        """Runs the block as a step."""
        start_s = time.monotonic()
        with tracer.start_as_current_span(f"citemesh.{name}", attributes={"citemesh.hop": hop}) as span:
            try:
                yield span
            finally:
                self._took(name, time.monotonic() - start_s)

    def wrote(self, first_token_s: float | None, checked_s: float) -> None:
        """Notes what went on within generation: time to its first text, time that checks took beside it."""
        if first_token_s is not None:
            self._took("first_token", first_token_s)
        self._took("cite", checked_s)

    def said(self) -> None:
        """The answer's first text is on its way."""
        first_token.record(time.monotonic() - self._arrived)

    def _took(self, name: str, seconds: float) -> None:
        """Adds to a step's time: a step may come once a hop."""
        self.timings[name] = round(self.timings.get(name, 0.0) + seconds * 1000, 3)


def request(model: str, sampling: Sampling) -> dict[str, str | int | float]:
    """Attributes of what is asked of a model, by the GenAI conventions."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "citemesh",
        "gen_ai.request.model": model,
        "gen_ai.request.max_tokens": sampling.max_tokens,
        "gen_ai.request.temperature": sampling.temperature,
    }


def response(finish: str, usage: Usage) -> dict[str, str | int | Sequence[str]]:
    """Attributes of what a model answered, by the GenAI conventions."""
    return {
        "gen_ai.response.finish_reasons": [finish or "error"],
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
    }


def count(finish: str, mode: str, usage: Usage, cached: bool = False) -> None:
    """Counts an answer and its tokens."""
    answers.add(1, {"finish": finish, "mode": mode, "cached": cached})
    tokens.add(usage.prompt_tokens, {"direction": "in"})
    tokens.add(usage.completion_tokens, {"direction": "out"})
