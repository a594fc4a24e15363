"""Newline-delimited JSON: one object a line. It has no comments, so nothing is sent while nothing happens."""

import json
from collections.abc import AsyncGenerator
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


def line(data: Any) -> bytes:
    """One object; JSON has no line ends of its own."""
    return json.dumps(data, ensure_ascii=False).encode() + b"\n"


class LineStream(StreamingResponse):
    """Streams lines. However it ends, their source is closed before it returns."""

    def __init__(self, lines: AsyncGenerator[bytes]) -> None:
        self._lines = lines
        super().__init__(lines, headers={"cache-control": "no-cache"}, media_type="application/x-ndjson")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._lines.aclose()
