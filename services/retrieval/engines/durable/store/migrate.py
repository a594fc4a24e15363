"""Brings a database of an older version up to this one, in one transaction."""

import sqlite3

from services.retrieval.search.filter_values import number_of

# Version 2: tables whose rows are documents, chunks that a model can't read, token vectors, near-duplicates,
# numbers in metadata, and counts that are kept instead of counted.
ADDED_IN_2 = """
CREATE INDEX documents_by_table ON documents (collection, table_id) WHERE table_id <> '';
CREATE TABLE unreadable (chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE);
CREATE TABLE token_vectors (
  chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, digest TEXT NOT NULL, packed BLOB NOT NULL);
CREATE TABLE signatures (
  chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, version TEXT NOT NULL, signature BLOB NOT NULL);
CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN
  UPDATE collections SET documents = documents + 1, chunks = chunks + NEW.chunks,
    unreadable = unreadable + NEW.unreadable WHERE id = NEW.collection;
END;
CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
  UPDATE collections SET documents = documents - 1, chunks = chunks - OLD.chunks,
    unreadable = unreadable - OLD.unreadable WHERE id = OLD.collection;
END;
"""
_TO_2 = f"""
ALTER TABLE collections ADD COLUMN documents INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collections ADD COLUMN chunks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE collections ADD COLUMN unreadable INTEGER NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN table_id TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN unreadable INTEGER NOT NULL DEFAULT 0;
ALTER TABLE metadata ADD COLUMN number REAL;
UPDATE metadata SET number = number_of(value);
UPDATE collections SET
  documents = (SELECT COUNT(*) FROM documents d WHERE d.collection = collections.id),
  chunks = (SELECT COALESCE(SUM(d.chunks), 0) FROM documents d WHERE d.collection = collections.id);
{ADDED_IN_2}
"""
# Version 3: each collection knows the number of its last change.
_TO_3 = """
ALTER TABLE collections ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
UPDATE collections SET changed = (SELECT COALESCE(MAX(sequence), 0) FROM changes);
"""
_STEPS = {1: _TO_2, 2: _TO_3}


def upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Runs the steps from a version on. What fails leaves the database as it was."""
    connection.create_function("number_of", 1, number_of, deterministic=True)
    for step in range(version, max(_STEPS) + 1):
        try:
            connection.executescript(f"BEGIN IMMEDIATE; {_STEPS[step]} PRAGMA user_version = {step + 1}; COMMIT;")
        except BaseException:
            if connection.in_transaction:
                connection.rollback()
            raise
