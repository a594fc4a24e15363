"""Channels. Their spans come from tracing.py, which says why OpenTelemetry's own interceptors don't make them."""

from typing import Any

import grpc

from citemesh.client.transport.tracing import StreamStreamTracing, UnaryStreamTracing, UnaryUnaryTracing
from citemesh.kit.channel_options import options

MAX_MESSAGE_MIB = 16


def open_channel(target: str, max_message_mib: int = MAX_MESSAGE_MIB) -> grpc.aio.Channel:
    """Opens a lazily connecting channel without transport security: it ends at this machine's own sidecar or socket.

    gRPC's own retries are off, since the sidecar retries within a budget; two layers would multiply.
    """
    settings = [
        *options(max_message_mib),
        ("grpc.enable_retries", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        # In spite of its name, the time that one attempt to connect may take; a busy machine needs long for it.
        ("grpc.min_reconnect_backoff_ms", 5000),
        ("grpc.max_reconnect_backoff_ms", 1000),
    ]
    interceptors: list[Any] = [
        UnaryUnaryTracing(),
        UnaryStreamTracing(),
        StreamStreamTracing(),
    ]
    return grpc.aio.insecure_channel(target, options=settings, interceptors=interceptors)
