"""Real sidecars' spans: exported over OTLP, in the caller's trace, each hop the child of the one before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from mesh_harness import RunningMesh, free_base, place, wait_until, without_policies
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from citemesh.mesh.render import write_runtime
from citemesh.mesh.topology import Topology

pytestmark = pytest.mark.real

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ECHO = "/acme.back.v1.Back/Echo"


class Collector(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # generic only in its stubs
    """Keeps (service name, span) of whatever is exported."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, Span]] = []

    def service(self, details: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(self.export)

    async def export(self, request: bytes, context: Any) -> bytes:
        for resource in ExportTraceServiceRequest.FromString(request).resource_spans:
            names = {item.key: item.value.string_value for item in resource.resource.attributes}
            spans = [span for scope in resource.scope_spans for span in scope.spans]
            self.spans += [(names["service.name"], span) for span in spans]
        return ExportTraceServiceResponse().SerializeToString()


@pytest.fixture
async def collector() -> AsyncIterator[tuple[Collector, str]]:
    """A collector and its endpoint."""
    handler, address = Collector(), f"127.0.0.1:{free_base([0])}"
    server = grpc.aio.server(handlers=[handler])
    server.add_insecure_port(address)
    await server.start()
    yield handler, f"http://{address}"
    await server.stop(None)


@pytest.fixture
def traced(pair_topology: Topology, short_dir: Path, collector: tuple[Collector, str]) -> Iterator[RunningMesh]:
    topology = without_policies(pair_topology)
    mesh = RunningMesh(topology, place(topology, short_dir, otlp_endpoint=collector[1]))
    write_runtime(topology, mesh.placement)
    try:
        mesh.start_app("back")
        yield mesh
    finally:
        mesh.stop()


async def test_a_callers_trace_goes_through_every_hop(traced: RunningMesh, collector: tuple[Collector, str]) -> None:
    await asyncio.to_thread(traced.start_sidecars)
    traceparent = ("traceparent", f"00-{TRACE}-{PARENT}-01")
    async with dial(traced) as channel:
        answer = await channel.unary_unary(ECHO)(b"", timeout=5, metadata=(traceparent,))
    await asyncio.to_thread(wait_until, lambda: len(collector[0].spans) >= 4, "four spans")
    assert {span.trace_id.hex() for _, span in collector[0].spans} == {TRACE}
    chain = _chain(collector[0].spans)
    assert [name for name, _ in chain] == ["citemesh-front-sidecar"] * 2 + ["citemesh-back-sidecar"] * 2
    kinds = [span.kind for _, span in chain]
    assert kinds == [Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CLIENT] * 2
    seen = json.loads(answer)["metadata"]["traceparent"]
    assert seen == f"00-{TRACE}-{chain[-1][1].span_id.hex()}-01"
    trace_ids = await asyncio.to_thread(_logged_trace_ids, traced)
    assert trace_ids == {TRACE}


async def test_a_dead_collector_costs_no_call(pair_topology: Topology, short_dir: Path) -> None:
    topology = without_policies(pair_topology)
    mesh = RunningMesh(topology, place(topology, short_dir, otlp_endpoint=f"127.0.0.1:{free_base([0])}"))
    write_runtime(topology, mesh.placement)
    try:
        await asyncio.to_thread(mesh.start_app, "back")
        await asyncio.to_thread(mesh.start_sidecars)
        async with dial(mesh) as channel:
            for _ in range(50):
                await channel.unary_unary(ECHO)(b"", timeout=1)
    finally:
        mesh.stop()


async def test_an_unsampled_trace_stays_so(traced: RunningMesh, collector: tuple[Collector, str]) -> None:
    await asyncio.to_thread(traced.start_sidecars)
    async with dial(traced) as channel:
        echo = channel.unary_unary(ECHO)
        answer = await echo(b"", timeout=5, metadata=(("traceparent", f"00-{TRACE}-{PARENT}-00"),))
        assert json.loads(answer)["metadata"]["traceparent"].startswith(f"00-{TRACE}-")
        assert json.loads(answer)["metadata"]["traceparent"].endswith("-00")
        await echo(b"", timeout=5)  # a new trace, sampled; once it is out, the other would be too
    await asyncio.to_thread(wait_until, lambda: len(collector[0].spans) >= 4, "four spans")
    assert TRACE not in {span.trace_id.hex() for _, span in collector[0].spans}


def dial(mesh: RunningMesh) -> Any:
    return grpc.aio.insecure_channel(mesh.placement.egress(mesh.topology.service("front")))


def _chain(spans: list[tuple[str, Span]]) -> list[tuple[str, Span]]:
    """The spans from the caller's down, each the child of the one before."""
    by_parent = {span.parent_span_id.hex(): (name, span) for name, span in spans}
    chain, parent = [], PARENT
    while parent in by_parent:
        chain.append(by_parent[parent])
        parent = chain[-1][1].span_id.hex()
    return chain


def _logged_trace_ids(mesh: RunningMesh) -> set[str]:
    paths = [Path(mesh.placement.access_log(service_name)) for service_name in mesh.topology.service_names()]
    wait_until(lambda: all(path.read_text() for path in paths), "the access logs", 5.0)
    return {json.loads(line)["trace_id"] for path in paths for line in path.read_text().splitlines()}
