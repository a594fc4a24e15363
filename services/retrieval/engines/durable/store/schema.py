"""The tables and their version.

All rows of a document depend on its own and are deleted with it. Chunk rows are never numbered twice, so that a number
in a FAISS index means one chunk for ever. Each collection has its own lexical table: what one holds never shows in
another's scores.
"""

import secrets
import sqlite3
from pathlib import Path

from citemesh.errors import DataLoss, PreconditionFailed
from services.retrieval.engines.durable.store import migrate
from services.retrieval.search import lexical

VERSION = 3
APPLICATION_ID = 0x434D5253  # "CMRS"

TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE changes (sequence INTEGER PRIMARY KEY AUTOINCREMENT, mark BLOB NOT NULL);
CREATE TABLE collections (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, model TEXT NOT NULL, digest TEXT NOT NULL,
  dimension INTEGER NOT NULL, created_at TEXT NOT NULL, documents INTEGER NOT NULL DEFAULT 0,
  chunks INTEGER NOT NULL DEFAULT 0, unreadable INTEGER NOT NULL DEFAULT 0,
  changed INTEGER NOT NULL DEFAULT 0);
CREATE TABLE documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
  document_id TEXT NOT NULL, title TEXT NOT NULL, uri TEXT NOT NULL, domain TEXT NOT NULL, source_type TEXT NOT NULL,
  language TEXT NOT NULL, content_sha256 TEXT NOT NULL, size_bytes INTEGER NOT NULL, characters INTEGER NOT NULL,
  chunks INTEGER NOT NULL, pages INTEGER NOT NULL, ingested_at TEXT NOT NULL, published_at REAL,
  table_id TEXT NOT NULL DEFAULT '', unreadable INTEGER NOT NULL DEFAULT 0,
  UNIQUE (collection, document_id));
CREATE TABLE texts (document INTEGER PRIMARY KEY REFERENCES documents ON DELETE CASCADE, text TEXT NOT NULL);
CREATE TABLE metadata (
  document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE, key TEXT NOT NULL, value TEXT NOT NULL,
  number REAL, PRIMARY KEY (document, key)) WITHOUT ROWID;
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  collection INTEGER NOT NULL, chunk_id TEXT NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL,
  page INTEGER NOT NULL, headings TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX chunks_by_document ON chunks (document);
CREATE INDEX chunks_by_collection ON chunks (collection);
CREATE INDEX chunks_by_name ON chunks (chunk_id);
CREATE TABLE vectors (chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, vector BLOB NOT NULL);
CREATE TABLE tokens (
  chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, digest TEXT NOT NULL, ids BLOB NOT NULL);
CREATE INDEX tokens_by_digest ON tokens (digest);
{migrate.ADDED_IN_2}
"""


def lexicon(collection: int) -> str:
    """Name of a collection's lexical table."""
    return f"lexicon_{collection:d}"


def create_lexicon(connection: sqlite3.Connection, collection: int) -> None:
    """Makes a collection's lexical table: BM25, where a word of title or headings counts half as much again.

    docs/quality.md says why.
    """
    name = lexicon(collection)
    connection.execute(f'CREATE VIRTUAL TABLE {name} USING fts5(headings, body, tokenize="{lexical.TOKENIZER}")')
    connection.execute(f"INSERT INTO {name}({name}, rank) VALUES ('rank', 'bm25(1.5, 1.0)')")


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Makes the tables in a new database, brings an old one up to this version, or checks that it is of it.

    Raises PreconditionFailed for a database of a newer version, DataLoss for one that is another program's.
    """
    if _version(connection) == 0 and not _tables(connection):
        _create(connection)
        return
    check(connection, path)
    if _version(connection) < VERSION:
        migrate.upgrade(connection, _version(connection))


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raises PreconditionFailed for a database of a newer version, DataLoss for one that is another program's."""
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if application != APPLICATION_ID:
        raise DataLoss(f"{path} is not a CiteMesh store", "move it away, or set another state directory")
    if _version(connection) > VERSION:
        raise too_new(path, _version(connection))


def too_new(path: Path, version: int) -> PreconditionFailed:
    """The error for a database that this program is too old for."""
    return PreconditionFailed(
        "STORE_TOO_NEW",
        f"{path} has schema version {version}, this program knows up to {VERSION}",
        "start the newer CiteMesh that wrote it",
    )


def drop_lexicon(connection: sqlite3.Connection, collection: int) -> None:
    """Drops a collection's lexical table."""
    connection.execute(f"DROP TABLE IF EXISTS {lexicon(collection)}")


def words_are_current(connection: sqlite3.Connection) -> bool:
    """Whether the lexical tables hold the words that this program would make of the texts."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'lexical_version'").fetchone()
    return bool(row[0] == str(lexical.VERSION))


def mark_words_current(connection: sqlite3.Connection) -> None:
    """Records that the lexical tables hold this program's words."""
    connection.execute("UPDATE meta SET value = ? WHERE key = 'lexical_version'", (str(lexical.VERSION),))


def store_id(connection: sqlite3.Connection) -> str:
    """The store's random id."""
    return str(connection.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchone()[0])


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _tables(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0])


def _create(connection: sqlite3.Connection) -> None:
    meta = {"store_id": secrets.token_hex(16), "lexical_version": str(lexical.VERSION)}
    rows = ", ".join(f"('{key}', '{value}')" for key, value in meta.items())
    connection.executescript(
        f"BEGIN IMMEDIATE; {TABLES} INSERT INTO meta VALUES {rows};"
        f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
    )
