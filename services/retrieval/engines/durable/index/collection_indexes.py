"""One index for each collection: read from its snapshot, made equal to the store on start, then changed with it."""

import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from citemesh.errors import PreconditionFailed
from services.retrieval.engines.durable.index import snapshot
from services.retrieval.engines.durable.index.kinds import IndexChoice
from services.retrieval.engines.durable.index.segment import Segment
from services.retrieval.engines.durable.index.vectors import VectorIndex
from services.retrieval.engines.durable.store.schema import store_id
from services.retrieval.engines.durable.store.tables import changes, collections, vectors
from services.retrieval.engines.durable.store.tables.collections import CollectionRow
from services.retrieval.types.chunk import Vector

log = logging.getLogger(__name__)
_COMPACT_SHARE = 0.1
_USUAL_DIMENSION = 384
_MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class IndexChange:
    """Chunks that a committed change added, with vectors of shape (added, dimension), and those it removed."""

    added: Sequence[int]
    vectors: Vector
    removed: Sequence[int]

    @classmethod
    def of(cls, row: CollectionRow, removed: Sequence[int] = ()) -> "IndexChange":
        """A change that adds nothing."""
        return cls((), np.empty((0, row.embedding.dimension), np.float32), removed)

    @classmethod
    def joined(cls, changes: Sequence["IndexChange"]) -> "IndexChange":
        """Joins several changes; a later one may remove what an earlier one added."""
        if len(changes) == 1:
            return changes[0]
        added = [number for change in changes for number in change.added]
        removed = [number for change in changes for number in change.removed]
        return cls(added, np.concatenate([change.vectors for change in changes]), removed)


@dataclass(slots=True)
class CollectionIndex:
    """A collection's index, changed chunks since it was last written out, and the last change that it follows."""

    row: CollectionRow
    index: VectorIndex
    unsaved: int = 0
    followed: int = 0


class CollectionIndexes:
    """The indexes of all collections. `load`, `apply` and `forget` run in the store's writer thread alone."""

    def __init__(self, directory: Path, snapshot_after: int, choice: IndexChoice) -> None:
        self.snapshot_after = snapshot_after
        self.choice = choice
        self._directory = directory
        self._indexes: dict[int, CollectionIndex] = {}
        self._guard = threading.Lock()
        self.changed: Callable[[], None] = lambda: None
        """Called after a change."""

    def of(self, row: CollectionRow) -> VectorIndex:
        """A collection's index; an empty one for a new collection."""
        return self._of(row).index

    def followed(self, row: CollectionRow) -> int:
        """The last change that a collection's index holds: for a moment behind the store's."""
        return self._of(row).followed

    def all(self) -> list[CollectionIndex]:
        """All indexes."""
        with self._guard:
            return list(self._indexes.values())

    def check(self, rows: Sequence[CollectionRow]) -> None:
        """Raises PreconditionFailed where the settings describe an index that FAISS can't make."""
        for dimension in {row.embedding.dimension for row in rows} or {_USUAL_DIMENSION}:
            try:
                Segment.empty(self.choice.kind_for(_MANY), dimension, self.choice)
            except ValueError as error:
                remedy = "change CITEMESH_RETRIEVAL_INDEX_*, or leave it out"
                raise PreconditionFailed("INDEX_UNUSABLE", str(error), remedy) from None

    def load(self, connection: sqlite3.Connection, row: CollectionRow) -> None:
        """Makes a collection's index equal to the store, from its snapshot where that can be used."""
        index = VectorIndex(row.embedding.dimension, self.choice, self._from_snapshot(connection, row))
        in_store, in_index = vectors.numbers_of(connection, row.id), index.numbers()
        missing = np.setdiff1d(in_store, in_index, assume_unique=True)
        nothing = np.empty((0, index.dimension), np.float32)
        index.change(missing[:0], nothing, np.setdiff1d(in_index, in_store).tolist())
        for numbers, portion in vectors.read(connection, missing, index.dimension):
            index.change(numbers, portion)
        with self._guard:
            self._indexes[row.id] = CollectionIndex(row, index, len(missing), collections.changed(connection, row))

    def apply(self, row: CollectionRow, change: IndexChange, sequence: int) -> None:
        """Applies a committed change, of that number."""
        collection = self._of(row)
        collection.index.change(np.array(change.added, dtype=np.int64), change.vectors, change.removed)
        collection.unsaved += len(change.added) + len(change.removed)
        collection.followed = sequence
        self.changed()

    def forget(self, row: CollectionRow) -> None:
        """Drops the index of a deleted collection, and its snapshot."""
        with self._guard:
            self._indexes.pop(row.id, None)
        self._path(row).unlink(missing_ok=True)

    def sweep(self, living: Sequence[CollectionRow]) -> None:
        """Removes files of deleted collections and half-written ones, which a crash may leave."""
        names = {self._path(row).name for row in living}
        for path in self._directory.glob("collection-*.*"):
            if path.name not in names:
                path.unlink(missing_ok=True)

    def better_kind(self, collection: CollectionIndex) -> str:
        """The kind that an index should be rebuilt as; empty where it needs no rebuild."""
        index = collection.index
        kind = self.choice.kind_for(len(index), index.kind)
        crowded = index.dead >= max(self.choice.compact_from, _COMPACT_SHARE * (len(index) + index.dead))
        return kind if kind != index.kind or crowded else ""

    def save(self, collection: CollectionIndex, read: Callable[[Callable[[sqlite3.Connection], None]], None]) -> None:
        """Writes an index out. A failure is logged and tried again later: the store has everything.

        Changes wait meanwhile, so that the snapshot names at least the last one that it holds; searches don't.
        """
        collection.unsaved = 0
        try:
            collection.index.with_main(
                lambda segment: read(lambda connection: self._write(connection, collection.row, segment))
            )
        except OSError as error:
            log.warning("the snapshot of collection %r was not written: %s", collection.row.name, error)

    def save_all(self, connection: sqlite3.Connection) -> None:
        """Writes out the indexes that changed since their last snapshots."""
        for collection in self.all():
            if collection.unsaved:
                self.save(collection, lambda work: work(connection))

    def _write(self, connection: sqlite3.Connection, row: CollectionRow, segment: Segment) -> None:
        change = snapshot.Change(*changes.last(connection))
        snapshot.write(self._path(row), segment, _origin(connection, row), change)

    def _of(self, row: CollectionRow) -> CollectionIndex:
        with self._guard:
            if row.id not in self._indexes:
                self._indexes[row.id] = CollectionIndex(row, VectorIndex(row.embedding.dimension, self.choice))
            return self._indexes[row.id]

    def _from_snapshot(self, connection: sqlite3.Connection, row: CollectionRow) -> Segment | None:
        try:
            segment, change = snapshot.read(self._path(row), _origin(connection, row), self.choice)
        except FileNotFoundError:
            return None
        except (snapshot.BadSnapshot, OSError) as error:
            log.warning("the snapshot of collection %r is built anew: %s", row.name, error)
            return None
        if change.sequence and changes.mark_of(connection, change.sequence) != change.mark:
            log.warning("the snapshot of collection %r is built anew: the store has another history", row.name)
            return None
        return segment

    def _path(self, row: CollectionRow) -> Path:
        return self._directory / f"collection-{row.id}.faiss"


def _origin(connection: sqlite3.Connection, row: CollectionRow) -> snapshot.Origin:
    return snapshot.Origin(store_id(connection), row.id, row.embedding.digest, row.embedding.dimension)
