"""One question is one trace: every sidecar's and every service's spans, each under the right parent."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from tests.support import corpus
from tests.support.asking import ask, ingest
from tests.support.collector import Collector, Span
from tests.support.running import RunningMesh

SERVICES = ("gateway", "tokenizer", "retrieval", "reranker", "generation")
STEPS = ("plan", "retrieve", "rerank", "pack", "generate", "cite")
SERVER, CLIENT = 2, 3


def complete(spans: list[Span]) -> bool:
    """Whether both sides of every service have reported."""
    services = {span.service for span in spans}
    service_names = all({f"citemesh-{name}", f"citemesh-{name}-sidecar"} <= services for name in SERVICES)
    return service_names and any(span.name == "citemesh.ask" for span in spans) and len(outside(spans)) == 1


def outside(spans: list[Span]) -> set[str]:
    """Parents that are no spans of the trace: the caller's own alone, once every exporter has sent its last."""
    return {span.parent for span in spans} - {span.span_id for span in spans}


async def test_one_question_is_one_trace(
    mesh: RunningMesh, collector: Collector, traced: Callable[[], tuple[str, AbstractContextManager[object]]]
) -> None:
    async with mesh.client() as client:
        await ingest(client, [corpus.upload(corpus.english()[0])])
        trace_id, within = traced()
        with within:
            await ask(client, "How does the gRPC proxy work?", max_tokens=32)
    spans = await collector.until(trace_id, complete)
    assert complete(spans), (sorted({span.service for span in spans}), outside(spans))
    by_id = {span.span_id: span for span in spans}
    first = [span for span in spans if span.parent in outside(spans)]
    assert {span.service for span in first} == {"citemesh-gateway-sidecar"}
    for service_name in SERVICES:
        _check_service(service_name, spans, by_id)
    _check_steps(spans, by_id)


def _check_service(service_name: str, spans: list[Span], by_id: dict[str, Span]) -> None:
    """The app's server span hangs under its own sidecar, and that under the caller's sidecar or app."""
    servers = [span for span in spans if span.service == f"citemesh-{service_name}" and span.kind == SERVER]
    assert servers, service_name
    for server in servers:
        parent = by_id[server.parent]
        assert parent.service == f"citemesh-{service_name}-sidecar", (service_name, parent.service)
        while parent.service == f"citemesh-{service_name}-sidecar" and parent.parent in by_id:
            parent = by_id[parent.parent]
        expected = (
            {"citemesh-gateway-sidecar"}
            if service_name != "tokenizer"
            else {
                "citemesh-gateway-sidecar",
                "citemesh-retrieval-sidecar",
            }
        )
        assert parent.service in expected, (service_name, parent.service)


def _check_steps(spans: list[Span], by_id: dict[str, Span]) -> None:
    """The flow's steps are the gateway's, within the Ask."""
    (asked,) = [span for span in spans if span.name == "citemesh.ask"]
    for step in STEPS:
        found = [span for span in spans if span.name == f"citemesh.{step}"]
        assert found, step
        for span in found:
            ancestor = span
            while ancestor.span_id != asked.span_id:
                ancestor = by_id[ancestor.parent]
    assert asked.attributes["citemesh.priority"] == "interactive"
    assert float(asked.attributes["citemesh.queue_wait_ms"]) >= 0


async def test_no_text_is_put_on_spans(
    mesh: RunningMesh, collector: Collector, traced: Callable[[], tuple[str, AbstractContextManager[object]]]
) -> None:
    trace_id, within = traced()
    async with mesh.client() as client:
        with within:
            await ask(client, "Where is the zanzibarquestion kept?", max_tokens=16)
    spans = await collector.until(trace_id, complete)
    told = " ".join(f"{span.name} {span.attributes}" for span in spans)
    assert "zanzibarquestion" not in told
    assert "cm_" not in told
