"""Translates SQLite's errors into those that callers get."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citemesh.errors import CiteMeshError, DataLoss, PreconditionFailed, Unavailable

_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_READ_ONLY = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN}
_PASSING = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_INTERRUPT}


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns SQLite's errors into ours; those that would be a fault of this program pass through."""
    try:
        yield
    except sqlite3.Error as error:
        translation = _translate(error, path)
        if translation is None:
            raise
        raise translation from error


def _translate(error: sqlite3.Error, path: Path) -> CiteMeshError | None:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return Unavailable("the store", 30.0, f"the disk of {path} is full: free some space")
    if code in _CORRUPT:
        return DataLoss(f"{path} can't be read: {error}", "restore it from a snapshot")
    if code in _READ_ONLY:
        return PreconditionFailed("STORE_READ_ONLY", f"{path} can't be opened or written", "check its owner and rights")
    return Unavailable("the store", 1.0, str(error)) if code in _PASSING else None
