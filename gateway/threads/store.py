"""Threads on disk."""

import asyncio
import os
import secrets
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from citemesh.errors import PreconditionFailed, Unavailable
from gateway.threads import codec, schema, table
from gateway.threads.bounds import Bounds
from gateway.threads.owner import Owner
from gateway.threads.token import after, token_of
from gateway.threads.turn import Page, Thread, Turn

T = TypeVar("T")
BUSY_S = 5.0
TURN_BYTES = 4096
"""What a turn is taken to need before it is there."""


class ThreadStore:
    """Keeps threads in one SQLite file. What a method returned from survives the process's sudden end.

    One connection in one thread of its own does all the work, in the order of the calls.
    """

    def __init__(self, directory: Path, bounds: Bounds) -> None:
        self._path = directory / "threads.db"
        self._bounds = bounds
        self._pool = ThreadPoolExecutor(1, "threads")
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        """Makes it ready. Raises PreconditionFailed where the file can't be used."""
        await self._run(self._open)

    async def close(self) -> None:
        """Ends it; what was kept stays."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await asyncio.get_running_loop().run_in_executor(self._pool, connection.close)
        self._pool.shutdown(wait=False)

    async def append(self, owner: Owner, thread_id: str, turn: Turn) -> str:
        """Keeps a turn, in a new thread where no id is given; returns the thread's id.

        Raises NotFound for a thread that the owner doesn't have, PreconditionFailed where there is no room.
        """
        text = codec.encode(turn)
        if len(text.encode()) > self._bounds.turn_bytes:
            fault = f"the turn is over {self._bounds.turn_bytes} bytes"
            raise PreconditionFailed("TURN_TOO_LARGE", fault, "ask for a shorter answer")

        def work(connection: sqlite3.Connection) -> str:
            name = thread_id or secrets.token_hex(16)
            if not thread_id:
                table.add(connection, owner, name, turn.question)
            table.append(connection, table.find(connection, owner, name), text, self._bounds)
            table.make_room(connection, owner, name, self._bounds)
            return name

        return await self._write(work)

    async def read(self, owner: Owner, thread_id: str, most: int | None = None) -> tuple[Thread, tuple[Turn, ...]]:
        """A thread and its last turns, oldest first. Raises NotFound, DataLoss."""
        limit = self._bounds.turns if most is None else most

        def work(connection: sqlite3.Connection) -> tuple[Thread, list[str]]:
            return table.find(connection, owner, thread_id), table.turns(connection, thread_id, limit)

        thread, texts = await self._write(work)
        return thread, tuple(map(codec.decode, texts))

    async def room_for(self, owner: Owner, thread_id: str) -> None:
        """Checks that a thread takes one more turn. Raises NotFound, PreconditionFailed."""

        def work(connection: sqlite3.Connection) -> None:
            table.check_room(connection, table.find(connection, owner, thread_id), TURN_BYTES, self._bounds)

        await self._write(work)

    async def list(self, owner: Owner, page_token: str = "", limit: int = 100) -> Page:
        """An owner's threads, newest first. Raises InvalidInput for a token that no answer gave."""
        before = after(page_token)
        threads = await self._write(lambda connection: table.page(connection, owner, before, limit + 1))
        shown = tuple(threads[:limit])
        return Page(shown, token_of(shown[-1]) if len(threads) > limit else "")

    async def delete(self, owner: Owner, thread_id: str) -> None:
        """Deletes a thread. Raises NotFound."""
        await self._write(lambda connection: table.remove(connection, owner, thread_id))

    def _open(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            os.chmod(self._path.parent, 0o700)
            self._connection = sqlite3.connect(
                self._path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
            )
            schema.prepare(self._connection)
        except (OSError, sqlite3.Error) as error:
            fault = f"{self._path} can't be used: {error}"
            raise PreconditionFailed("THREADS_FILE", fault, "set threads_dir to a directory of its own") from error

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs work as one transaction."""

        def transaction() -> T:
            connection = self._connection
            if connection is None:
                raise Unavailable("threads")
            try:
                with closing(connection.cursor()):
                    return _within(connection, work)
            except sqlite3.OperationalError as error:
                raise Unavailable("threads", remedy=f"their file can't be used now: {error}") from error

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
