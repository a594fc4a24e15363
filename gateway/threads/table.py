"""What is done with the tables, each within the transaction that it is given. Every statement names the owner."""

import sqlite3
from datetime import UTC, datetime, timedelta

from citemesh.errors import NotFound, PreconditionFailed
from gateway.threads.bounds import ThreadBounds
from gateway.threads.owner import Owner
from gateway.threads.turn import Thread

TITLE = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = (2**63 - 1, "")


def find(connection: sqlite3.Connection, owner: Owner, thread_id: str) -> Thread:
    """A thread. Raises NotFound, in the same words whether it is another's or nobody's."""
    row = connection.execute(
        "SELECT id, title, used, turns FROM threads WHERE id = ? AND tenant = ? AND subject = ?",
        (thread_id, owner.tenant, owner.subject),
    ).fetchone()
    if row is None:
        raise missing(thread_id)
    return _thread(row)


def missing(thread_id: str) -> NotFound:
    """What a caller is told of a thread that it doesn't have."""
    return NotFound("thread", thread_id, "list your threads, or start a new one")


def turns(connection: sqlite3.Connection, thread_id: str, most: int) -> list[str]:
    """Texts of a thread's last turns, oldest first."""
    rows = connection.execute(
        "SELECT text FROM turns WHERE thread = ? ORDER BY place DESC LIMIT ?", (thread_id, most)
    ).fetchall()
    return [text for (text,) in reversed(rows)]


def page(connection: sqlite3.Connection, owner: Owner, before: tuple[int, str] | None, limit: int) -> list[Thread]:
    """An owner's threads, newest first, those used before a moment."""
    rows = connection.execute(
        "SELECT id, title, used, turns FROM threads WHERE tenant = ? AND subject = ? AND (used, id) < (?, ?) "
        "ORDER BY used DESC, id DESC LIMIT ?",
        (owner.tenant, owner.subject, *(before or _LAST), limit),
    )
    return list(map(_thread, rows))


def add(connection: sqlite3.Connection, owner: Owner, thread_id: str, title: str) -> None:
    """A new thread without turns."""
    connection.execute(
        "INSERT INTO threads VALUES (?, ?, ?, ?, 0, 0, 0)", (thread_id, owner.tenant, owner.subject, title[:TITLE])
    )


def append(connection: sqlite3.Connection, thread: Thread, text: str, bounds: ThreadBounds) -> None:
    """A turn at a thread's end. Raises PreconditionFailed where the thread is full."""
    check_service(connection, thread, len(text.encode()), bounds)
    used = tick(connection)
    connection.execute(
        "INSERT INTO turns SELECT ?, coalesce(max(place), 0) + 1, ? FROM turns WHERE thread = ?",
        (thread.thread_id, text, thread.thread_id),
    )
    connection.execute(
        "UPDATE threads SET used = ?, turns = turns + 1, bytes = bytes + ? WHERE id = ?",
        (used, len(text.encode()), thread.thread_id),
    )


def check_service(connection: sqlite3.Connection, thread: Thread, size: int, bounds: ThreadBounds) -> None:
    """Raises PreconditionFailed where a thread takes no turn of so many bytes more."""
    held = connection.execute("SELECT bytes FROM threads WHERE id = ?", (thread.thread_id,)).fetchone()[0]
    if thread.turns >= bounds.turns or held + size > bounds.thread_bytes:
        fault = f"the thread has {thread.turns} turns of {held} bytes, which is all that it may"
        raise PreconditionFailed("THREAD_FULL", fault, "start a new one")


def remove(connection: sqlite3.Connection, owner: Owner, thread_id: str) -> None:
    """Deletes a thread with its turns. Raises NotFound."""
    find(connection, owner, thread_id)
    connection.execute("DELETE FROM threads WHERE id = ?", (thread_id,))


def make_service(connection: sqlite3.Connection, owner: Owner, keep: str, bounds: ThreadBounds) -> None:
    """Deletes an owner's threads, longest unused first, until it is within bounds; ``keep`` stays.

    Raises PreconditionFailed where that isn't enough: others of the tenant hold the rest, and theirs is not touched.
    """
    mine, held = _held(connection, owner)
    while mine > bounds.threads or held > bounds.tenant_bytes:
        row = connection.execute(
            "SELECT id, bytes FROM threads WHERE tenant = ? AND subject = ? AND id <> ? ORDER BY used, id LIMIT 1",
            (owner.tenant, owner.subject, keep),
        ).fetchone()
        if row is None:
            fault = "the tenant's threads hold all the bytes that they may"
            raise PreconditionFailed("THREADS_FULL", fault, "delete threads that are no longer needed")
        connection.execute("DELETE FROM threads WHERE id = ?", (row[0],))
        mine, held = mine - 1, held - row[1]


def tick(connection: sqlite3.Connection) -> int:
    """Now in microseconds since 1970, always later than the time before, whatever the machine's clock does."""
    now = int(datetime.now(UTC).timestamp() * 1_000_000)
    return int(connection.execute("UPDATE clock SET last = max(last + 1, ?) RETURNING last", (now,)).fetchone()[0])


def _held(connection: sqlite3.Connection, owner: Owner) -> tuple[int, int]:
    """Threads of the owner, and bytes of its whole tenant."""
    row = connection.execute(
        "SELECT coalesce(sum(subject = ?), 0), coalesce(sum(bytes), 0) FROM threads WHERE tenant = ?",
        (owner.subject, owner.tenant),
    ).fetchone()
    return int(row[0]), int(row[1])


def _thread(row: tuple[str, str, int, int]) -> Thread:
    return Thread(row[0], row[1], _EPOCH + timedelta(microseconds=row[2]), row[3])
