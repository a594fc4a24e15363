"""The durable engine: SQLite is the truth, FAISS indexes are derived from it.

SQLite commits a change first, then the index follows, then the change is acknowledged. A search takes its numbers from
the index and everything else from the store, so that a deleted chunk can't be answered.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from citemesh.errors import PreconditionFailed, Unavailable
from services.retrieval.engines.durable.index.collection_indexes import CollectionIndexes
from services.retrieval.engines.durable.index.kinds import IndexChoice
from services.retrieval.engines.durable.index.maintenance import IndexMaintenance
from services.retrieval.engines.durable.index.search_threads import SearchThreads
from services.retrieval.engines.durable.search import DurableSearch
from services.retrieval.engines.durable.store import schema
from services.retrieval.engines.durable.store.backup import copies
from services.retrieval.engines.durable.store.database import StoreDatabase, Transaction
from services.retrieval.engines.durable.store.lock import StoreLock
from services.retrieval.engines.durable.store.tables import changes, chunks, collections, words
from services.retrieval.engines.durable.store.tables import documents as documents_of
from services.retrieval.engines.durable.store.tables.postings import MOST as MOST_POSTINGS
from services.retrieval.engines.durable.writes import DurableWrites, fill_tokens
from services.retrieval.search import near_duplicates
from services.retrieval.search.fusion import EVEN, Weights
from services.retrieval.types.chunk import Chunk, TokenIds
from services.retrieval.types.collection import CollectionInfo, Embedding, StoreCopy
from services.retrieval.types.document import Deletion, DocumentInfo, NewDocument
from services.retrieval.types.query import Query
from services.retrieval.types.results import Results

T = TypeVar("T")


class DurableEngine:
    """Engine over one directory. snapshot_after: changed chunks after which an index is written out."""

    def __init__(
        self,
        directory: Path,
        weights: Weights = EVEN,
        candidates: int = 100,
        snapshot_after: int = 20_000,
        readers: int = 4,
        index: IndexChoice | None = None,
        index_threads: int = 1,
        near_duplicate: float = near_duplicates.THRESHOLD,
        snapshots: Path | None = None,
        lexical_postings: int = MOST_POSTINGS,
        search_threads: int = 1,
    ) -> None:
        self._directory = directory
        self._copies = snapshots or directory.parent / "snapshots"
        self._copier: ThreadPoolExecutor | None = None
        self._readers = readers
        self._lock = StoreLock(directory / "lock")
        self._indexes = CollectionIndexes(directory, snapshot_after, index or IndexChoice())
        self._writes = DurableWrites(self._indexes)
        self._maintenance: IndexMaintenance | None = None
        self._index_threads = index_threads
        self._search_threads = SearchThreads(search_threads)
        self._search = DurableSearch(
            self._indexes, weights, candidates, near_duplicate, lexical_postings, self._search_threads
        )
        self._database: StoreDatabase | None = None

    async def open(self) -> None:
        """Takes the lock, checks the schema and brings the indexes up to the store."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.acquire()
        except OSError as error:
            fault = f"the store {self._directory} can't be made or opened: {error.strerror}"
            raise PreconditionFailed("STORE_UNUSABLE", fault, "check the path, its owner and rights") from None
        self._database = StoreDatabase(self._directory / "store.db", self._readers)
        try:
            await self._database.write(self._start)
        except BaseException:
            await self.close()
            raise
        self._copier = ThreadPoolExecutor(1, thread_name_prefix="store-copier")
        self._maintenance = IndexMaintenance(self._indexes, self._database.read_here, self._index_threads)
        self._maintenance.start()

    async def close(self) -> None:
        """Writes the snapshots and frees the store."""
        if self._copier is not None:
            await asyncio.to_thread(self._copier.shutdown, cancel_futures=True)
            self._copier = None
        if self._maintenance is not None:
            await asyncio.to_thread(self._maintenance.stop)
            self._maintenance = None
        if self._database is not None:
            await self._database.close(last=self._indexes.save_all)
            self._database = None
        await asyncio.to_thread(self._search_threads.close)
        self._lock.release()

    async def healthy(self) -> bool:
        """Whether the store answers."""
        return await self._read(changes.last) is not None

    async def settle(self, timeout_s: float = 60.0) -> bool:
        """Waits until the indexes need no work in the background; False where that took too long."""
        return self._maintenance is not None and await asyncio.to_thread(self._maintenance.settle, timeout_s)

    async def create(self, name: str, embedding: Embedding) -> CollectionInfo:
        """Makes a collection."""
        return await self._write(lambda connection: self._writes.create(connection, name, embedding))

    async def collection(self, name: str) -> CollectionInfo:
        """Reads a collection."""
        return await self._read(lambda connection: self._info(connection, collections.info(connection, name)))

    async def embedding(self, name: str) -> Embedding:
        """Reads what a collection is fixed to."""
        return await self._read(lambda connection: collections.find(connection, name).embedding)

    async def collections(self, after: str, limit: int) -> tuple[CollectionInfo, ...]:
        """Lists collections."""

        def work(connection: sqlite3.Connection) -> tuple[CollectionInfo, ...]:
            return tuple(self._info(connection, info) for info in collections.page(connection, after, limit))

        return await self._read(work)

    async def put(self, document: NewDocument) -> int:
        """Stores or replaces a document."""
        return await self.put_many([document])

    async def put_many(self, documents: Sequence[NewDocument]) -> int:
        """Stores or replaces documents."""
        prepared = await asyncio.to_thread(lambda: [chunks.prepared(document) for document in documents])
        collection = documents[0].info.collection
        return await self._write(lambda connection: self._writes.put(connection, collection, prepared))

    async def document(self, collection: str, document_id: str, with_text: bool = True) -> tuple[DocumentInfo, str]:
        """Reads a document and its text."""

        def work(connection: sqlite3.Connection) -> tuple[DocumentInfo, str]:
            connection.execute("BEGIN")
            row = collections.find(connection, collection)
            number, info = documents_of.find(connection, row.id, document_id)
            return info, documents_of.text(connection, number) if with_text else ""

        return await self._read(work)

    async def drop(self, name: str) -> int:
        """Deletes a collection."""
        return await self._write(lambda connection: self._writes.drop(connection, name))

    async def snapshot(self, collection: str) -> StoreCopy:
        """Copies the store while it serves; one copy at a time."""
        database = self._open_database

        def work() -> StoreCopy:
            return database.read_here(lambda connection: copies.copy(connection, self._copies, collection))

        return await asyncio.get_running_loop().run_in_executor(self._copier, work)

    async def documents(self, collection: str, after: str, limit: int, table_id: str = "") -> tuple[DocumentInfo, ...]:
        """Lists documents."""

        def work(connection: sqlite3.Connection) -> tuple[DocumentInfo, ...]:
            connection.execute("BEGIN")
            row = collections.find(connection, collection)
            return documents_of.page(connection, row.id, after, limit, table_id)

        return await self._read(work)

    async def delete(self, collection: str, document_ids: Sequence[str]) -> Deletion:
        """Deletes documents."""
        return await self._write(lambda connection: self._writes.delete(connection, collection, document_ids))

    async def search(self, query: Query) -> Results:
        """Finds chunks."""
        return (await self.search_many([query]))[0]

    async def search_many(self, queries: Sequence[Query]) -> tuple[Results, ...]:
        """Finds chunks for several queries at once."""
        return await self._read(lambda connection: self._search.run(connection, queries))

    async def without_tokens(self, digest: str, limit: int) -> tuple[Chunk, ...]:
        """Chunks that lack token ids of a tokenizer."""
        return await self._read(lambda connection: chunks.without_tokens(connection, digest, limit))

    async def fill_tokens(self, tokens: Mapping[str, TokenIds]) -> None:
        """Stores token ids."""
        await self._write(lambda connection: fill_tokens(connection, tokens))

    def _info(self, connection: sqlite3.Connection, info: CollectionInfo) -> CollectionInfo:
        return replace(info, index=self._indexes.of(collections.find(connection, info.name)).kind)

    def _start(self, connection: sqlite3.Connection) -> None:
        schema.prepare(connection, self._directory / "store.db")
        if not schema.words_are_current(connection):
            with Transaction(connection):
                _index_words_anew(connection)
        rows = collections.rows(connection)
        self._indexes.check(rows)
        self._indexes.sweep(rows)
        copies.sweep(self._copies)
        for row in rows:
            self._indexes.load(connection, row)

    @property
    def _open_database(self) -> StoreDatabase:
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
        words.index_anew(connection, row.id)
    schema.mark_words_current(connection)
