"""Consistent copies of a store while it serves, by SQLite's backup: a directory with a database and its manifest."""

import secrets
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from citemesh.errors import PreconditionFailed
from citemesh.models.manifest import sha256_of
from services.retrieval.engines.durable.store import schema
from services.retrieval.engines.durable.store.backup import manifest
from services.retrieval.engines.durable.store.backup.manifest import CopiedCollection, CopyManifest
from services.retrieval.engines.durable.store.faults import translated
from services.retrieval.engines.durable.store.tables import changes, collections
from services.retrieval.types.collection import StoreCopy

_PREFIX = ".unfinished-"


def copy(connection: sqlite3.Connection, folder: Path, collection: str) -> StoreCopy:
    """Copies a collection, or all for an empty name, into a new directory of the folder.

    Raises NotFound for an unknown collection, Unavailable where the disk is full, PreconditionFailed for a folder that
    can't be written. An unfinished copy is removed.
    """
    if collection:
        collections.find(connection, collection)
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{collection or 'all'}-{secrets.token_hex(3)}"
    unfinished, final = folder / f"{_PREFIX}{name}", folder / name
    try:
        unfinished.mkdir(parents=True, mode=0o700)
        manifest_of_copy = _fill(connection, unfinished, collection)
        unfinished.rename(final)
        manifest.sync(folder)
    except OSError as error:
        fault = f"no copy can be made in {folder}: {error.strerror}"
        raise PreconditionFailed("SNAPSHOT_FAILED", fault, "check the path, its rights and its space") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return StoreCopy(final, manifest_of_copy.sequence, manifest_of_copy.documents, manifest_of_copy.chunks)


def sweep(folder: Path) -> None:
    """Removes copies that a crash left unfinished."""
    for path in folder.glob(f"{_PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)


def _fill(connection: sqlite3.Connection, unfinished: Path, collection: str) -> CopyManifest:
    path = unfinished / manifest.DATABASE
    with translated(path), closing(sqlite3.connect(path, isolation_level=None)) as target:
        connection.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
        if collection:
            _remove_others(target, collection)
        sequence, mark = changes.last(target)
        copied = tuple(_collections(target))
    manifest.sync(path)
    now = datetime.now(UTC).isoformat()
    size, sha256 = path.stat().st_size, sha256_of(path)
    manifest_of_copy = CopyManifest(schema.VERSION, sequence, mark, now, copied, size, sha256)
    manifest.write(unfinished, manifest_of_copy)
    manifest.sync(unfinished)
    return manifest_of_copy


def _remove_others(target: sqlite3.Connection, collection: str) -> None:
    """Removes all other collections from a copy, their bytes too."""
    target.execute("PRAGMA foreign_keys = ON")
    for row in collections.rows(target):
        if row.name != collection:
            collections.drop(target, row.name)
    target.execute("VACUUM")


def _collections(target: sqlite3.Connection) -> list[CopiedCollection]:
    rows = target.execute("SELECT name, model, dimension, documents, chunks, unreadable FROM collections ORDER BY name")
    return [CopiedCollection(*row) for row in rows]
