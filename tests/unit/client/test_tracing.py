"""Spans of streaming calls: one a call, with the right parent and status, ended however the call ends.

Held against the known faults of the aio interceptors: a cancelled stream, and a stream in both directions.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import grpc
import pytest
from grpc.aio import server
from opentelemetry import propagate, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from citemesh.api.retrieval.v1 import document_service_pb2 as pb
from citemesh.api.retrieval.v1.document_service_pb2_grpc import (
    DocumentServiceServicer,
    add_DocumentServiceServicer_to_server,
)
from citemesh.client import Mesh
from citemesh.client.transport import tracing
from citemesh.client.types import Upload
from citemesh.kit import telemetry
from citemesh.kit.channel_options import ACCEPTED


class DocumentServicer(DocumentServiceServicer):
    """Answers each document's end, and keeps the trace parent it was called with."""

    def __init__(self) -> None:
        self.parent = ""
        self.ended = asyncio.Event()

    async def Ingest(  # type: ignore[override]
        self, requests: AsyncIterator[pb.IngestRequest], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.IngestResponse]:
        self.parent = str(dict(context.invocation_metadata() or ()).get("traceparent", ""))
        await context.send_initial_metadata((ACCEPTED,))
        try:
            async for request in requests:
                if request.WhichOneof("part") == "end":
                    yield pb.IngestResponse(state=pb.INGEST_STATE_COMMITTED)
        finally:
            self.ended.set()


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "tracer", provider.get_tracer("test"))
    return exporter


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[Mesh, DocumentServicer]]:
    servicer = DocumentServicer()
    running = server()
    add_DocumentServiceServicer_to_server(servicer, running)
    running.add_insecure_port(f"unix:{tmp_path}/d.sock")
    await running.start()
    async with Mesh({"retrieval": f"unix:{tmp_path}/d.sock"}) as mesh:
        yield mesh, servicer
    await running.stop(0)


async def finished(exporter: InMemorySpanExporter, count: int) -> list[ReadableSpan]:
    async with asyncio.timeout(5):
        while len(exporter.get_finished_spans()) < count:
            await asyncio.sleep(0.005)
    return list(exporter.get_finished_spans())


async def test_a_stream_both_ways_makes_one_span_and_carries_it(
    spans: InMemorySpanExporter, served: tuple[Mesh, DocumentServicer]
) -> None:
    mesh, servicer = served
    uploads = [Upload(str(n), "文".encode() * 10) for n in range(3)]
    states = [progress.state async for progress in mesh.documents.ingest(uploads)]
    assert states == ["committed"] * 3
    (span,) = await finished(spans, 1)
    assert span.kind is SpanKind.CLIENT
    assert span.status.status_code is StatusCode.UNSET
    assert f"{span.context.trace_id:032x}-{span.context.span_id:016x}" in servicer.parent


async def test_a_stream_that_is_left_is_cancelled_and_its_span_ends(
    spans: InMemorySpanExporter, served: tuple[Mesh, DocumentServicer]
) -> None:
    mesh, servicer = served

    async def endless() -> AsyncIterator[Upload]:
        while True:
            yield Upload("1", b"x")
            await asyncio.sleep(0.001)

    async with aclosing(mesh.documents.ingest(endless())) as progress:
        async for _ in progress:
            break
    async with asyncio.timeout(5):
        await servicer.ended.wait()
    (span,) = await finished(spans, 1)
    assert span.status.status_code is StatusCode.UNSET  # having had enough is no error
    assert span.attributes is not None
    assert span.attributes["rpc.grpc.status_code"] == grpc.StatusCode.CANCELLED.value[0]


async def test_what_the_source_of_a_stream_raises_is_raised(served: tuple[Mesh, DocumentServicer]) -> None:
    mesh, _ = served

    async def broken() -> AsyncIterator[Upload]:
        yield Upload("1", b"x")
        raise OSError("the disk went away")

    with pytest.raises(OSError, match="the disk went away"):
        async for _ in mesh.documents.ingest(broken()):
            pass


async def test_untraced_calls_tell_every_hop_to_record_nothing(
    spans: InMemorySpanExporter, served: tuple[Mesh, DocumentServicer]
) -> None:
    mesh, servicer = served
    with telemetry.untraced():
        async for _ in mesh.documents.ingest([Upload("1", b"x")]):
            pass
    assert servicer.parent.endswith("-00")
    assert spans.get_finished_spans() == ()


async def test_a_call_that_fails_says_so_on_its_span(spans: InMemorySpanExporter, tmp_path: Path) -> None:
    from citemesh.errors import Unavailable

    async with Mesh({"generation": f"unix:{tmp_path}/nobody.sock"}) as mesh:
        with pytest.raises(Unavailable):
            async for _ in mesh.generation.generate([1]):
                pass
    (span,) = await finished(spans, 1)
    assert span.attributes is not None
    assert span.attributes["rpc.grpc.status_code"] == grpc.StatusCode.UNAVAILABLE.value[0]


async def test_the_current_span_is_the_parent(
    spans: InMemorySpanExporter, served: tuple[Mesh, DocumentServicer]
) -> None:
    mesh, _ = served
    assert propagate.get_global_textmap() is not None
    parent = trace.NonRecordingSpan(trace.SpanContext(0x1234, 0x56, False, trace.TraceFlags(1)))
    with trace.use_span(parent):
        async for _ in mesh.documents.ingest([Upload("1", b"x")]):
            pass
    (span,) = await finished(spans, 1)
    assert span.parent is not None
    assert (span.context.trace_id, span.parent.span_id) == (0x1234, 0x56)
