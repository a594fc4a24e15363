"""Ends work for a caller that hung up."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

T = TypeVar("T")


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The work's result. Cancels it and raises ClientDisconnect where the caller leaves before."""
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return await task
    finally:
        task.cancel()
        leaving.cancel()
        await asyncio.wait({task, leaving})


async def _disconnected(request: Request) -> None:
    """Returns when the caller is gone; the request's body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
