"""Watching an answer changes nothing of it, and closing the watch closes the answer."""

from collections.abc import AsyncGenerator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from citemesh.errors import Unavailable
from services.generation import metrics
from services.generation.engine import AnswerPart, Finish, TokenUsage

ANSWER = [AnswerPart("a", (1,)), AnswerPart("b", (2, 3)), AnswerPart("", (), Finish.STOP, TokenUsage(5, 3, 2))]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(metrics, "tracer", provider.get_tracer("test"))
    return exporter


class Answer:
    def __init__(self, fault: Exception | None = None) -> None:
        self.closed = False
        self._fault = fault

    async def deltas(self) -> AsyncGenerator[AnswerPart, None]:
        try:
            for delta in ANSWER:
                yield delta
            if self._fault:
                raise self._fault
        finally:
            self.closed = True


async def test_the_span_tells_what_was_used(spans: InMemorySpanExporter) -> None:
    seen = [delta async for delta in metrics.measured(Answer().deltas(), "m", 1)]
    assert seen == ANSWER
    (span,) = spans.get_finished_spans()
    assert span.attributes is not None
    used = {kind: span.attributes[f"gen_ai.usage.{kind}_tokens"] for kind in ("input", "cached", "output")}
    assert used == {"input": 5, "cached": 2, "output": 3}
    assert span.attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert span.attributes["citemesh.priority"] == 1


async def test_closing_early_closes_the_answer(spans: InMemorySpanExporter) -> None:
    answer = Answer()
    watched = metrics.measured(answer.deltas(), "m", 0)
    await anext(watched)
    await watched.aclose()
    assert answer.closed
    assert len(spans.get_finished_spans()) == 1


async def test_a_fault_passes_and_is_named(spans: InMemorySpanExporter) -> None:
    with pytest.raises(Unavailable):
        [delta async for delta in metrics.measured(Answer(Unavailable("x")).deltas(), "m", 0)]
    (span,) = spans.get_finished_spans()
    assert span.attributes is not None
    assert span.attributes["error.type"] == "Unavailable"
