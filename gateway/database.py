"""One SQLite file, and one thread in which one connection does all the work, in the order of the calls."""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from citemesh.errors import PreconditionFailed, Unavailable

T = TypeVar("T")
BUSY_S = 5.0


class Database:
    """What a method returned from survives the process's sudden end.

    Args:
        path: the file, in a directory of its own, which is made for its owner alone.
        what: what is kept in it, for errors, such as ``threads``.
        tables: statements that make the tables where there are none.
        version: of the tables; a file with those of another one is refused.
    """

    def __init__(self, path: Path, contents: str, tables: str, version: int) -> None:
        self._path = path
        self._what = contents
        self._tables = tables
        self._version = version
        self._pool = ThreadPoolExecutor(1, contents)
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        """Makes it ready. Raises PreconditionFailed where the file can't be used."""
        await self._run(self._open)

    async def close(self) -> None:
        """Ends it; what was kept stays."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._run(connection.close)
        self._pool.shutdown(wait=False)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs work as one transaction. Raises Unavailable where the file can't be used now, and what work raises."""

        def transaction() -> T:
            connection = self._connection
            if connection is None:
                raise Unavailable(self._what)
            try:
                with closing(connection.cursor()):
                    return _within(connection, work)
            except sqlite3.OperationalError as error:
                raise Unavailable(self._what, remedy=f"their file can't be used now: {error}") from error

        return await self._run(transaction)

    def _open(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            os.chmod(self._path.parent, 0o700)
            self._connection = sqlite3.connect(
                self._path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
            )
            self._prepare(self._connection)
        except (OSError, sqlite3.Error) as error:
            fault = f"{self._path} can't be used: {error}"
            remedy = "set threads_dir to a directory of its own"
            raise PreconditionFailed(f"{self._what.upper()}_FILE", fault, remedy) from error

    def _prepare(self, connection: sqlite3.Connection) -> None:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}")
        stored_version = connection.execute("PRAGMA user_version").fetchone()[0]
        if stored_version == 0:
            connection.executescript(f"BEGIN; {self._tables} PRAGMA user_version = {self._version}; COMMIT")
        elif stored_version != self._version:
            fault = f"the {self._what} are of version {stored_version}, this program reads {self._version}"
            remedy = "use the program that wrote them, or another threads_dir"
            raise PreconditionFailed(f"{self._what.upper()}_VERSION", fault, remedy)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


def _within(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work(connection)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return result
