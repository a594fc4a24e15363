"""One index a collection: read from its snapshot, brought up to the store on start, written out again."""

import logging
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from services.retrieval.engine import Vector
from services.retrieval.index import snapshot
from services.retrieval.index.vectors import VectorIndex
from services.retrieval.store import changes, vectors
from services.retrieval.store.collections import Row
from services.retrieval.store.schema import store_id

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexChange:
    """Chunks that a committed change added, with vectors of shape (added, dimension), and those it removed."""

    added: Sequence[int]
    vectors: Vector
    removed: Sequence[int]


class IndexKeeper:
    """The indexes of all collections. All but `of` runs in the store's writer thread."""

    def __init__(self, directory: Path, snapshot_after: int) -> None:
        self._directory = directory
        self._snapshot_after = snapshot_after
        self._indexes: dict[int, VectorIndex] = {}
        self._rows: dict[int, Row] = {}
        self._unsaved: dict[int, int] = {}
        self._guard = threading.Lock()

    def of(self, row: Row) -> VectorIndex:
        """A collection's index; an empty one for a new collection."""
        with self._guard:
            self._rows[row.id] = row
            return self._indexes.setdefault(row.id, VectorIndex(row.embedding.dimension))

    def load(self, connection: sqlite3.Connection, row: Row) -> None:
        """Makes a collection's index equal to the store, from its snapshot where that is good."""
        index = self._from_snapshot(connection, row) or self.of(row)
        stored, known = vectors.numbers_of(connection, row.id), index.numbers()
        missing = np.setdiff1d(stored, known, assume_unique=True)
        nothing = np.empty((0, index.dimension), np.float32)
        index.change(missing[:0], nothing, np.setdiff1d(known, stored).tolist())
        for numbers, found in vectors.read(connection, missing, index.dimension):
            index.change(numbers, found)
        with self._guard:
            self._indexes[row.id] = index
        self._unsaved[row.id] = len(missing)

    def apply(self, connection: sqlite3.Connection, row: Row, change: IndexChange) -> None:
        """Follows a committed change; writes a snapshot when enough has gathered."""
        self.of(row).change(np.array(change.added, dtype=np.int64), change.vectors, change.removed)
        unsaved = self._unsaved.get(row.id, 0) + len(change.added) + len(change.removed)
        self._unsaved[row.id] = unsaved
        if unsaved >= self._snapshot_after:
            self.save(connection, row)

    def save(self, connection: sqlite3.Connection, row: Row) -> None:
        """Writes a collection's snapshot. A failure is logged and tried again later: the store has everything."""
        self._unsaved[row.id] = 0
        try:
            change = snapshot.Change(*changes.last(connection))
            snapshot.write(self._path(row.id), self.of(row), _origin(connection, row), change)
        except OSError as error:
            log.warning("the snapshot of collection %r was not written: %s", row.name, error)

    def forget(self, row: Row) -> None:
        """Lets go of a collection that was dropped, and of its snapshot."""
        with self._guard:
            self._indexes.pop(row.id, None)
            self._rows.pop(row.id, None)
        self._unsaved.pop(row.id, None)
        for path in (self._path(row.id), self._path(row.id).with_suffix(".new")):
            path.unlink(missing_ok=True)

    def sweep(self, living: Sequence[Row]) -> None:
        """Removes snapshots of collections that are gone: a crash may come between a drop and their removal."""
        names = {self._path(row.id).name for row in living}
        for path in self._directory.glob("collection-*.faiss"):
            if path.name not in names:
                path.unlink(missing_ok=True)

    def save_all(self, connection: sqlite3.Connection) -> None:
        """Writes the snapshots of collections that changed since their last."""
        for row in list(self._rows.values()):
            if self._unsaved.get(row.id, 0):
                self.save(connection, row)

    def _from_snapshot(self, connection: sqlite3.Connection, row: Row) -> VectorIndex | None:
        self.of(row)
        try:
            index, change = snapshot.read(self._path(row.id), _origin(connection, row))
        except FileNotFoundError:
            return None
        except (snapshot.BadSnapshot, OSError) as error:
            log.warning("the snapshot of collection %r is built anew: %s", row.name, error)
            return None
        if change.sequence and changes.mark_of(connection, change.sequence) != change.mark:
            log.warning("the snapshot of collection %r is built anew: the store has another history", row.name)
            return None
        return index

    def _path(self, collection: int) -> Path:
        return self._directory / f"collection-{collection}.faiss"


def _origin(connection: sqlite3.Connection, row: Row) -> snapshot.Origin:
    return snapshot.Origin(store_id(connection), row.id, row.embedding.digest, row.embedding.dimension)
