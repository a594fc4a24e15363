"""Collections: sets of documents that are searched together."""

from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from citemesh.client.types import Collection
from gateway.rest.core.body import read_object
from gateway.rest.core.endpoint import Endpoint, HttpBounds
from gateway.rest.core.errors import Problem
from gateway.rest.core.fields import Fields

CREATE = Fields()
NAME = CREATE.text("name", "1 to 64 of a-z, 0-9, - and _, starting with a letter or digit.", required=True)
EMBEDDING_MODEL = CREATE.text("embedding_model", "Embedding model; the loaded one where left out.")


class CollectionsPort(Protocol):
    """Where collections are: `citemesh.client.collections.CollectionClient`."""

    async def create(self, name: str, embedding_model: str = "") -> Collection:
        """Makes one."""
        ...

    async def list(self) -> tuple[Collection, ...]:
        """All by name."""
        ...

    async def get(self, name: str) -> Collection:
        """One."""
        ...

    async def delete(self, name: str) -> None:
        """Deletes one with its documents."""
        ...


class CollectionsApi:
    """The endpoints."""

    def __init__(self, store: CollectionsPort, bounds: HttpBounds) -> None:
        self._store = store
        self._bounds = bounds

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        api, told, one = "Collections", Problem.native, "/v1/collections/{name}"
        return [
            Endpoint("GET", "/v1/collections", self.list, api, told, "Lists collections.", answer="`collections`."),
            Endpoint(
                "POST",
                "/v1/collections",
                self.create,
                api,
                told,
                "Makes a collection.",
                body=CREATE,
                answer="It.",
                status=201,
            ),
            Endpoint("GET", one, self.get, api, told, "Reads a collection.", answer="Its model and how much it holds."),
            Endpoint("DELETE", one, self.delete, api, told, "Deletes a collection with its documents.", status=204),
        ]

    async def list(self, request: Request) -> Response:
        """``GET /v1/collections``."""
        return JSONResponse({"collections": [collection(one) for one in await self._store.list()]})

    async def create(self, request: Request) -> Response:
        """``POST /v1/collections``."""
        body = await read_object(request, self._bounds.body_bytes)
        return JSONResponse(collection(await self._store.create(NAME.of(body), EMBEDDING_MODEL.of(body))), 201)

    async def get(self, request: Request) -> Response:
        """``GET /v1/collections/{name}``."""
        return JSONResponse(collection(await self._store.get(request.path_params["name"])))

    async def delete(self, request: Request) -> Response:
        """``DELETE /v1/collections/{name}``."""
        await self._store.delete(request.path_params["name"])
        return Response(status_code=204)


def collection(one: Collection) -> dict[str, Any]:
    """A collection."""
    return {
        "name": one.name,
        "embedding_model": one.embedding_model,
        "dimension": one.dimension,
        "documents": one.documents,
        "chunks": one.chunks,
        "unreadable_chunks": one.unreadable_chunks,
        "index": one.index,
    }
