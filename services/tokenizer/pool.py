"""Runs tokenizers in a bounded set of threads, behind a bounded queue.

Work goes in steps. A worker that is free takes what waits at once, so a lone request never waits for company; while
all are busy requests pile up, and the next step takes as many as fit: batches form by themselves and only under load.
A long text is encoded part by part, one a step, so that it shares the threads with everybody else and stops when its
caller leaves.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from citemesh.errors import DeadlineExceeded, Overloaded, Unavailable
from services.tokenizer.engine import TokenizedText, TokenizerEngine
from services.tokenizer.jobs import CallJob, EncodeJob, PoolJob, encode_step

T = TypeVar("T")

PRIORITIES = 3
CHARACTERS_PER_S = 2_000_000
"""Rough pace of one thread, to say when a retry is worth it."""


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """Bounds of a pool.

    Attributes:
        threads: steps at a time.
        jobs: requests that may wait or be worked on; more are refused at once.
        characters: code points that they may hold together.
        step_characters: code points that one step takes, as far as texts can be cut.
    """

    threads: int = 2
    jobs: int = 1024
    characters: int = 1 << 26
    step_characters: int = 1 << 16


@dataclass(slots=True)
class PoolLoad:
    """Work of a pool: jobs and code points now; steps, encoded jobs and skipped jobs so far."""

    jobs: int = 0
    characters: int = 0
    steps: int = 0
    batched: int = 0
    skipped: int = 0


class TokenizerPool:
    """Threads for tokenizers; use it within one event loop, between start and stop."""

    def __init__(self, limits: PoolLimits) -> None:
        self.load = PoolLoad()
        self._limits = limits
        self._queues: tuple[deque[PoolJob], ...] = tuple(deque() for _ in range(PRIORITIES))
        self._threads = ThreadPoolExecutor(limits.threads, thread_name_prefix="tokenizer")
        self._ready = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []
        self._at_work: set[PoolJob] = set()

    @property
    def running(self) -> bool:
        """True while all workers live."""
        return bool(self._workers) and not any(worker.done() for worker in self._workers)

    async def start(self) -> None:
        """Starts the workers."""
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._limits.threads)]

    async def stop(self) -> None:
        """Stops the workers; what waits or is worked on is answered Unavailable."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        for job in (*self._at_work, *itertools.chain(*self._queues)):
            job.fail(Unavailable("the tokenizer"))
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def encode(
        self, engine: TokenizerEngine, texts: Sequence[str], *, with_spans: bool, timeout_s: float, priority: int
    ) -> list[TokenizedText]:
        """Returns the tokens of texts.

        Args:
            engine: the tokenizer.
            texts: what to encode.
            with_spans: whether the tokens carry their spans.
            timeout_s: seconds that the caller waits.
            priority: 0 is the most urgent, 2 the least.

        Raises:
            Overloaded: the queue is full.
            DeadlineExceeded: the caller's time ran out.
            Unavailable: the pool has stopped.
        """
        job = EncodeJob(engine, texts, with_spans)
        await self._submit(job, timeout_s, priority)
        return job.tokens

    async def call(self, run: Callable[[], T], characters: int, *, timeout_s: float, priority: int) -> T:
        """Returns what a function returns that works in one step. Raises as `encode` does, and what it raises."""
        job = CallJob(run, characters)
        await self._submit(job, timeout_s, priority)
        return job.result

    async def _submit(self, job: PoolJob, timeout_s: float, priority: int) -> None:
        self._admit(job)
        job.priority = min(max(priority, 0), PRIORITIES - 1)
        self._queues[job.priority].append(job)
        self._ready.set()
        try:
            async with asyncio.timeout(timeout_s):
                await job.future
        except TimeoutError:
            raise DeadlineExceeded("tokenizing") from None
        finally:
            self.load.jobs -= 1
            self.load.characters -= job.characters

    def _admit(self, job: PoolJob) -> None:
        if not self.running:
            raise Unavailable("the tokenizer")
        characters = self.load.characters + job.characters
        if self.load.jobs >= self._limits.jobs or (self.load.jobs and characters > self._limits.characters):
            pace = CHARACTERS_PER_S * self._limits.threads
            raise Overloaded("the tokenizer's queue", min(10.0, max(0.05, self.load.characters / pace)))
        self.load.jobs += 1
        self.load.characters = characters

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._ready.wait()
            jobs = self._gather()
            if not jobs:
                self._ready.clear()
                continue
            self._at_work.update(jobs)
            fault = await loop.run_in_executor(self._threads, _step, jobs, self._limits.step_characters)
            self._at_work.difference_update(jobs)
            self._settle(jobs, fault)

    def _gather(self) -> list[PoolJob]:
        """Takes the most urgent job, and with it those of its class that one call can encode together."""
        for queue in self._queues:
            while queue:
                first = queue.popleft()
                if first.left:
                    self.load.skipped += 1
                else:
                    return [first, *self._matching(first, queue)]
        return []

    def _matching(self, first: PoolJob, queue: deque[PoolJob]) -> list[PoolJob]:
        """Takes the jobs at a queue's head that fit into one call with the first."""
        budget = self._limits.step_characters - first.characters
        matching: list[PoolJob] = []
        while isinstance(first, EncodeJob) and queue and budget >= queue[0].characters and first.alike(queue[0]):
            budget -= queue[0].characters + 1
            matching.append(queue.popleft())
        return matching

    def _settle(self, jobs: Sequence[PoolJob], fault: Exception | None) -> None:
        self.load.steps += 1
        self.load.batched += len(jobs)
        for job in jobs:
            if fault is not None:
                job.fail(fault)
            elif job.complete:
                job.succeed()
            else:
                self._queues[job.priority].append(job)
                self._ready.set()


def _step(jobs: Sequence[PoolJob], size: int) -> Exception | None:
    """Works in a thread; returns what goes wrong. A native library's panic is no Exception, so it is put into one."""
    try:
        first = jobs[0]
        if isinstance(first, CallJob):
            first.step()
        else:
            encode_step([job for job in jobs if isinstance(job, EncodeJob)], size)
    except Exception as fault:
        return fault
    except BaseException as panic:
        wrapped = RuntimeError("the tokenizer panicked")
        wrapped.__cause__ = panic
        return wrapped
    return None
