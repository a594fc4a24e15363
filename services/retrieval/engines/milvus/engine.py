"""The engine over Milvus: for collections that outgrow one machine, and for any number of replicas of this service.

Milvus stores the rows, the vectors and the words; `MilvusStore` says how a document is whole without transactions.
A collection's sequence numbers are stored there too, and rise with the changes of all replicas.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from typing import TypeVar

from pymilvus import MilvusClient, MilvusException

from citemesh.errors import CiteMeshError, NotSupported, PreconditionFailed, Unavailable
from services.retrieval.engines.milvus import rows
from services.retrieval.engines.milvus.client import connect
from services.retrieval.engines.milvus.filter import key, quoted
from services.retrieval.engines.milvus.registry import MilvusRegistry
from services.retrieval.engines.milvus.schema import CHUNK_FIELDS, Names
from services.retrieval.engines.milvus.search import MilvusSearch
from services.retrieval.engines.milvus.store import MilvusStore
from services.retrieval.search import near_duplicates
from services.retrieval.search.fusion import EVEN, Weights
from services.retrieval.types.chunk import Chunk, TokenIds
from services.retrieval.types.collection import CollectionInfo, Embedding, StoreCopy, model_mismatch
from services.retrieval.types.document import Deletion, DocumentInfo, NewDocument
from services.retrieval.types.query import Query
from services.retrieval.types.results import Results

T = TypeVar("T")
log = logging.getLogger(__name__)
_SWEEP_EVERY_S = 600.0
_STRIPES = 64
_LOST_CONNECTION = 2
"""Code of pymilvus for a server that can't be reached."""


