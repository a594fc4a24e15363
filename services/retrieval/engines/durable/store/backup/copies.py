"""Consistent copies of a store while it serves, by SQLite's backup: a directory with a database and its manifest."""

import secrets
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from citemesh.errors import PreconditionFailed
from citemesh.models.manifest import sha256_of
from services.retrieval.engines.durable.store import changes, schema
from services.retrieval.engines.durable.store.backup import manifest
from services.retrieval.engines.durable.store.backup.manifest import CopyContents, CopyManifest
from services.retrieval.engines.durable.store.faults import translated
from services.retrieval.engines.durable.store.tables import collections
from services.retrieval.types.collection import StoreCopy

_UNFINISHED = ".unfinished-"


def copy(connection: sqlite3.Connection, folder: Path, collection: str) -> StoreCopy:
    """Copies a collection, or all for an empty name, into a new directory of the folder.

    Raises NotFound for an unknown collection, Unavailable where the disk is full, PreconditionFailed for a folder that
    can't be written. What was begun and not finished is removed.
    """
    if collection:
        collections.find(connection, collection)
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{collection or 'all'}-{secrets.token_hex(3)}"
    aside, final = folder / f"{_UNFINISHED}{name}", folder / name
    try:
        aside.mkdir(parents=True, mode=0o700)
        made = _fill(connection, aside, collection)
        aside.rename(final)
        manifest.sync(folder)
    except OSError as error:
        fault = f"no copy can be made in {folder}: {error.strerror}"
        raise PreconditionFailed("SNAPSHOT_FAILED", fault, "check the path, its rights and its space") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return StoreCopy(final, made.sequence, made.documents, made.chunks)


def sweep(folder: Path) -> None:
    """Removes what a crash left unfinished."""
    for path in folder.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(path, ignore_errors=True)


def _fill(connection: sqlite3.Connection, aside: Path, collection: str) -> CopyManifest:
    path = aside / manifest.DATABASE
    with translated(path), closing(sqlite3.connect(path, isolation_level=None)) as target:
        connection.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
        if collection:
            _keep_only(target, collection)
        sequence, mark = changes.last(target)
        held = tuple(_held(target))
    manifest.sync(path)
    now = datetime.now(UTC).isoformat()
    size, sha256 = path.stat().st_size, sha256_of(path)
    made = CopyManifest(schema.VERSION, sequence, mark, now, held, size, sha256)
    manifest.write(aside, made)
    manifest.sync(aside)
    return made


def _keep_only(target: sqlite3.Connection, collection: str) -> None:
    """Takes all other collections out of a copy; their bytes too."""
    target.execute("PRAGMA foreign_keys = ON")
    for row in collections.rows(target):
        if row.name != collection:
            collections.drop(target, row.name)
    target.execute("VACUUM")


def _held(target: sqlite3.Connection) -> list[CopyContents]:
    rows = target.execute("SELECT name, model, dimension, documents, chunks, unreadable FROM collections ORDER BY name")
    return [CopyContents(*row) for row in rows]
