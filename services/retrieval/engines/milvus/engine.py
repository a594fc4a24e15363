"""The engine over Milvus: for collections that outgrow one machine, and for any number of replicas of this service.

Milvus keeps the rows, the vectors and the words; `milvus_store` says how a document is whole without transactions.
A collection's sequence numbers are kept there too, and rise with the changes of all replicas.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from typing import TypeVar

from pymilvus import MilvusClient, MilvusException

from citemesh.errors import AlreadyExists, CiteMeshError, NotFound, NotSupported, PreconditionFailed, Unavailable
from services.retrieval.engines.milvus import rows, schema
from services.retrieval.engines.milvus.client import connect
from services.retrieval.engines.milvus.filter import key, quoted
from services.retrieval.engines.milvus.schema import CHUNK_FIELDS, NO_VECTOR, REGISTRY_FIELDS, Names
from services.retrieval.engines.milvus.search import MilvusSearch
from services.retrieval.engines.milvus.store import MilvusStore
from services.retrieval.search import near_duplicates
from services.retrieval.search.fusion import EVEN, Weights
from services.retrieval.types.chunk import Chunk, TokenIds
from services.retrieval.types.collection import CollectionInfo, Embedding, StoreCopy, model_mismatch
from services.retrieval.types.document import Deleted, DocumentInfo, NewDocument
from services.retrieval.types.query import Query
from services.retrieval.types.results import Results

T = TypeVar("T")
log = logging.getLogger(__name__)
_SWEEP_EVERY_S = 600.0
_STRIPES = 64
_COUNT = "count(*)"
_MOST_COLLECTIONS = 16_000
_LOST_CONNECTION = 2
"""Code of pymilvus for a server that can't be reached."""


