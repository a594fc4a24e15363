"""Jobs on disk."""

import asyncio
import os
import sqlite3
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from citemesh.errors import PreconditionFailed, Unavailable
from gateway.jobs import table
from gateway.jobs.job import Asked, Bounds, Job
from gateway.threads.owner import Owner

T = TypeVar("T")
BUSY_S = 5.0
NEWEST = 2**62


class JobStore:
    """Keeps jobs in one SQLite file. What a method returned from survives the process's sudden end.

    One connection in one thread of its own does all the work, in the order of the calls.
    """

    def __init__(self, directory: Path, bounds: Bounds | None = None, clock: Callable[[], float] = time.time) -> None:
        self._path = directory / "jobs.db"
        self._bounds = bounds or Bounds()
        self._clock = clock
        self._pool = ThreadPoolExecutor(1, "jobs")
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        """Makes it ready; what was in progress is to do again. Raises PreconditionFailed for a file of no use."""
        await self._run(self._open)
        await self._write(lambda connection: table.recover(connection, self._now(), self._bounds))

    async def close(self) -> None:
        """Ends it; what was kept stays."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._run(connection.close)
        self._pool.shutdown(wait=False)

    async def add(self, asked: Asked) -> Job:
        """Keeps a job, or returns the one made under the same key. Raises Overloaded, PreconditionFailed."""
        job_id = str(uuid.uuid4())
        return await self._write(lambda connection: table.add(connection, job_id, asked, self._now(), self._bounds))

    async def get(self, owner: Owner, job_id: str) -> Job:
        """One of an owner's. Raises NotFound."""
        return await self._write(lambda connection: table.find(connection, owner, job_id))

    async def list(self, owner: Owner, before: int = NEWEST, limit: int = 20) -> tuple[Job, ...]:
        """An owner's, newest first."""
        return tuple(await self._write(lambda connection: table.page(connection, owner, before, limit)))

    async def begin(self) -> Job | None:
        """The one that waits longest, begun; None where none waits. What waited too long fails on the way."""

        def work(connection: sqlite3.Connection) -> Job | None:
            table.tidy(connection, self._now(), self._bounds)
            return table.begin(connection, self._now())

        return await self._write(work)

    async def end(self, job: Job, response: dict[str, Any] | None, error: str = "") -> None:
        """Keeps its answer, or why it has none."""
        await self._write(lambda connection: table.end(connection, job.place, response, error, self._now()))

    def _now(self) -> int:
        return int(self._clock())

    def _open(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            os.chmod(self._path.parent, 0o700)
            self._connection = sqlite3.connect(
                self._path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
            )
            table.prepare(self._connection)
        except (OSError, sqlite3.Error) as error:
            fault = f"{self._path} can't be used: {error}"
            raise PreconditionFailed("JOBS_FILE", fault, "set threads_dir to a directory of its own") from error

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs work as one transaction."""

        def transaction() -> T:
            connection = self._connection
            if connection is None:
                raise Unavailable("the list of questions to answer later")
            try:
                return _within(connection, work)
            except sqlite3.OperationalError as error:
                remedy = f"its file can't be used now: {error}"
                raise Unavailable("the list of questions to answer later", remedy=remedy) from error

        return await self._run(transaction)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


def _within(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = work(connection)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return found
