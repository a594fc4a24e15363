"""Answers jobs in the background, a few at a time, each as its caller would have been answered."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from citemesh.errors import CiteMeshError, DeadlineExceeded, Overloaded
from citemesh.kit import call_context
from citemesh.kit.collection_scope import CollectionScope
from gateway.jobs.job import Job, JobRequest
from gateway.jobs.store import JobStore

WORKERS = 2
LOOK_S = 60.0
"""How often it is looked for what waited too long, where nothing new comes."""
RUN_S = 900.0
MOST_WAIT_S = 30.0
log = logging.getLogger(__name__)

Answer = Callable[[Job], Awaitable[dict[str, Any]]]
Tell = Callable[[Exception], str]


class Runner:
    """Works on what the store has to do.

    Args:
        answer: makes a job's answer.
        tell: what a caller may read of an error; it also logs what callers may not read.
        run_s: seconds that one may take.
    """

    def __init__(self, store: JobStore, answer: Answer, tell: Tell, run_s: float = RUN_S) -> None:
        self.store = store
        self._answer = answer
        self._tell = tell
        self._run_s = run_s
        self._news = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Opens the store and begins with what waits there. Raises PreconditionFailed where it can't be used."""
        await self.store.open()
        self._workers = [asyncio.create_task(self._work()) for _ in range(WORKERS)]

    async def stop(self) -> None:
        """Ends; what is in progress is to do again at the next start."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        await self.store.close()

    async def add(self, asked: JobRequest) -> Job:
        """Takes a job on. Raises Overloaded, PreconditionFailed."""
        job = await self.store.add(asked)
        self._news.set()
        return job

    async def _work(self) -> None:
        while True:
            try:
                await self._next()
            except CiteMeshError:  # the store's file can't be used now
                log.exception("the list of questions to answer later")
                await asyncio.sleep(LOOK_S)

    async def _next(self) -> None:
        self._news.clear()
        job = await self.store.begin()
        if job is not None:
            response, error = await self._result(job)
            await self.store.end(job, response, error)
            return
        try:
            async with asyncio.timeout(LOOK_S):
                await self._news.wait()
        except TimeoutError:
            return

    async def _result(self, job: Job) -> tuple[dict[str, Any] | None, str]:
        try:
            with call_context.calling(self._context(job.asked)):
                async with asyncio.timeout(self._run_s):
                    return await self._patiently(job), ""
        except TimeoutError:
            return None, self._tell(DeadlineExceeded("the question was being answered"))
        except Exception as error:  # whatever it is, the job has ended, and its caller is told what it may read
            return None, self._tell(error)

    async def _patiently(self, job: Job) -> dict[str, Any]:
        """Nobody waits for the answer, so where there is no place it is asked again."""
        while True:
            try:
                return await self._answer(job)
            except Overloaded as error:
                await asyncio.sleep(min(max(error.retry_after_s, 0.1), MOST_WAIT_S))

    def _context(self, asked: JobRequest) -> call_context.CallContext:
        """What the caller's own call would have carried; less urgent than whoever waits."""
        return call_context.CallContext(
            asyncio.get_running_loop().time() + self._run_s,
            call_context.PRIORITIES["background"],
            asked.owner.subject,
            asked.owner.tenant,
            None if asked.scope is None else CollectionScope.parse(asked.scope),
        )
