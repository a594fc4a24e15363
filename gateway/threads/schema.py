"""The tables that threads are kept in."""

import sqlite3

from citemesh.errors import PreconditionFailed

VERSION = 1
TABLES = """
CREATE TABLE threads (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    title TEXT NOT NULL,
    used INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX threads_by_use ON threads (tenant, subject, used DESC, id DESC);
CREATE TABLE turns (
    thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (thread, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE clock (last INTEGER NOT NULL) STRICT;
INSERT INTO clock VALUES (0);
"""


def prepare(connection: sqlite3.Connection) -> None:
    """Makes the tables where there are none. Raises PreconditionFailed for those of another version."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found == 0:
        connection.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT")
    elif found != VERSION:
        fault = f"the threads are of version {found}, this program reads {VERSION}"
        raise PreconditionFailed("THREADS_VERSION", fault, "use the program that wrote them, or another threads_dir")
