"""Threads for work that would hold up the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class WorkerThreads:
    """A few named threads for work on the processor."""

    def __init__(self, threads: int, name: str) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Runs the work in a thread and returns its result. Raises what the work raises."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)

    async def close(self) -> None:
        """Waits for the work that runs and ends the threads."""
        await asyncio.to_thread(self._executor.shutdown)
