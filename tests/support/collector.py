"""An OTLP collector in this process: keeps every span that is exported to it."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc


@dataclass(frozen=True)
class Span:
    """What the tests look at. Ids in hex; parent "" for a root; times in seconds."""

    service: str
    name: str
    kind: int
    trace_id: str
    span_id: str
    parent: str
    start_s: float
    end_s: float
    attributes: dict[str, Any] = field(default_factory=dict)


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Listens on a port of its own choosing while it is a context."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: list[Span] = []
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(self, self._server)
        self.endpoint = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def Export(
        self, request: trace_service_pb2.ExportTraceServiceRequest, context: grpc.ServicerContext
    ) -> trace_service_pb2.ExportTraceServiceResponse:
        found = [
            _span(dict(_pairs(group.resource.attributes)), span)
            for group in request.resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]
        with self._lock:
            self._spans.extend(found)
        return trace_service_pb2.ExportTraceServiceResponse()

    def __enter__(self) -> "Collector":
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(0)

    def of(self, trace_id: str) -> list[Span]:
        """Spans of one trace so far."""
        with self._lock:
            return [span for span in self._spans if span.trace_id == trace_id]

    async def until(self, trace_id: str, enough: Callable[[list[Span]], bool], within_s: float = 20.0) -> list[Span]:
        """Spans of a trace once there are enough; at the deadline, what there is."""
        ends = time.monotonic() + within_s
        while not enough(self.of(trace_id)) and time.monotonic() < ends:
            await asyncio.sleep(0.05)
        return self.of(trace_id)


def _pairs(attributes: Any) -> list[tuple[str, Any]]:
    return [(pair.key, getattr(pair.value, pair.value.WhichOneof("value") or "string_value")) for pair in attributes]


def _span(resource: dict[str, Any], span: Any) -> Span:
    return Span(
        service=resource.get("service.name", ""),
        name=span.name,
        kind=span.kind,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        start_s=span.start_time_unix_nano / 1e9,
        end_s=span.end_time_unix_nano / 1e9,
        attributes=dict(_pairs(span.attributes)),
    )
