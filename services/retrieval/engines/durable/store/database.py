"""The database file: one thread that writes, a few that read, none of them the event loop's."""

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from citemesh.errors import Unavailable
from services.retrieval.engines.durable.store.faults import translated

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
_BUSY_S = 10.0


class StoreDatabase:
    """A SQLite file in WAL mode with synchronous=FULL: what was committed is on the disk."""

    def __init__(self, path: Path, readers: int = 4) -> None:
        self.path = path
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._readers = [ThreadPoolExecutor(1, thread_name_prefix=f"store-reader-{at}") for at in range(readers)]
        self._idle = deque(self._readers)
        self._free_readers = asyncio.Semaphore(readers)
        self._closed = False

    async def write(self, work: Work[T]) -> T:
        """Runs work in the writer's thread. A cancelled call that has begun runs to its end all the same."""
        self._require_open()
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._call, work, False)

    async def read(self, work: Work[T]) -> T:
        """Runs work in a reader's thread, on a connection that can't write.

        The reader that was used last goes first: its pages, and the processor's caches, are warm.
        """
        self._require_open()
        async with self._free_readers:
            self._require_open()
            reader = self._idle.pop()
            put_back = self._idle.append
            try:
                return await asyncio.get_running_loop().run_in_executor(reader, self._call, work, True)
            except asyncio.CancelledError:
                put_back = self._idle.appendleft  # it is at work still, for a caller that left: the others go first
                raise
            finally:
                put_back(reader)

    def read_here(self, work: Work[T]) -> T:
        """Runs work in the calling thread, which is none of the loop's."""
        self._require_open()
        return self._call(work, read_only=True)

    async def close(self, last: Work[None]) -> None:
        """Does one last thing in the writer's thread, after all that was begun, and closes the file."""
        if not self._closed:
            self._closed = True
            try:
                await asyncio.get_running_loop().run_in_executor(self._writer, self._call, last, False)
            finally:
                await asyncio.to_thread(self._shut)

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable("the store")

    def _call(self, work: Work[T], read_only: bool) -> T:
        with translated(self.path):
            connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = self._connect(read_only)
            try:
                return work(connection)
            finally:
                if connection.in_transaction:
                    connection.rollback()

    def _connect(self, read_only: bool) -> sqlite3.Connection:
        """Opens a connection of the calling thread; one at a time.

        The first connection to a new file turns it to WAL. SQLite refuses a second one that tries the same meanwhile
        at once ("database is locked"), whatever the time limit for busy files.
        """
        with self._guard:
            connection = self._configured(read_only)
            self._connections.append(connection)
        return connection

    def _configured(self, read_only: bool) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -32768")
        connection.execute(f"PRAGMA query_only = {'ON' if read_only else 'OFF'}")
        return connection

    def _shut(self) -> None:
        for reader in self._readers:
            reader.shutdown(wait=True, cancel_futures=True)
        self._writer.shutdown(wait=True, cancel_futures=True)
        with self._guard:
            for connection in self._connections:
                connection.close()
            self._connections.clear()


class Transaction:
    """``with Transaction(connection):`` commits at the end, or changes nothing where the body raises."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._connection.execute("COMMIT")
        elif self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def number_list(numbers: Sequence[int]) -> str:
    """Numbers as one JSON value of a statement, which stays the same for any count of them and is prepared once.

    `FROM json_each(?) j CROSS JOIN table t ON t.id = j.value` reads their rows in the order of the list.
    """
    return f"[{','.join(map(str, numbers))}]"
