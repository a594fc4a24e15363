"""Runs the engine's blocking work in a few threads: most urgent first, refused when too much waits.

A job whose caller left is dropped while it waits; while it runs, its `alive` says so.
"""

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from citemesh.errors import CiteMeshError, DeadlineExceeded, Overloaded
from services.reranker.engine import Alive
from services.reranker.metrics import dropped, waits

T = TypeVar("T")
_FIRST_GUESS_S = 0.1
_FAULTS = 3
_STUCK_S = 30.0


@dataclass(order=True)
class _Job(Generic[T]):
    """Ordered by priority, then by arrival. Times are on the monotonic clock, in seconds."""

    priority: int
    number: int
    work: Callable[[Alive], T] = field(compare=False)
    answer: "asyncio.Future[T]" = field(compare=False)
    ends_at: float = field(compare=False)
    arrived_at: float = field(default_factory=time.monotonic, compare=False)
    abandoned: bool = field(default=False, compare=False)

    def alive(self) -> bool:
        return not self.abandoned and time.monotonic() < self.ends_at


class RerankerPool:
    """A bounded queue before a fixed number of threads; used from one event loop.

    Args:
        workers: jobs that run at once.
        waiting: most jobs that wait; one more raises Overloaded.
    """

    def __init__(self, workers: int, waiting: int) -> None:
        self._limit = waiting
        self._idle = workers
        self._queue: list[_Job[Any]] = []
        self._numbers = itertools.count()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="rerank")
        self._job_s = _FIRST_GUESS_S
        self._workers = workers
        self._faults = 0
        self._running: dict[int, float] = {}

    @property
    def waiting(self) -> int:
        """Jobs that wait and whose caller does too."""
        return sum(not job.abandoned for job in self._queue)

    @property
    def healthy(self) -> bool:
        """False after three unforeseen faults in a row, or while a job runs on long after its deadline."""
        now = time.monotonic()
        return self._faults < _FAULTS and all(now < end + _STUCK_S for end in self._running.values())

    async def run(self, action: str, work: Callable[[Alive], T], priority: int, timeout_s: float) -> T:
        """Returns the work's result.

        Args:
            action: names the work in errors.
            priority: lower is more urgent; equal ones go in order of arrival.
            timeout_s: seconds from now after which nobody waits for the result.

        Raises Overloaded when the queue is full, DeadlineExceeded after timeout_s, and what the work raises.
        """
        self._forget_abandoned()
        if not self._idle and len(self._queue) >= self._limit:
            dropped.add(1, {"reason": "full"})
            raise Overloaded(f"the reranker's queue ({self._limit} calls)", self._retry_after_s())
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        job = _Job(priority, next(self._numbers), work, answer, time.monotonic() + timeout_s)
        heapq.heappush(self._queue, job)
        self._start_next()
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            raise DeadlineExceeded(action) from None
        finally:
            job.abandoned = True

    def close(self) -> None:
        """Drops the jobs that wait, and takes no more."""
        for job in self._queue:
            job.abandoned = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _retry_after_s(self) -> float:
        return max(0.05, self._job_s * (len(self._queue) + 1) / self._workers)

    def _forget_abandoned(self) -> None:
        """Keeps calls that left from filling the queue while the workers are busy."""
        waiting = [job for job in self._queue if not job.abandoned]
        dropped.add(len(self._queue) - len(waiting), {"reason": "left"})
        self._queue = waiting
        heapq.heapify(self._queue)

    def _start_next(self) -> None:
        while self._idle and self._queue:
            job = heapq.heappop(self._queue)
            if job.alive():
                self._start(job)
            else:
                dropped.add(1, {"reason": "left"})

    def _start(self, job: _Job[Any]) -> None:
        self._idle -= 1
        self._running[job.number] = job.ends_at
        waits.record(time.monotonic() - job.arrived_at, {"citemesh.priority": job.priority})
        running = asyncio.get_running_loop().run_in_executor(self._threads, self._timed, job)
        running.add_done_callback(partial(self._finish, job))

    def _timed(self, job: _Job[T]) -> tuple[T, float]:
        start_s = time.monotonic()
        return job.work(job.alive), time.monotonic() - start_s

    def _finish(self, job: _Job[T], done: "asyncio.Future[tuple[T, float]]") -> None:
        self._idle += 1
        del self._running[job.number]
        fault = None if done.cancelled() else done.exception()
        self._faults = self._faults + 1 if fault and not isinstance(fault, CiteMeshError) else 0
        if not job.answer.done():
            if done.cancelled():
                job.answer.cancel()
            elif fault:
                job.answer.set_exception(fault)
            else:
                result, seconds = done.result()
                self._job_s += (seconds - self._job_s) / 8
                job.answer.set_result(result)
        self._start_next()
