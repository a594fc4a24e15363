"""An app for a sidecar to stand before: `python fake_app.py GRPC_SOCKET [HTTP_SOCKET]`, its own process so
that it can be killed. Answers any service by method name; requests and answers are raw bytes, mostly JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio

Context = Any
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"  # grpc.health.v1.HealthCheckResponse


class FakeApp(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # generic only in its stubs
    """Every method a test needs, under any service name."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.health = SERVING

    def service(self, details: Any) -> Any:
        name = details.method.rsplit("/", 1)[1]
        self.calls[name] += 1
        behaviour = getattr(self, f"rpc_{name.lower()}", self.rpc_echo)
        if name.startswith("Count"):
            return grpc.unary_stream_rpc_method_handler(self.count)
        return grpc.unary_unary_rpc_method_handler(behaviour)

    async def rpc_check(self, request: bytes, context: Context) -> bytes:
        return self.health

    async def rpc_echo(self, request: bytes, context: Context) -> bytes:
        """What the app saw: metadata, remaining time, request size, calls by method so far."""
        metadata = {k: v for k, v in context.invocation_metadata() if isinstance(v, str)}
        seen = {
            "metadata": metadata,
            "left_s": context.time_remaining(),
            "size": len(request),
            "calls": self.calls,
        }
        return json.dumps(seen).encode()

    async def rpc_mirror(self, request: bytes, context: Context) -> bytes:
        return request

    async def rpc_sleep(self, request: bytes, context: Context) -> bytes:
        await asyncio.sleep(float(request))
        return b""

    async def rpc_fail(self, request: bytes, context: Context) -> bytes:
        await context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
        return b""

    rpc_failwrite = rpc_fail

    async def rpc_sethealth(self, request: bytes, context: Context) -> bytes:
        self.health = request
        return b""

    async def count(self, request: bytes, context: Context) -> AsyncIterator[bytes]:
        """`request` numbers, 20 ms apart."""
        for number in range(int(request)):
            yield str(number).encode()
            await asyncio.sleep(0.02)


async def answer_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers one HTTP/1.1 request with what it saw."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    lines = head.splitlines()
    headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:] if ": " in line)}
    size = len(await reader.readexactly(int(headers.get("content-length", "0"))))
    body = json.dumps({"request": lines[0], "headers": headers, "size": size}).encode()
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n")
    writer.write(f"content-length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    writer.close()


async def main(grpc_socket: str, http_socket: str | None = None) -> None:
    limits = [("grpc.max_receive_message_length", 16 << 20), ("grpc.max_send_message_length", 16 << 20)]
    server = grpc.aio.server(handlers=[FakeApp()], options=limits)
    server.add_insecure_port(f"unix:{grpc_socket}")
    await server.start()
    if http_socket:
        await asyncio.start_unix_server(answer_http, http_socket)
    print("ready", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
