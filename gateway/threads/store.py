"""Threads on disk."""

import secrets
import sqlite3
from pathlib import Path

from citemesh.errors import PreconditionFailed
from gateway.database import Database
from gateway.threads import codec, schema, table
from gateway.threads.bounds import ThreadBounds
from gateway.threads.owner import Owner
from gateway.threads.token import after, token_of
from gateway.threads.turn import Page, Thread, Turn

TURN_BYTES = 4096
"""What a turn is taken to need before it is there."""


class ThreadStore:
    """Keeps threads in one SQLite file. What a method returned from survives the process's sudden end."""

    def __init__(self, directory: Path, bounds: ThreadBounds) -> None:
        self._database = Database(directory / "threads.db", "threads", schema.TABLES, schema.VERSION)
        self._bounds = bounds

    async def open(self) -> None:
        """Makes it ready. Raises PreconditionFailed where the file can't be used."""
        await self._database.open()

    async def close(self) -> None:
        """Ends it; what was kept stays."""
        await self._database.close()

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
            table.make_service(connection, owner, name, self._bounds)
            return name

        return await self._database.write(work)

    async def read(self, owner: Owner, thread_id: str, most: int | None = None) -> tuple[Thread, tuple[Turn, ...]]:
        """A thread and its last turns, oldest first. Raises NotFound, DataLoss."""
        limit = self._bounds.turns if most is None else most

        def work(connection: sqlite3.Connection) -> tuple[Thread, list[str]]:
            return table.find(connection, owner, thread_id), table.turns(connection, thread_id, limit)

        thread, texts = await self._database.write(work)
        return thread, tuple(map(codec.decode, texts))

    async def require_space(self, owner: Owner, thread_id: str) -> None:
        """Checks that a thread takes one more turn. Raises NotFound, PreconditionFailed."""

        def work(connection: sqlite3.Connection) -> None:
            table.check_service(connection, table.find(connection, owner, thread_id), TURN_BYTES, self._bounds)

        await self._database.write(work)

    async def list(self, owner: Owner, page_token: str = "", limit: int = 100) -> Page:
        """An owner's threads, newest first. Raises InvalidInput for a token that no answer gave."""
        before = after(page_token)
        threads = await self._database.write(lambda connection: table.page(connection, owner, before, limit + 1))
        shown = tuple(threads[:limit])
        return Page(shown, token_of(shown[-1]) if len(threads) > limit else "")

    async def delete(self, owner: Owner, thread_id: str) -> None:
        """Deletes a thread. Raises NotFound."""
        await self._database.write(lambda connection: table.remove(connection, owner, thread_id))
