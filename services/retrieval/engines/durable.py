"""The engine that keeps what it acknowledges: SQLite is the truth, FAISS is derived from it.

A change is committed by SQLite first, then followed by the index, then acknowledged. A search takes its numbers from
the index and everything else from the store, so that a deleted chunk can't be answered.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from citemesh.errors import NotSupported, PreconditionFailed, Unavailable
from services.retrieval.engine import (
    Chunk,
    CollectionInfo,
    Copied,
    Deleted,
    DocumentInfo,
    Embedding,
    Found,
    NewDocument,
    Query,
    Results,
    TokenIds,
)
from services.retrieval.fuse import EVEN, Fused, Weights, fuse, rank
from services.retrieval.index.keeper import IndexChange, IndexKeeper
from services.retrieval.store import changes, chunks, collections, documents, schema
from services.retrieval.store.collections import Row
from services.retrieval.store.database import Database, Transaction
from services.retrieval.store.lock import StoreLock

T = TypeVar("T")
_SEARCH_TRIES = 3


class DurableEngine:
    """Engine over one directory. snapshot_after: changed chunks after which an index is written out."""

    def __init__(
        self,
        directory: Path,
        weights: Weights = EVEN,
        candidates: int = 100,
        snapshot_after: int = 20_000,
        readers: int = 4,
    ) -> None:
        self._directory = directory
        self._weights = weights
        self._candidates = candidates
        self._readers = readers
        self._lock = StoreLock(directory / "lock")
        self._indexes = IndexKeeper(directory, snapshot_after)
        self._database: Database | None = None

    async def open(self) -> None:
        """Takes the lock, checks the schema and brings the indexes up to the store."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.acquire()
        except OSError as error:
            fault = f"the store {self._directory} can't be made or opened: {error.strerror}"
            raise PreconditionFailed("STORE_UNUSABLE", fault, "check the path, its owner and rights") from None
        self._database = Database(self._directory / "store.db", self._readers)
        try:
            await self._database.write(self._start)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Writes the snapshots and frees the store."""
        if self._database is not None:
            await self._database.close(last=self._indexes.save_all)
            self._database = None
        self._lock.release()

    async def healthy(self) -> bool:
        """Whether the store answers."""
        return await self._read(changes.last) is not None

    async def create(self, name: str, embedding: Embedding) -> CollectionInfo:
        """Makes a collection."""

        def work(connection: sqlite3.Connection) -> CollectionInfo:
            with Transaction(connection):
                collections.create(connection, name, embedding)
                changes.begin(connection)
            return collections.info(connection, name)

        return await self._write(work)

    async def collection(self, name: str) -> CollectionInfo:
        """Reads a collection."""
        return await self._read(lambda connection: collections.info(connection, name))

    async def embedding(self, name: str) -> Embedding:
        """Reads what a collection is fixed to."""
        return await self._read(lambda connection: collections.find(connection, name).embedding)

    async def collections(self, after: str, limit: int) -> tuple[CollectionInfo, ...]:
        """Lists collections."""
        return await self._read(lambda connection: collections.page(connection, after, limit))

    async def put(self, document: NewDocument) -> int:
        """Stores or replaces a document."""

        def work(connection: sqlite3.Connection) -> int:
            words = chunks.words(document)
            with Transaction(connection):
                row = collections.find(connection, document.info.collection)
                collections.require(row, document.embedding)
                removed = documents.remove(connection, row.id, [document.info.document_id])
                number = documents.insert(connection, row.id, document)
                added = chunks.insert(connection, row.id, number, document, words)
                sequence = changes.begin(connection)
            self._indexes.apply(connection, row, IndexChange(added, document.vectors, _all(removed)))
            return sequence

        return await self._write(work)

    async def document(self, collection: str, document_id: str, with_text: bool = True) -> tuple[DocumentInfo, str]:
        """Reads a document and its text."""

        def work(connection: sqlite3.Connection) -> tuple[DocumentInfo, str]:
            connection.execute("BEGIN")
            row = collections.find(connection, collection)
            number, info = documents.find(connection, row.id, document_id)
            return info, documents.text(connection, number) if with_text else ""

        return await self._read(work)

    async def drop(self, name: str) -> int:
        """Deletes a collection."""
        raise NotSupported("DeleteCollection", "delete its documents with DeleteDocuments")

    async def snapshot(self, collection: str) -> Copied:
        """Copies what is kept."""
        raise NotSupported("Snapshot", "stop the service and copy its store")

    async def search_many(self, queries: Sequence[Query]) -> tuple[Results, ...]:
        """Finds chunks, one search after another."""
        return tuple([await self.search(query) for query in queries])

    async def documents(self, collection: str, after: str, limit: int, table_id: str = "") -> tuple[DocumentInfo, ...]:
        """Lists documents."""

        def work(connection: sqlite3.Connection) -> tuple[DocumentInfo, ...]:
            connection.execute("BEGIN")
            row = collections.find(connection, collection)
            return documents.page(connection, row.id, after, limit)

        return await self._read(work)

    async def delete(self, collection: str, document_ids: Sequence[str]) -> Deleted:
        """Deletes documents."""

        def work(connection: sqlite3.Connection) -> Deleted:
            with Transaction(connection):
                row = collections.find(connection, collection)
                removed = documents.remove(connection, row.id, document_ids)
                sequence = changes.begin(connection) if removed else changes.last(connection)[0]
            nothing = np.empty((0, row.embedding.dimension), np.float32)
            self._indexes.apply(connection, row, IndexChange([], nothing, _all(removed)))
            missing = tuple(name for name in dict.fromkeys(document_ids) if name not in removed)
            return Deleted(tuple(removed), missing, sequence)

        return await self._write(work)

    async def search(self, query: Query) -> Results:
        """Finds chunks; a search that a replacement overtook is done again."""

        def work(connection: sqlite3.Connection) -> Results:
            for _ in range(_SEARCH_TRIES):
                results, whole = self._search(connection, query)
                if whole:
                    break
            return results

        return await self._read(work)

    async def without_tokens(self, digest: str, limit: int) -> tuple[Chunk, ...]:
        """Chunks that lack token ids of a tokenizer."""
        return await self._read(lambda connection: chunks.without_tokens(connection, digest, limit))

    async def fill_tokens(self, tokens: Mapping[str, TokenIds]) -> None:
        """Stores token ids."""

        def work(connection: sqlite3.Connection) -> None:
            with Transaction(connection):
                chunks.fill_tokens(connection, tokens)

        await self._write(work)

    def _start(self, connection: sqlite3.Connection) -> None:
        schema.prepare(connection, self._directory / "store.db")
        if not schema.words_are_current(connection):
            with Transaction(connection):
                _index_words_anew(connection)
        for row in collections.rows(connection):
            self._indexes.load(connection, row)

    def _search(self, connection: sqlite3.Connection, query: Query) -> tuple[Results, bool]:
        """Results of one state of the store, and whether nothing vanished under the search."""
        connection.execute("BEGIN")
        try:
            sequence, _ = changes.last(connection)
            row = collections.find(connection, query.collection)
            best = self._rank(connection, row, query)
            known = chunks.read(connection, [item.key for item in best], query.with_token_ids)
        finally:
            connection.rollback()
        found = (Found(*known[item.key], item.score, item.dense, item.lexical) for item in best if item.key in known)
        return Results(tuple(found), sequence), len(known) == len(best)

    def _rank(self, connection: sqlite3.Connection, row: Row, query: Query) -> Sequence[Fused]:
        limit = max(self._candidates, 2 * query.top_k)
        dense = self._dense(connection, row, query, limit) if query.mode != "lexical" else {}
        if query.mode == "dense":
            return rank(dense, {}, query.top_k)
        lexical = chunks.lexical_scores(connection, row.id, query.text, query.filter, limit)
        if query.mode == "lexical":
            return rank({}, lexical, query.top_k)
        return fuse(dense, lexical, self._weights, query.top_k)

    def _dense(self, connection: sqlite3.Connection, row: Row, query: Query, limit: int) -> dict[int, float]:
        if query.vector is None or query.embedding is None:
            raise ValueError("a dense search brings its vector")
        collections.require(row, query.embedding)
        allowed = None if query.filter.empty else chunks.passing(connection, row.id, query.filter)
        if allowed is not None and not len(allowed):
            return {}
        return self._indexes.of(row).search(query.vector, limit, allowed)

    @property
    def _open_database(self) -> Database:
        if self._database is None:
            raise Unavailable("the store")
        return self._database

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._open_database.read(work)

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._open_database.write(work)


def _index_words_anew(connection: sqlite3.Connection) -> None:
    for row in collections.rows(connection):
        schema.drop_lexicon(connection, row.id)
        schema.create_lexicon(connection, row.id)
        chunks.index_words_anew(connection, row.id)
    schema.mark_words_current(connection)


def _all(removed: Mapping[str, Sequence[int]]) -> list[int]:
    return [number for numbers in removed.values() for number in numbers]
