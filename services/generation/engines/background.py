"""Runs long work that can't be interrupted, without keeping the process from ending."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_background(run: Callable[[], T]) -> T:
    """Returns what a function returns, run in a daemon thread.

    A process that is told to stop waits for the threads of asyncio's own pool, for a minute where a model is loading.
    It doesn't wait for this one.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(call: Callable[..., None], value: object) -> None:
        if not result.done():
            call(value)

    def work() -> None:
        try:
            outcome, call = run(), result.set_result
        except Exception as fault:
            outcome, call = fault, result.set_exception  # type: ignore[assignment]  # one of both, passed on as such
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, call, outcome)

    threading.Thread(target=work, daemon=True, name="loading").start()
    return await result
