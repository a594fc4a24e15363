"""Makes a store of a copy, and proves it before it takes its place."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from citemesh.errors import DataLoss, PreconditionFailed
from citemesh.models.manifest import sha256_of
from services.retrieval.engines.durable.store import changes, schema
from services.retrieval.engines.durable.store.backup import manifest
from services.retrieval.engines.durable.store.backup.manifest import CopyManifest
from services.retrieval.engines.durable.store.backup.proof import Proof, prove
from services.retrieval.engines.durable.store.faults import translated
from services.retrieval.engines.durable.store.lock import StoreLock

_REMEDY = "take another copy"


def verify(copy: Path) -> tuple[CopyManifest, Proof]:
    """Proves a copy where it lies, without a change to it.

    Raises DataLoss for one that is torn, foreign or not whole, PreconditionFailed for one of a newer version.
    """
    told = _told(copy)
    database = copy / manifest.DATABASE
    with translated(database), closing(sqlite3.connect(f"file:{_quoted(database)}?immutable=1", uri=True)) as found:
        schema.check(found, database)
        return told, _proved(found, database, told)


def restore(copy: Path, directory: Path) -> tuple[CopyManifest, Proof]:
    """Proves a copy and places it into a store's directory that is empty or not there.

    Raises as verify does, and PreconditionFailed for a directory that holds something, is in use or can't be written.
    """
    told, proof = verify(copy)
    with _empty(directory):
        aside = directory / f"{manifest.DATABASE}.unfinished"
        try:
            shutil.copyfile(copy / manifest.DATABASE, aside)
            if sha256_of(aside) != told.sha256:
                raise DataLoss(f"{aside} is not what was copied", "check the disk")
            manifest.sync(aside)
            aside.rename(directory / manifest.DATABASE)
            manifest.sync(directory)
        finally:
            aside.unlink(missing_ok=True)
    return told, proof


def _told(copy: Path) -> CopyManifest:
    """The manifest, whose file is as it says."""
    told, database = manifest.read(copy), copy / manifest.DATABASE
    if told.schema > schema.VERSION:
        raise schema.too_new(database, told.schema)
    if not database.is_file():
        raise DataLoss(f"{database} is missing", _REMEDY)
    if database.stat().st_size != told.size:
        raise DataLoss(f"{database} has {database.stat().st_size} bytes, its manifest says {told.size}", _REMEDY)
    if sha256_of(database) != told.sha256:
        raise DataLoss(f"{database} has another hash than its manifest says", _REMEDY)
    return told


def _proved(found: sqlite3.Connection, database: Path, told: CopyManifest) -> Proof:
    if changes.last(found) != (told.sequence, told.mark):
        raise DataLoss(f"{database} holds another last change than its manifest says", _REMEDY)
    proof = prove(found, database)
    if proof.collections != told.collections:
        raise DataLoss(f"{database} holds other collections than its manifest says", _REMEDY)
    return proof


@contextmanager
def _empty(directory: Path) -> Iterator[None]:
    """Holds an empty store directory, so that no service opens it meanwhile."""
    lock = StoreLock(directory / "lock")
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire()
        held = sorted(path.name for path in directory.iterdir() if path.name != "lock")
        if held:
            fault = f"the store {directory} is not empty: it holds {', '.join(held[:3])}"
            raise PreconditionFailed("STORE_NOT_EMPTY", fault, "move it away, or name another directory")
        yield
    except OSError as error:
        fault = f"the store {directory} can't be made: {error.strerror}"
        raise PreconditionFailed("STORE_UNUSABLE", fault, "check the path, its rights and its space") from None
    finally:
        lock.release()


def _quoted(path: Path) -> str:
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
