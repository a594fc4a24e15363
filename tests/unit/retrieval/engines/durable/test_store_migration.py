"""A store of an older version is brought up in place, with all that it holds."""

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.retrieval.engines.durable.engine import DurableEngine
from services.retrieval.engines.durable.store import migrate, schema
from services.retrieval.search import lexical
from services.retrieval.types.query import Condition, Filter
from tests.contract.retrieval.retrieval_engines import EMBEDDING, ids_of, new_document, opened, search

VERSION_1 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE changes (sequence INTEGER PRIMARY KEY AUTOINCREMENT, mark BLOB NOT NULL);
CREATE TABLE collections (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, model TEXT NOT NULL, digest TEXT NOT NULL,
  dimension INTEGER NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
  document_id TEXT NOT NULL, title TEXT NOT NULL, uri TEXT NOT NULL, domain TEXT NOT NULL, source_type TEXT NOT NULL,
  language TEXT NOT NULL, content_sha256 TEXT NOT NULL, size_bytes INTEGER NOT NULL, characters INTEGER NOT NULL,
  chunks INTEGER NOT NULL, pages INTEGER NOT NULL, ingested_at TEXT NOT NULL, published_at REAL,
  UNIQUE (collection, document_id));
CREATE TABLE texts (document INTEGER PRIMARY KEY REFERENCES documents ON DELETE CASCADE, text TEXT NOT NULL);
CREATE TABLE metadata (
  document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE, key TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (document, key)) WITHOUT ROWID;
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
CREATE VIRTUAL TABLE lexicon_1 USING fts5(headings, body, tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO lexicon_1(lexicon_1, rank) VALUES ('rank', 'bm25(0.5, 1.0)');
"""
TEXT = " ".join(f"part {n} speaks of the harbour and word{n}." for n in range(40))


def write_version_1(directory: Path, documents: int) -> int:
    """A store as the first version wrote it; returns its chunks."""
    directory.mkdir()
    connection = sqlite3.connect(directory / "store.db", isolation_level=None)
    connection.executescript(VERSION_1)
    connection.execute(
        "INSERT INTO meta VALUES ('store_id', ?), ('lexical_version', ?)", ("ab" * 16, str(lexical.VERSION))
    )
    connection.execute("INSERT INTO changes (mark) VALUES (?)", (b"12345678",))
    made = (1, "default", EMBEDDING.model, EMBEDDING.digest, EMBEDDING.dimension, datetime.now(UTC).isoformat())
    connection.execute("INSERT INTO collections VALUES (?, ?, ?, ?, ?, ?)", made)
    chunks = sum(write_document(connection, n) for n in range(documents))
    connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    return chunks


def write_document(connection: sqlite3.Connection, n: int) -> int:
    new = new_document(f"{TEXT} number{n}", f"d{n}", metadata={"year": str(2000 + n), "name": f"n{n}"})
    info = new.info
    row = (1, info.document_id, info.title, info.uri, "", info.source_type, info.language, info.content_sha256,
           info.size_bytes, info.characters, info.chunks, info.pages, info.ingested_at.isoformat(), None)  # fmt: skip
    marks = "NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
    number = connection.execute(f"INSERT INTO documents VALUES ({marks})", row).lastrowid  # noqa: S608  # marks alone
    connection.execute("INSERT INTO texts VALUES (?, ?)", (number, new.text))
    connection.executemany("INSERT INTO metadata VALUES (?, ?, ?)", [(number, *it) for it in info.metadata.items()])
    for chunk, vector in zip(new.chunks, new.vectors, strict=True):
        place = chunk.place
        values = (number, 1, chunk.chunk_id, place.start, place.end, place.page, json.dumps(place.headings), chunk.text)
        at = connection.execute("INSERT INTO chunks VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", values).lastrowid
        connection.execute("INSERT INTO vectors VALUES (?, ?)", (at, vector.tobytes()))
        words = (at, lexical.indexed(info.title), lexical.indexed(chunk.text))
        connection.execute("INSERT INTO lexicon_1 (rowid, headings, body) VALUES (?, ?, ?)", words)
    return len(new.chunks)


def columns(path: Path) -> dict[str, set[tuple[object, ...]]]:
    """Columns, indexes and triggers of every table, whatever their order."""
    connection = sqlite3.connect(path)
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: {row[1:5] for row in connection.execute(f"PRAGMA table_info({name})")} for name in names}
    rest = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger')")
    found["rest"] = set(rest.fetchall())
    connection.close()
    return found


async def test_a_store_of_version_1_is_brought_up_in_place(tmp_path: Path) -> None:
    chunks = write_version_1(tmp_path / "old", 6)
    async with opened("durable", tmp_path / "old") as engine:
        info = await engine.collection("default")
        assert (info.documents, info.chunks, info.unreadable_chunks) == (6, chunks, 0)
        assert chunks > 12
        assert (await search(engine, "harbour")).sequence == 1
        for n in range(6):
            assert ids_of(await search(engine, f"number{n}", "lexical")) == [f"d{n}"]
            assert ids_of(await search(engine, f"{TEXT} number{n}", "dense", 1000))
            assert (await engine.document("default", f"d{n}"))[1].endswith(f"number{n}")
        late = Filter(conditions=[Condition("year", numbers=(2004, None))])
        assert set(ids_of(await search(engine, "harbour", top_k=100, chosen=late, keep_duplicates=True))) == {
            "d4",
            "d5",
        }
        assert sum(len(it.duplicates) for it in (await search(engine, "harbour", top_k=100)).chunks) > 0
        await engine.put(new_document("a row", "row", table_id="table"))
        await engine.delete("default", ["d0", "table"])
        assert (await engine.collection("default")).documents == 5


async def test_an_old_store_ends_up_as_a_new_one(tmp_path: Path) -> None:
    write_version_1(tmp_path / "old", 1)
    for name in ("old", "new"):
        async with opened("durable", tmp_path / name):
            pass
    assert columns(tmp_path / "old" / "store.db") == columns(tmp_path / "new" / "store.db")


async def test_a_migration_that_fails_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_version_1(tmp_path / "old", 2)
    before = columns(tmp_path / "old" / "store.db")
    monkeypatch.setitem(migrate._STEPS, 1, migrate._STEPS[1] + "CREATE TABLE documents (x);")
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        await DurableEngine(tmp_path / "old").open()
    assert columns(tmp_path / "old" / "store.db") == before
    monkeypatch.undo()
    async with opened("durable", tmp_path / "old") as engine:
        assert (await engine.collection("default")).documents == 2