class MilvusEngine:
    """Engine over a Milvus server, or over Milvus Lite where uri is the path of a file.

    Args:
        prefix: what the names of its collections in Milvus begin with.
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
        # clears away the one before it.
        self._document_locks = [asyncio.Lock() for _ in range(_STRIPES)]
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connects, and makes what all collections share. Raises Unavailable, PreconditionFailed."""
        self._client = await self._run(self._connect)
        self._store = MilvusStore(self._client, self._names, self._now)
        self._search = MilvusSearch(self._client, self._names, self._store, *self._ranking)
        await self._run(self._prepare)
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
            await self._run(self._create, name, embedding)
        return await self.collection(name)

    async def collection(self, name: str) -> CollectionInfo:
        """Reads a collection."""
        return await self._run(lambda: self._info(self._find(name)))

    async def embedding(self, name: str) -> Embedding:
        """Reads what a collection is fixed to."""
        return await self._run(lambda: rows.embedding_of(self._find(name)["described"])[0])

    async def collections(self, after: str, limit: int) -> tuple[CollectionInfo, ...]:
        """Lists collections."""

        def work() -> tuple[CollectionInfo, ...]:
            found = sorted((row for row in self._registry() if row["name"] > after), key=lambda row: str(row["name"]))
            return tuple(self._info(row) for row in found[:limit])

        return await self._run(work)

    async def drop(self, name: str) -> int:
        """Deletes a collection: nobody finds it from the first step on, whatever becomes of the rest."""
        async with self._collections_lock:
            return await self._run(self._drop, name)

    async def put(self, document: NewDocument) -> int:
        """Stores or replaces a document."""
        return await self.put_many([document])

    async def put_many(self, documents: Sequence[NewDocument]) -> int:
        """Stores or replaces documents."""
        name = documents[0].info.collection
        async with AsyncExitStack() as held:
            for stripe in _stripes(documents):
                await held.enter_async_context(self._document_locks[stripe])
            for embedding in {document.embedding for document in documents}:
                await self._run(self._require, name, embedding)
            return await self._run(self._store.put_many, documents)

    async def document(self, collection: str, document_id: str, with_text: bool = True) -> tuple[DocumentInfo, str]:
        """Reads a document and its text."""
        await self._run(self._find, collection)
        return await self._run(self._store.document, collection, document_id, with_text)

    async def documents(self, collection: str, after: str, limit: int, table_id: str = "") -> tuple[DocumentInfo, ...]:
        """Lists documents."""
        await self._run(self._find, collection)
        return await self._run(self._store.documents, collection, after, limit, table_id)

    async def delete(self, collection: str, document_ids: Sequence[str]) -> Deleted:
        """Deletes documents."""
        await self._run(self._find, collection)
        return await self._run(self._store.delete, collection, document_ids)

    async def search(self, query: Query) -> Results:
        """Finds chunks."""

        def work() -> Results:
            row = self._find(query.collection)
            kept = rows.embedding_of(row["described"])[0]
            if query.mode != "lexical" and query.embedding is not None and query.embedding != kept:
                raise model_mismatch(query.collection, kept, query.embedding)
            sequence = self._store.last_change(query.collection)
            return self._search.run(query, *self._counts(query.collection), sequence)

        return await self._run(work)

    async def search_many(self, queries: Sequence[Query]) -> tuple[Results, ...]:
        """Finds chunks, several searches at once."""
        return tuple(await asyncio.gather(*map(self.search, queries)))

    async def without_tokens(self, digest: str, limit: int) -> tuple[Chunk, ...]:
        """Chunks that lack token ids of a tokenizer."""

        def work() -> tuple[Chunk, ...]:
            found: list[Chunk] = []
            for row in self._registry():
                if len(found) < limit:
                    lacking = self._milvus.query(
                        self._names.chunks(row["name"]), filter=f"tokens_digest != {quoted([_hex(digest)])}",
                        limit=limit - len(found), output_fields=list(CHUNK_FIELDS),
                    )  # fmt: skip
                    found += map(rows.chunk_of, lacking)
            return tuple(found)

        return await self._run(work)

    async def fill_tokens(self, tokens: Mapping[str, TokenIds]) -> None:
        """Stores token ids."""
        for row in await self._run(self._registry):
            await self._run(self._fill, row["name"], tokens)

    async def snapshot(self, collection: str) -> StoreCopy:
        """Milvus has its own."""
        raise NotSupported("a snapshot of a store in Milvus", "back Milvus up with its own tool, milvus-backup")

    @property
    def _milvus(self) -> MilvusClient:
        if self._client is None:
            raise Unavailable("Milvus", remedy="the engine is not open")
        return self._client

    async def _run(self, work: Callable[..., T], *arguments: object) -> T:
        """Blocking work in a thread, with Milvus's errors as ours."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*arguments))
        except MilvusException as error:
            if error.code == _LOST_CONNECTION:
                raise Unavailable("Milvus", remedy="look whether it runs and can be reached") from error
            raise

    def _connect(self) -> MilvusClient:
        return connect(self._uri, self._token, self._timeout_s)

    def _prepare(self) -> None:
        schema.make_shared(self._milvus, self._names)
        for name in (self._names.registry, self._names.changes, self._names.intents):
            self._milvus.load_collection(name)
        for row in self._registry():
            for name in self._names.of(row["name"]):
                self._milvus.load_collection(name)

    async def _sweep(self) -> None:
        """Now and then clears away what changes left behind that never ended, of this process or another."""
        while True:
            try:
                if left := await self._run(self._store.sweep):
                    log.warning("%d changes that never ended were cleared away", left)
            except (MilvusException, CiteMeshError):
                log.exception("what changes left behind could not be cleared away; it is tried again")
            await asyncio.sleep(_SWEEP_EVERY_S)

    def _registry(self, state: str = "kept") -> list[rows.Row]:
        answer = self._milvus.query(
            self._names.registry, filter=f'state == "{state}"', limit=_MOST_COLLECTIONS,
            output_fields=list(REGISTRY_FIELDS),
        )  # fmt: skip
        return list(answer)

    def _state(self, name: str) -> rows.Row | None:
        found = self._milvus.query(
            self._names.registry, filter=f'id == "{key(name)}"', output_fields=list(REGISTRY_FIELDS)
        )
        return found[0] if found else None

    def _find(self, name: str) -> rows.Row:
        row = self._state(name)
        if row is None or row["state"] != "kept":
            names = ", ".join(sorted(row["name"] for row in self._registry()))
            raise NotFound("collection", name, f"there are: {names}" if names else "create one first")
        return row

    def _require(self, name: str, embedding: Embedding) -> None:
        kept = rows.embedding_of(self._find(name)["described"])[0]
        if kept != embedding:
            raise model_mismatch(name, kept, embedding)

    def _create(self, name: str, embedding: Embedding) -> None:
        row = self._state(name)
        if row is not None and row["state"] == "kept":
            raise AlreadyExists("collection", name)
        # A removal that never ended is ended first; a creation that never ended left nothing but empty services.
        if row is not None or not schema.fits(self._milvus, self._names, name, embedding.dimension):
            schema.drop(self._milvus, self._names, name)
        schema.make(self._milvus, self._names, name, embedding.dimension)
        described = rows.embedding_text(embedding, datetime.now(UTC), name)
        self._store.changed(name)
        self._register(name, described, "kept")

    def _drop(self, name: str) -> int:
        row = self._find(name)
        self._register(name, row["described"], "going")
        number = self._store.changed(name)
        schema.drop(self._milvus, self._names, name)
        self._milvus.delete(self._names.registry, filter=f'id == "{key(name)}"')
        return number

    def _register(self, name: str, described: str, state: str) -> None:
        row = {"id": key(name), "name": name, "described": described, "state": state, "vector": NO_VECTOR}
        self._milvus.upsert(self._names.registry, [row])

    def _info(self, row: rows.Row) -> CollectionInfo:
        name = row["name"]
        embedding, created_at = rows.embedding_of(row["described"])
        documents = self._count(self._names.documents(name), "")
        chunks, unreadable = self._counts(name)
        return CollectionInfo(name, embedding, documents, chunks, created_at, unreadable, "milvus")

    def _counts(self, name: str) -> tuple[int, int]:
        chunks = self._names.chunks(name)
        return self._count(chunks, ""), self._count(chunks, "readable == false")

    def _count(self, name: str, expression: str) -> int:
        return int(self._milvus.query(name, filter=expression, output_fields=[_COUNT])[0][_COUNT])

    def _fill(self, name: str, tokens: Mapping[str, TokenIds]) -> None:
        held = {_hex(chunk_id): ids for chunk_id, ids in tokens.items()}
        answer = self._milvus.query(
            self._names.chunks(name), filter=f"chunk_id in [{quoted(held)}]", output_fields=["id", "chunk_id"]
        )
        found = [{"id": row["id"]} | rows.token_fields(held[row["chunk_id"]]) for row in answer]
        if found:
            self._milvus.upsert(self._names.chunks(name), found, partial_update=True)


def _stripes(documents: Sequence[NewDocument]) -> list[int]:
    """Places of the locks of documents and of their tables, in the one order in which they are taken."""
    infos = [document.info for document in documents]
    ids = {(info.collection, id_) for info in infos for id_ in (info.document_id, info.table_id) if id_}
    return sorted({int(key(*both)[:8], 16) % _STRIPES for both in ids})


def _hex(text: str) -> str:
    """A digest or a chunk's id, which are written into expressions. Raises PreconditionFailed for what isn't."""
    if not all(letter.isalnum() or letter in "-_/.:#" for letter in text):
        raise PreconditionFailed("CHUNK_ID", f"{text[:40]!r} can't be looked up in Milvus", "ingest the document again")
    return text
