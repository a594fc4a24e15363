"""Keeps calls to the collections that their keys may reach, whatever field names one.

It stands between the services and the engine, so that no RPC can forget it: what a call may reach comes from the
call's context, where the identity policy's word is, and never from the request. What it refuses reads the same
whether the collection exists or not. Work of the service itself (the default collection at its start, token ids in the
background) goes to the engine directly; work that has lost its call reaches nothing.

A replica that keeps a share of the collections also refuses what the mesh did not send to it on purpose: stored
there, it would not be found again.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from citemesh.errors import InvalidInput, NotFound, PermissionDenied, PreconditionFailed
from citemesh.kit import call_context
from citemesh.kit.collection_scope import COLLECTION_HEADER
from services.retrieval.engine import (
    Chunk,
    CollectionInfo,
    Copied,
    Deleted,
    DocumentInfo,
    Embedding,
    Engine,
    NewDocument,
    Query,
    Results,
    TokenIds,
)

_PAGE = 1000
_NAMED = 20


class GuardedEngine:
    """An engine that answers a call only within its scope.

    shard: number of this replica where the collections are spread over several; None where one keeps them all.
    """

    def __init__(self, engine: Engine, shard: int | None = None) -> None:
        self._engine = engine
        self._shard = shard

    async def create(self, name: str, embedding: Embedding) -> CollectionInfo:
        """Makes a collection of a name within scope."""
        async with self._within_scope(name):
            return await self._engine.create(name, embedding)

    async def collection(self, name: str) -> CollectionInfo:
        """Reads one within scope."""
        async with self._within_scope(name):
            return await self._engine.collection(name)

    async def embedding(self, name: str) -> Embedding:
        """What one within scope is fixed to."""
        async with self._within_scope(name):
            return await self._engine.embedding(name)

    async def collections(self, after: str, limit: int) -> tuple[CollectionInfo, ...]:
        """Lists those within scope, as if there were no others."""
        self._require_shard()
        scope = call_context.current_scope()
        if scope.everything:
            return await self._engine.collections(after, limit)
        found: list[CollectionInfo] = []
        while len(found) < limit:
            page = await self._engine.collections(after, _PAGE)
            found += [info for info in page if scope.allows(info.name)]
            if len(page) < _PAGE:
                break
            after = page[-1].name
        return tuple(found[:limit])

    async def drop(self, name: str) -> int:
        """Deletes one within scope."""
        async with self._within_scope(name):
            return await self._engine.drop(name)

    async def put(self, document: NewDocument) -> int:
        """Stores a document in a collection within scope."""
        async with self._within_scope(document.info.collection):
            return await self._engine.put(document)

    async def put_many(self, documents: Sequence[NewDocument]) -> int:
        """Stores documents in a collection within scope."""
        names = tuple(dict.fromkeys(document.info.collection for document in documents))
        async with self._within_scope(*names):
            return await self._engine.put_many(documents)

    async def document(self, collection: str, document_id: str, with_text: bool = True) -> tuple[DocumentInfo, str]:
        """Reads a document of a collection within scope."""
        async with self._within_scope(collection):
            return await self._engine.document(collection, document_id, with_text)

    async def documents(self, collection: str, after: str, limit: int, table_id: str = "") -> tuple[DocumentInfo, ...]:
        """Lists documents of a collection within scope."""
        async with self._within_scope(collection):
            return await self._engine.documents(collection, after, limit, table_id)

    async def delete(self, collection: str, document_ids: Sequence[str]) -> Deleted:
        """Deletes documents of a collection within scope."""
        async with self._within_scope(collection):
            return await self._engine.delete(collection, document_ids)

    async def search(self, query: Query) -> Results:
        """Searches a collection within scope."""
        async with self._within_scope(query.collection):
            return await self._engine.search(query)

    async def search_many(self, queries: Sequence[Query]) -> tuple[Results, ...]:
        """Searches collections that are all within scope."""
        names = tuple(dict.fromkeys(query.collection for query in queries))
        async with self._within_scope(*names):
            return await self._engine.search_many(queries)

    async def without_tokens(self, digest: str, limit: int) -> tuple[Chunk, ...]:
        """No call asks for it: it looks into every collection."""
        raise _refused("every collection")

    async def fill_tokens(self, tokens: Mapping[str, TokenIds]) -> None:
        """No call asks for it: it changes every collection."""
        raise _refused("every collection")

    async def snapshot(self, collection: str) -> Copied:
        """Copies a collection within scope, or all of them for who may reach all."""
        if collection:
            async with self._within_scope(collection):
                return await self._engine.snapshot(collection)
        if not call_context.current_scope().everything:
            raise _refused("every collection")
        self._require_shard()
        return await self._engine.snapshot(collection)

    async def open(self) -> None:
        """Makes the engine ready."""
        await self._engine.open()

    async def close(self) -> None:
        """Closes the engine."""
        await self._engine.close()

    async def healthy(self) -> bool:
        """Whether the engine can answer."""
        return await self._engine.healthy()

    def require(self, *names: str) -> None:
        """Raises PermissionDenied for a collection out of scope, and a named error for a call to another replica."""
        scope = call_context.current_scope()
        for name in names:
            if not scope.allows(name):
                raise _refused(f"the collection {name[:80]!r}")
        for name in names:
            self._require_address(name)

    @asynccontextmanager
    async def _within_scope(self, *names: str) -> AsyncIterator[None]:
        self.require(*names)
        try:
            yield
        except NotFound as error:
            if error.kind != "collection" or call_context.current_scope().everything:
                raise
            raise NotFound("collection", error.name, await self._remedy()) from None

    async def _remedy(self) -> str:
        """Which collections there are, of those within scope."""
        names = ", ".join(info.name for info in await self.collections("", _NAMED))
        return f"there are: {names}" if names else "create one first"

    def _require_address(self, name: str) -> None:
        addressed = call_context.current().collection
        if addressed and addressed != name:
            fault = f"the call is addressed to {addressed[:80]!r} and asks for {name[:80]!r}"
            raise InvalidInput(COLLECTION_HEADER, fault, "make one call, or one stream, for each collection")
        if self._shard is not None and not addressed:
            fault = "the collections are spread over several replicas, and the call does not say which one it is about"
            raise PreconditionFailed("NOT_ADDRESSED", fault, f"send the collection's name as {COLLECTION_HEADER}")
        self._require_shard()

    def _require_shard(self) -> None:
        meant = call_context.current().shard
        if self._shard is not None and meant != str(self._shard):
            asked = meant[:20] or "none that it names"
            fault = f"this is replica {self._shard}, and the call was meant for {asked}"
            remedy = f"call through a sidecar, which finds the replica by {COLLECTION_HEADER}"
            raise PreconditionFailed("WRONG_SHARD", fault, remedy)


def _refused(what: str) -> PermissionDenied:
    return PermissionDenied(f"this key may not reach {what}", "use a key that may, or name what this one may")
