"""Turns work that sends events into a stream of them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from citemesh.client.types import AskEvent
from gateway.query.answers.transcript import Emit

BUFFER = 64


async def events(work: Callable[[Emit], Awaitable[None]], buffer: int = BUFFER) -> AsyncGenerator[AskEvent]:
    """Runs ``work`` beside the reader, at most ``buffer`` events ahead of it. Closing the stream cancels the work."""
    service = asyncio.Semaphore(buffer)
    queue: asyncio.Queue[AskEvent | None] = asyncio.Queue()

    async def emit(event: AskEvent) -> None:
        await service.acquire()
        queue.put_nowait(event)

    task = asyncio.ensure_future(work(emit))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            service.release()
            yield event
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
