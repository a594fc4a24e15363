"""Restores a store from a copy, which is proved before."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from citemesh.errors import DataLoss, PreconditionFailed
from citemesh.models.manifest import sha256_of
from services.retrieval.engines.durable.store import schema
from services.retrieval.engines.durable.store.backup import manifest
from services.retrieval.engines.durable.store.backup.manifest import CopyManifest
from services.retrieval.engines.durable.store.backup.proof import Proof, prove
from services.retrieval.engines.durable.store.faults import translated
from services.retrieval.engines.durable.store.lock import StoreLock
from services.retrieval.engines.durable.store.tables import changes

_REMEDY = "take another copy"


def verify(copy: Path) -> tuple[CopyManifest, Proof]:
    """Proves a copy in place, without a change to it.

    Raises DataLoss for one that is torn, foreign or not whole, PreconditionFailed for one of a newer version.
    """
    expected = _manifest(copy)
    database = copy / manifest.DATABASE
    with (
        translated(database),
        closing(sqlite3.connect(f"file:{_quoted(database)}?immutable=1", uri=True)) as connection,
    ):
        schema.check(connection, database)
        return expected, _proved(connection, database, expected)


def restore(copy: Path, directory: Path) -> tuple[CopyManifest, Proof]:
    """Proves a copy and places it into a store's directory that is empty or not there.

    Raises as verify does, and PreconditionFailed for a directory that holds something, is in use or can't be written.
    """
    expected, proof = verify(copy)
    with _empty(directory):
        unfinished = directory / f"{manifest.DATABASE}.unfinished"
        try:
            shutil.copyfile(copy / manifest.DATABASE, unfinished)
            if sha256_of(unfinished) != expected.sha256:
                raise DataLoss(f"{unfinished} is not what was copied", "check the disk")
            manifest.sync(unfinished)
            unfinished.rename(directory / manifest.DATABASE)
            manifest.sync(directory)
        finally:
            unfinished.unlink(missing_ok=True)
    return expected, proof


def _manifest(copy: Path) -> CopyManifest:
    """Reads the manifest and checks that its database file is as it says."""
    expected, database = manifest.read(copy), copy / manifest.DATABASE
    if expected.schema > schema.VERSION:
        raise schema.too_new(database, expected.schema)
    if not database.is_file():
        raise DataLoss(f"{database} is missing", _REMEDY)
    if database.stat().st_size != expected.size:
        raise DataLoss(f"{database} has {database.stat().st_size} bytes, its manifest says {expected.size}", _REMEDY)
    if sha256_of(database) != expected.sha256:
        raise DataLoss(f"{database} has another hash than its manifest says", _REMEDY)
    return expected


def _proved(connection: sqlite3.Connection, database: Path, expected: CopyManifest) -> Proof:
    if changes.last(connection) != (expected.sequence, expected.mark):
        raise DataLoss(f"{database} holds another last change than its manifest says", _REMEDY)
    proof = prove(connection, database)
    if proof.collections != expected.collections:
        raise DataLoss(f"{database} holds other collections than its manifest says", _REMEDY)
    return proof


@contextmanager
def _empty(directory: Path) -> Iterator[None]:
    """Holds an empty store directory, so that no service opens it meanwhile."""
    lock = StoreLock(directory / "lock")
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire()
        present = sorted(path.name for path in directory.iterdir() if path.name != "lock")
        if present:
            fault = f"the store {directory} is not empty: it holds {', '.join(present[:3])}"
            raise PreconditionFailed("STORE_NOT_EMPTY", fault, "move it away, or name another directory")
        yield
    except OSError as error:
        fault = f"the store {directory} can't be made: {error.strerror}"
        raise PreconditionFailed("STORE_UNUSABLE", fault, "check the path, its rights and its space") from None
    finally:
        lock.release()


def _quoted(path: Path) -> str:
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
