"""One answer's spans: one trace, the right parents, the right attributes, no text."""

import asyncio
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from citemesh.client.types import Question
from citemesh.kit import call_context
from gateway import answering
from gateway.admission.router import Admission, Priority
from gateway.query import telemetry
from gateway.query.cite import citations
from gateway.query.flow import Flow
from gateway.query.limits import Limits
from tests.unit.gateway.query.fakes import Mesh, assert_sound

SECRET = "At what pressure does the pump run, Xanthippe?"


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for module in (answering, telemetry, citations):
        monkeypatch.setattr(module, "tracer", provider.get_tracer("test"))
    yield exporter
    provider.shutdown()


async def spans_of(exported: InMemorySpanExporter, limits: Limits) -> dict[str, ReadableSpan]:
    desk = answering.Answering(Flow(Mesh().services, limits), Admission(1, dict.fromkeys(Priority, 1)), timeout_s=30)
    call = call_context.CallContext(asyncio.get_running_loop().time() + 30, priority=1)
    with call_context.calling(call):
        assert_sound([event async for event in desk.ask(Question(SECRET))])
    return {span.name: span for span in reversed(exported.get_finished_spans())}


async def test_every_step_has_its_span(exported: InMemorySpanExporter) -> None:
    spans = await spans_of(exported, Limits())
    steps = ("plan", "retrieve", "rerank", "pack", "generate", "cite")
    assert set(spans) == {"citemesh.ask", *(f"citemesh.{step}" for step in steps)}
    ask = spans["citemesh.ask"]
    assert ask.context is not None
    assert ask.attributes is not None
    assert ask.attributes["citemesh.priority"] == "batch"
    assert ask.attributes["citemesh.queue_wait_ms"] == 0.0
    for step in steps:
        parent = spans[f"citemesh.{step}"].parent
        assert parent is not None
        assert parent.span_id == ask.context.span_id
    generate = spans["citemesh.generate"].attributes
    assert generate is not None
    assert generate["citemesh.hop"] == 1
    assert generate["gen_ai.request.model"] == "fake-model"
    assert generate["gen_ai.response.finish_reasons"] == ("stop",)
    assert generate["gen_ai.usage.output_tokens"] == 2


async def test_no_text_is_on_a_span_unless_a_setting_says_so(exported: InMemorySpanExporter) -> None:
    spans = await spans_of(exported, Limits())
    assert not any("Xanthippe" in str(span.to_json()) for span in spans.values())
    exported.clear()
    spans = await spans_of(exported, Limits(log_content=True))
    assert any("Xanthippe" in str(span.to_json()) for span in spans.values())
