"""Maintains the indexes in the background: moves new vectors, rebuilds, writes snapshots. Nobody waits for it."""

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol, TypeVar

import faiss

from services.retrieval.engines.durable.index.bitmap import Numbers
from services.retrieval.engines.durable.index.collection_indexes import CollectionIndex, CollectionIndexes
from services.retrieval.engines.durable.store.tables import vectors
from services.retrieval.types.chunk import Vector

T = TypeVar("T")
log = logging.getLogger(__name__)
_LEAST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0
_AFTER_FAILURE_S = 30.0
_NICENESS = 10


class ReadStore(Protocol):
    """Runs work on a connection that reads the store, in the calling thread."""

    def __call__(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Returns what the work returned."""


class IndexMaintenance:
    """One thread of low priority for the indexes of all collections.

    Args:
        read: reads the store.
        threads: processor threads that building an index takes.
    """

    def __init__(self, indexes: CollectionIndexes, read: ReadStore, threads: int = 1) -> None:
        self._indexes = indexes
        self._read = read
        self._threads = threads
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._rounds = threading.Condition()
        self._idle_rounds = 0
        self._failed_at: dict[int, float] = {}
        self._thread = threading.Thread(target=self._run, name="index-maintenance", daemon=True)

    def start(self) -> None:
        """Begins to maintain."""
        self._indexes.changed = self._wake.set
        self._thread.start()

    def stop(self) -> None:
        """Ends; unfinished work is dropped, and done again after the next start."""
        self._stopping.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()

    def settle(self, timeout_s: float) -> bool:
        """Waits until a whole round found nothing to do; False where that took too long."""
        deadline = time.monotonic() + timeout_s
        with self._rounds:
            rounds = self._idle_rounds
            while self._idle_rounds < rounds + 2 and time.monotonic() < deadline:
                self._wake.set()
                self._rounds.wait(_LEAST_PAUSE_S)
            return self._idle_rounds >= rounds + 2

    def _run(self) -> None:
        _lower_priority(self._threads)
        while not self._stopping.is_set():
            busy = [self._maintain(collection) for collection in self._indexes.all()]
            if any(busy):
                continue
            with self._rounds:
                self._idle_rounds += 1
                self._rounds.notify_all()
            self._stopping.wait(_LEAST_PAUSE_S)
            self._wake.wait(_LONGEST_PAUSE_S)
            self._wake.clear()

    def _maintain(self, collection: CollectionIndex) -> bool:
        """Returns whether there was something to do. A failure is logged and tried again later."""
        if time.monotonic() < self._failed_at.get(collection.row.id, float("-inf")) + _AFTER_FAILURE_S:
            return False
        try:
            return self._step(collection)
        except Exception:  # nothing that fails here may end the thread, and nobody else would hear of it
            log.exception("the index of collection %r is maintained later", collection.row.name)
            self._failed_at[collection.row.id] = time.monotonic()
            return False

    def _step(self, collection: CollectionIndex) -> bool:
        if kind := self._indexes.better_kind(collection):
            self._rebuild(collection, kind)
        elif collection.index.unmoved >= self._indexes.choice.move_from:
            collection.index.move(self._stopping.is_set)
        elif collection.unsaved >= self._indexes.snapshot_after:
            self._indexes.save(collection, self._read)
        else:
            return False
        return True

    def _rebuild(self, collection: CollectionIndex, kind: str) -> None:
        start_s, before = time.monotonic(), collection.index.kind
        if collection.index.rebuild(kind, lambda numbers: self._vectors(collection, numbers), self._stopping.is_set):
            collection.unsaved = max(collection.unsaved, self._indexes.snapshot_after)
            duration_s = time.monotonic() - start_s
            log.info("the index of collection %r: %s to %s in %.1f s", collection.row.name, before, kind, duration_s)

    def _vectors(self, collection: CollectionIndex, numbers: Numbers) -> Iterator[tuple[Numbers, Vector]]:
        """Reads vectors in portions, each in a transaction of its own."""
        for start in range(0, len(numbers), vectors.READ_AT_ONCE):
            portion = numbers[start : start + vectors.READ_AT_ONCE]
            yield from self._read(partial(_portion, portion, collection.index.dimension))


def _portion(numbers: Numbers, dimension: int, connection: sqlite3.Connection) -> list[tuple[Numbers, Vector]]:
    return list(vectors.read(connection, numbers, dimension))


def _lower_priority(threads: int) -> None:
    """Lets searches and embedding go first: on Linux, niceness and the number of threads concern this thread alone."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
    faiss.omp_set_num_threads(threads)
