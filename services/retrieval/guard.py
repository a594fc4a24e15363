"""Restricts calls to the collections that their keys may reach, whatever field names one.

It stands between the services and the engine, so that no RPC can forget it. A call's scope comes from its context,
which the identity policy has filled, never from the request. A refusal reads the same whether the collection exists or
not. The service's own work (the default collection at its start, token ids in the background) uses the engine itself;
work outside of a call reaches nothing.

A replica that holds a share of the collections also refuses calls that the mesh did not address to it: a document
that was stored there would not be found again.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

from citemesh.errors import InvalidInput, NotFound, PermissionDenied, PreconditionFailed
from citemesh.kit import call_context
from citemesh.kit.collection_scope import COLLECTION_HEADER
from services.retrieval.engine import ServedEngine
from services.retrieval.types.collection import CollectionInfo, StoreCopy

_PAGE = 1000
_MOST_LISTED = 20

P = ParamSpec("P")
R = TypeVar("R")
_Method = Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]


def _within(method: _Method[P, R], collections: Callable[P, Iterable[str]]) -> _Method[P, R]:
    """Wraps a method of the engine: it is called only where all its collections are within the call's scope."""
    name = method.__name__

    async def guarded(self: "GuardedEngine", /, *args: P.args, **kwargs: P.kwargs) -> R:
        async with self.scoped(*dict.fromkeys(collections(*args, **kwargs))):
            result: R = await getattr(self.engine, name)(*args, **kwargs)
            return result

    guarded.__name__, guarded.__doc__ = name, method.__doc__
    return guarded


class GuardedEngine:
    """An engine that answers a call only within its scope. One line for each method names its collections.

    shard: number of this replica where the collections are spread over several; None where one holds them all.
    """

    def __init__(self, engine: ServedEngine, shard: int | None = None) -> None:
        self.engine = engine
        self._shard = shard

    create = _within(ServedEngine.create, lambda name, embedding: (name,))
    collection = _within(ServedEngine.collection, lambda name: (name,))
    embedding = _within(ServedEngine.embedding, lambda name: (name,))
    drop = _within(ServedEngine.drop, lambda name: (name,))
    put = _within(ServedEngine.put, lambda document: (document.info.collection,))
    put_many = _within(ServedEngine.put_many, lambda documents: (new.info.collection for new in documents))
    document = _within(ServedEngine.document, lambda collection, document_id, with_text=True: (collection,))
    documents = _within(ServedEngine.documents, lambda collection, after, limit, table_id="": (collection,))
    delete = _within(ServedEngine.delete, lambda collection, document_ids: (collection,))
    search = _within(ServedEngine.search, lambda query: (query.collection,))
    search_many = _within(ServedEngine.search_many, lambda queries: (query.collection for query in queries))

    async def collections(self, after: str, limit: int) -> tuple[CollectionInfo, ...]:
        """Lists the collections within scope, as if there were no others."""
        self._require_shard()
        scope = call_context.current_scope()
        if scope.everything:
            return await self.engine.collections(after, limit)
        allowed: list[CollectionInfo] = []
        while len(allowed) < limit:
            page = await self.engine.collections(after, _PAGE)
            allowed += [info for info in page if scope.allows(info.name)]
            if len(page) < _PAGE:
                break
            after = page[-1].name
        return tuple(allowed[:limit])

    async def snapshot(self, collection: str) -> StoreCopy:
        """Copies a collection within scope, or all of them for a key that may reach all."""
        if collection:
            async with self.scoped(collection):
                return await self.engine.snapshot(collection)
        if not call_context.current_scope().everything:
            raise _refused("every collection")
        self._require_shard()
        return await self.engine.snapshot(collection)

    def require(self, *names: str) -> None:
        """Raises PermissionDenied for a collection out of scope, and a named error for a call to another replica."""
        scope = call_context.current_scope()
        for name in names:
            if not scope.allows(name):
                raise _refused(f"the collection {name[:80]!r}")
        for name in names:
            self._require_address(name)

    @asynccontextmanager
    async def scoped(self, *names: str) -> AsyncIterator[None]:
        """Encloses work on collections. Raises as `require` does; NotFound names none that are out of scope."""
        self.require(*names)
        try:
            yield
        except NotFound as error:
            if error.kind != "collection" or call_context.current_scope().everything:
                raise
            raise NotFound("collection", error.name, await self._remedy()) from None

    async def _remedy(self) -> str:
        """Names the collections within scope."""
        names = ", ".join(info.name for info in await self.collections("", _MOST_LISTED))
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
        addressed = call_context.current().shard
        if self._shard is not None and addressed != str(self._shard):
            other = addressed[:20] or "none that it names"
            fault = f"this is replica {self._shard}, and the call was meant for {other}"
            remedy = f"call through a sidecar, which finds the replica by {COLLECTION_HEADER}"
            raise PreconditionFailed("WRONG_SHARD", fault, remedy)


def _refused(target: str) -> PermissionDenied:
    return PermissionDenied(f"this key may not reach {target}", "use a key that may, or name what this one may")
