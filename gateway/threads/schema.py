"""The tables that threads are kept in."""

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
