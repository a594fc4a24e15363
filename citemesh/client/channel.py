"""Opens channels. The interceptors are OpenTelemetry's own, but for streams: see tracing.py."""

from typing import Any

import grpc
from opentelemetry.instrumentation.grpc._aio_client import UnaryUnaryAioClientInterceptor
from opentelemetry.trace import get_tracer

from citemesh.client.tracing import StreamStreamTracing, UnaryStreamTracing
from citemesh.kit.wire import options

MAX_MESSAGE_MIB = 16


def open_channel(target: str, max_message_mib: int = MAX_MESSAGE_MIB) -> grpc.aio.Channel:
    """A lazily connecting channel without transport security: it ends at this machine's own sidecar or socket.

    gRPC's own retries are off, since the sidecar retries within a budget; two layers would multiply.
    """
    settings = [
        *options(max_message_mib),
        ("grpc.enable_retries", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1000),
    ]
    tracer = get_tracer("citemesh.client")
    interceptors: list[Any] = [
        UnaryUnaryAioClientInterceptor(tracer),  # type: ignore[no-untyped-call]  # shipped without types
        UnaryStreamTracing(),
        StreamStreamTracing(),
    ]
    return grpc.aio.insecure_channel(target, options=settings, interceptors=interceptors)
