"""Passes items through a blocking function, in batches of bounded size and threads of their own."""

import asyncio
import math
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from citemesh.errors import Unavailable

Item = TypeVar("Item", bound=Sized)
Result = TypeVar("Result")


@dataclass(slots=True)
class _Waiting(Generic[Item, Result]):
    item: Item
    answer: "asyncio.Future[Result]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Lane(Generic[Item, Result]):
    """Used from one event loop. Callers bound how many items wait.

    Args:
        work: makes one result an item; called in several threads at once where there are several.
        threads: batches at once.
        batch_size: most items in a batch, times the length of the longest; an item over it goes alone.
        nice: how much the threads give way to the machine's other work: 0 not at all, 19 always.
        window_s: how long a batch is waited for where several items wait already, which shows that more will come.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[list[Item]], Sequence[Result]],
        threads: int,
        batch_size: int,
        nice: int = 0,
        window_s: float = 0.0,
    ) -> None:
        self._work = work
        self._batch_size = batch_size
        self._window_s = window_s
        self._threads = ThreadPoolExecutor(threads, f"embedding-{name}", _give_way, (nice,))
        self._workers = threads
        self._idle = threads
        self._queue: deque[_Waiting[Item, Result]] = deque()
        self._filled = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def waiting(self) -> int:
        """Items in no batch yet."""
        return len(self._queue)

    @property
    def healthy(self) -> bool:
        """Whether the loops that feed the threads run."""
        return bool(self._tasks) and not any(task.done() for task in self._tasks)

    def start(self) -> None:
        """Begins to take items."""
        self._tasks = [asyncio.create_task(self._run()) for _ in range(self._workers)]

    async def stop(self) -> None:
        """Ends the threads; what waits is refused."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        _refuse(self._queue, Unavailable("the embedding model"))
        await asyncio.to_thread(self._threads.shutdown)

    async def run(self, item: Item) -> Result:
        """The item's result. Raises Unavailable before the start and after the end, and what the work raises."""
        if not self.healthy:
            raise Unavailable("the embedding model")
        waiting: _Waiting[Item, Result] = _Waiting(item)
        self._queue.append(waiting)
        self._filled.set()
        return await waiting.answer

    async def run_many(self, items: Sequence[Item]) -> list[Result]:
        """The items' results, in their order. Raises as `run` does, for the first that fails."""
        if len(items) == 1:  # gathering one takes a turn of the loop
            return [await self.run(items[0])]
        if not self.healthy:
            raise Unavailable("the embedding model")
        waiting: list[_Waiting[Item, Result]] = [_Waiting(item) for item in items]
        self._queue.extend(waiting)
        self._filled.set()
        return await asyncio.gather(*(item.answer for item in waiting))

    async def _run(self) -> None:
        while True:
            await self._filled.wait()
            if not (batch := self._next()):
                self._filled.clear()
                continue
            self._idle -= 1
            try:
                await self._work_on(batch)
            finally:
                self._idle += 1
            if self._window_s and len(self._queue) > 1:
                await asyncio.sleep(self._window_s)

    async def _work_on(self, batch: list[_Waiting[Item, Result]]) -> None:
        loop = asyncio.get_running_loop()
        try:
            results = await loop.run_in_executor(self._threads, self._work, [waiting.item for waiting in batch])
        except asyncio.CancelledError:
            _refuse(batch, Unavailable("the embedding model"))
            raise
        except Exception as error:
            _refuse(batch, error)
            return
        for waiting, result in zip(batch, results, strict=True):
            if not waiting.answer.done():
                waiting.answer.set_result(result)

    def _next(self) -> list[_Waiting[Item, Result]]:
        """The next batch, in the order of arrival. Callers that left are passed over.

        Idle workers share what waits, so that items that arrive together keep every core busy and not one alone.
        """
        batch: list[_Waiting[Item, Result]] = []
        longest = 0
        share = math.ceil(len(self._queue) / max(1, self._idle))
        while self._queue and len(batch) < share:
            if self._queue[0].answer.done():
                self._queue.popleft()
                continue
            longest = max(longest, len(self._queue[0].item))
            if batch and longest * (len(batch) + 1) > self._batch_size:
                break
            batch.append(self._queue.popleft())
        return batch


def _refuse(waiting: Sequence[_Waiting[Item, Result]] | deque[_Waiting[Item, Result]], error: Exception) -> None:
    for item in waiting:
        if not item.answer.done():
            item.answer.set_exception(error)


def _give_way(nice: int) -> None:
    """Lowers this thread's priority; Linux keeps one a thread."""
    if nice:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