class MilvusEngine:
    """Engine over a Milvus server, or over Milvus Lite where uri is the path of a file.

    Args:
        prefix: begins the names of its collections in Milvus.
        timeout_s: for connecting.
    """

    def __init__(
        self,
        uri: str,
        token: str = "",
        prefix: str = "citemesh",
        weights: Weights = EVEN,
        candidates: int = 100,
        near_duplicate: float = near_duplicates.THRESHOLD,
        threads: int = 8,
        timeout_s: float = 10.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._uri, self._token, self._timeout_s = uri, token, timeout_s
        self._names = Names(prefix)
        self._ranking = (weights, candidates, near_duplicate)
        self._now = now
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="milvus")
        self._client: MilvusClient | None = None
        self._collections_lock = asyncio.Lock()
        # Two versions of one document, and a table and a document of one id, are put one after the other, so that each
        # removes the one before it.
        self._document_locks = [asyncio.Lock() for _ in range(_STRIPES)]
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connects, and makes what all collections share. Raises Unavailable, PreconditionFailed."""
        self._client = await self._run(self._connect)
        self._store = MilvusStore(self._client, self._names, self._now)
        self._search = MilvusSearch(self._client, self._names, self._store, *self._ranking)
        self._registry = MilvusRegistry(self._client, self._names, self._store)
        await self._run(self._registry.prepare)
        self._sweeping = asyncio.create_task(self._sweep())

    async def close(self) -> None:
        """Ends the connection."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweeping
        client, self._client = self._client, None
        if client is not None:
            await asyncio.to_thread(client.close)
        self._threads.shutdown(wait=False)

    async def healthy(self) -> bool:
        """Whether Milvus answers."""
        return bool(await self._run(lambda: self._milvus.has_collection(self._names.registry)))

    async def create(self, name: str, embedding: Embedding) -> CollectionInfo:
        """Makes a collection."""
        async with self._collections_lock:
            await self._run(self._registry.create, name, embedding)
        return await self.collection(name)

    async def collection(self, name: str) -> CollectionInfo:
        """Reads a collection."""
        return await self._run(lambda: self._registry.info(self._registry.find(name)))

    async def embedding(self, name: str) -> Embedding:
        """Reads what a collection is fixed to."""
        return await self._run(self._registry.embedding, name)

    async def collections(self, after: str, limit: int) -> tuple[CollectionInfo, ...]:
        """Lists collections."""

        def work() -> tuple[CollectionInfo, ...]:
            listed = [row for row in self._registry.all() if row["name"] > after]
            listed.sort(key=lambda row: str(row["name"]))
            return tuple(self._registry.info(row) for row in listed[:limit])

        return await self._run(work)

    async def drop(self, name: str) -> int:
        """Deletes a collection. Nobody finds it from the first step on, also where the others fail."""
        async with self._collections_lock:
            return await self._run(self._registry.drop, name)

    async def put(self, document: NewDocument) -> int:
        """Stores or replaces a document."""
        return await self.put_many([document])

    async def put_many(self, documents: Sequence[NewDocument]) -> int:
        """Stores or replaces documents."""
        name = documents[0].info.collection
        async with AsyncExitStack() as locks:
            for stripe in _stripes(documents):
                await locks.enter_async_context(self._document_locks[stripe])
            for embedding in {document.embedding for document in documents}:
                await self._run(self._registry.require, name, embedding)
            return await self._run(self._store.put_many, documents)

    async def document(self, collection: str, document_id: str, with_text: bool = True) -> tuple[DocumentInfo, str]:
        """Reads a document and its text."""
        await self._run(self._registry.find, collection)
        return await self._run(self._store.document, collection, document_id, with_text)

    async def documents(self, collection: str, after: str, limit: int, table_id: str = "") -> tuple[DocumentInfo, ...]:
        """Lists documents."""
        await self._run(self._registry.find, collection)
        return await self._run(self._store.documents, collection, after, limit, table_id)

    async def delete(self, collection: str, document_ids: Sequence[str]) -> Deletion:
        """Deletes documents."""
        await self._run(self._registry.find, collection)
        return await self._run(self._store.delete, collection, document_ids)

    async def search(self, query: Query) -> Results:
        """Finds chunks."""

        def work() -> Results:
            fixed = self._registry.embedding(query.collection)
            if query.mode != "lexical" and query.embedding is not None and query.embedding != fixed:
                raise model_mismatch(query.collection, fixed, query.embedding)
            sequence = self._store.last_change(query.collection)
            return self._search.run(query, *self._registry.counts(query.collection), sequence)

        return await self._run(work)

    async def search_many(self, queries: Sequence[Query]) -> tuple[Results, ...]:
        """Finds chunks, several searches at once."""
        return tuple(await asyncio.gather(*map(self.search, queries)))

    async def without_tokens(self, digest: str, limit: int) -> tuple[Chunk, ...]:
        """Chunks that lack token ids of a tokenizer."""

        def work() -> tuple[Chunk, ...]:
            chunks: list[Chunk] = []
            for row in self._registry.all():
                if len(chunks) < limit:
                    lacking = self._milvus.query(
                        self._names.chunks(row["name"]), filter=f"tokens_digest != {quoted([_hex(digest)])}",
                        limit=limit - len(chunks), output_fields=list(CHUNK_FIELDS),
                    )  # fmt: skip
                    chunks += map(rows.chunk_of, lacking)
            return tuple(chunks)

        return await self._run(work)

    async def fill_tokens(self, tokens: Mapping[str, TokenIds]) -> None:
        """Stores token ids."""
        for row in await self._run(self._registry.all):
            await self._run(self._fill, row["name"], tokens)

    async def snapshot(self, collection: str) -> StoreCopy:
        """Is left to Milvus. Raises NotSupported."""
        raise NotSupported("a snapshot of a store in Milvus", "back Milvus up with its own tool, milvus-backup")

    @property
    def _milvus(self) -> MilvusClient:
        if self._client is None:
            raise Unavailable("Milvus", remedy="the engine is not open")
        return self._client

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        """Runs blocking work in a thread and translates Milvus's errors."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*arguments))
        except MilvusException as error:
            if error.code == _LOST_CONNECTION:
                raise Unavailable("Milvus", remedy="look whether it runs and can be reached") from error
            raise

    def _connect(self) -> MilvusClient:
        return connect(self._uri, self._token, self._timeout_s)

    async def _sweep(self) -> None:
        """Removes what unfinished changes of any process left behind, every ten minutes."""
        while True:
            try:
                if left := await self._run(self._store.sweep):
                    log.warning("what %d unfinished changes left behind was removed", left)
            except (MilvusException, CiteMeshError):
                log.exception("what unfinished changes left behind could not be removed; it is tried again later")
            await asyncio.sleep(_SWEEP_EVERY_S)

    def _fill(self, name: str, tokens: Mapping[str, TokenIds]) -> None:
        ids_by_chunk = {_hex(chunk_id): ids for chunk_id, ids in tokens.items()}
        answer = self._milvus.query(
            self._names.chunks(name), filter=f"chunk_id in [{quoted(ids_by_chunk)}]", output_fields=["id", "chunk_id"]
        )
        updates = [{"id": row["id"]} | rows.token_fields(ids_by_chunk[row["chunk_id"]]) for row in answer]
        if updates:
            self._milvus.upsert(self._names.chunks(name), updates, partial_update=True)


def _stripes(documents: Sequence[NewDocument]) -> list[int]:
    """Indexes of the locks of documents and of their tables, in the one order in which they are taken."""
    infos = [document.info for document in documents]
    ids = {(info.collection, id_) for info in infos for id_ in (info.document_id, info.table_id) if id_}
    return sorted({int(key(*pair)[:8], 16) % _STRIPES for pair in ids})


def _hex(text: str) -> str:
    """A digest or a chunk's id, which are written into expressions. Raises PreconditionFailed for what isn't."""
    if not all(letter.isalnum() or letter in "-_/.:#" for letter in text):
        raise PreconditionFailed("CHUNK_ID", f"{text[:40]!r} can't be looked up in Milvus", "ingest the document again")
    return text
