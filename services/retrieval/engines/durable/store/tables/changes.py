"""The history of a store: every change has a number and a random mark."""

import secrets
import sqlite3


def begin(connection: sqlite3.Connection, collection: int) -> int:
    """Numbers a change, which is the collection's last from now on, also where the change was to drop it.

    Its random mark tells this store's history from that of a copy that went another way.
    """
    cursor = connection.execute("INSERT INTO changes (mark) VALUES (?)", (secrets.token_bytes(8),))
    sequence = int(cursor.lastrowid or 0)
    connection.execute("UPDATE collections SET changed = ? WHERE id = ?", (sequence, collection))
    return sequence


def last(connection: sqlite3.Connection) -> tuple[int, str]:
    """Number and mark of the last committed change of any collection; 0 and "" before the first."""
    row = connection.execute("SELECT sequence, hex(mark) FROM changes ORDER BY sequence DESC LIMIT 1").fetchone()
    return (int(row[0]), str(row[1])) if row else (0, "")


def mark_of(connection: sqlite3.Connection, sequence: int) -> str | None:
    """The mark of a change; None where this store never made it."""
    row = connection.execute("SELECT hex(mark) FROM changes WHERE sequence = ?", (sequence,)).fetchone()
    return str(row[0]) if row else None
