"""Jobs on disk."""

import sqlite3
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway.database import Database
from gateway.jobs import table
from gateway.jobs.job import Job, JobBounds, JobRequest
from gateway.threads.owner import Owner

NEWEST = 2**62


class JobStore:
    """Keeps jobs in one SQLite file. What a method returned from survives the process's sudden end."""

    def __init__(
        self, directory: Path, bounds: JobBounds | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._database = Database(directory / "jobs.db", "jobs", table.TABLES, table.VERSION)
        self._bounds = bounds or JobBounds()
        self._clock = clock

    async def open(self) -> None:
        """Makes it ready; what was in progress is to do again. Raises PreconditionFailed for a file of no use."""
        await self._database.open()
        await self._database.write(lambda connection: table.recover(connection, self._now(), self._bounds))

    async def close(self) -> None:
        """Ends it; what was kept stays."""
        await self._database.close()

    async def add(self, asked: JobRequest) -> Job:
        """Keeps a job, or returns the one made under the same key. Raises Overloaded, PreconditionFailed."""
        job_id = str(uuid.uuid4())
        return await self._database.write(
            lambda connection: table.add(connection, job_id, asked, self._now(), self._bounds)
        )

    async def get(self, owner: Owner, job_id: str) -> Job:
        """One of an owner's. Raises NotFound."""
        return await self._database.write(lambda connection: table.find(connection, owner, job_id))

    async def list(self, owner: Owner, before: int = NEWEST, limit: int = 20) -> tuple[Job, ...]:
        """An owner's, newest first."""
        return tuple(await self._database.write(lambda connection: table.page(connection, owner, before, limit)))

    async def begin(self) -> Job | None:
        """The one that waits longest, begun; None where none waits. What waited too long fails on the way."""

        def work(connection: sqlite3.Connection) -> Job | None:
            table.tidy(connection, self._now(), self._bounds)
            return table.begin(connection, self._now())

        return await self._database.write(work)

    async def end(self, job: Job, response: dict[str, Any] | None, error: str = "") -> None:
        """Keeps its answer, or why it has none."""
        await self._database.write(lambda connection: table.end(connection, job.place, response, error, self._now()))

    def _now(self) -> int:
        return int(self._clock())
