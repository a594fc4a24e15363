"""Server-sent events: framing, comments against idle cuts, and an end to the work when the reader leaves."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

KEEP_ALIVE = b": keep-alive\n\n"
DONE = b"data: [DONE]\n\n"


def frame(data: Any, event: str = "") -> bytes:
    """One event; JSON has no line ends of its own, so one data line holds it."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


class EventStream(StreamingResponse):
    """Streams frames. However it ends, the frames' source is closed before it returns."""

    def __init__(self, frames: AsyncGenerator[bytes], idle_s: float) -> None:
        self._frames = frames
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(kept_alive(frames, idle_s), headers=headers, media_type="text/event-stream")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._frames.aclose()


async def kept_alive(frames: AsyncIterator[bytes], idle_s: float) -> AsyncGenerator[bytes]:
    """The frames, with a comment whenever none came for ``idle_s`` seconds."""
    pending: asyncio.Future[bytes | None] | None = None
    try:
        while True:
            pending = pending or asyncio.ensure_future(_next(frames))
            if not (await asyncio.wait({pending}, timeout=idle_s))[0]:
                yield KEEP_ALIVE
                continue
            frame_, pending = pending.result(), None
            if frame_ is None:
                return
            yield frame_
    finally:
        if pending is not None:
            pending.cancel()
            await asyncio.wait({pending})


async def _next(frames: AsyncIterator[bytes]) -> bytes | None:
    return await anext(frames, None)
