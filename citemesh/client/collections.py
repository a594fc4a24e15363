"""Client of the retrieval service's collections."""

import asyncio
from itertools import chain

from citemesh.api.retrieval.v1 import collection_service_pb2 as pb
from citemesh.api.retrieval.v1.collection_service_pb2_grpc import CollectionServiceStub
from citemesh.client import convert
from citemesh.client.transport.caller import Caller, Headers, about_collection
from citemesh.client.types import Collection, Copied
from citemesh.errors import NotSupported
from citemesh.kit.collection_scope import SHARD_HEADER


class CollectionClient:
    """Makes, lists, copies and deletes collections. shards: over how many replicas they are spread."""

    def __init__(self, caller: Caller, shards: int = 1) -> None:
        self._caller = caller
        self._shards = shards
        self._stub = CollectionServiceStub(caller.channel)

    async def create(self, name: str, embedding_model: str = "") -> Collection:
        """Creates a collection; an empty model takes the service's."""
        request = pb.CreateCollectionRequest(name=name, embedding_model=embedding_model)
        answer = await self._caller.unary(self._stub.CreateCollection, request, headers=about_collection(name))
        return convert.collection(answer.collection)

    async def list(self) -> tuple[Collection, ...]:
        """Returns all collections by name, of every replica. Raises Unavailable where one of them is down."""
        if self._shards == 1:
            return await self._list(())
        calls = (self._list(((SHARD_HEADER, str(shard)),)) for shard in range(self._shards))
        return tuple(sorted(chain(*await asyncio.gather(*calls)), key=lambda collection: collection.name))

    async def _list(self, headers: Headers) -> tuple[Collection, ...]:
        collections: list[Collection] = []
        token = ""
        while True:
            request = pb.ListCollectionsRequest(page_token=token)
            answer = await self._caller.unary(self._stub.ListCollections, request, headers=headers)
            collections += [convert.collection(message) for message in answer.collections]
            token = answer.next_page_token
            if not token:
                return tuple(collections)

    async def get(self, name: str) -> Collection:
        """Returns one collection. Raises NotFound."""
        request = pb.GetCollectionRequest(name=name)
        answer = await self._caller.unary(self._stub.GetCollection, request, headers=about_collection(name))
        return convert.collection(answer.collection)

    async def delete(self, name: str) -> None:
        """Deletes a collection and its documents."""
        request = pb.DeleteCollectionRequest(name=name)
        await self._caller.unary(self._stub.DeleteCollection, request, headers=about_collection(name))

    async def snapshot(self, name: str = "") -> Copied:
        """Copies a collection, or all of them, on the service's machine while it serves.

        Raises NotSupported for all of them where they are spread over replicas.
        """
        if not name and self._shards > 1:
            raise NotSupported("one copy of collections on several replicas", "name a collection, or copy each replica")
        headers = about_collection(name) if name else ()
        request = pb.SnapshotRequest(name=name)
        answer = await self._caller.unary(self._stub.Snapshot, request, headers=headers)
        return Copied(answer.directory, answer.sequence_number, answer.documents, answer.chunks)
