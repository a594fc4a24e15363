"""A key that may reach some collections reaches no other, by any field of any RPC of the retrieval service.

The policy says what a key may reach in `x-citemesh-collections`; these tests say it in the policy's place.
"""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from citemesh.api.retrieval.v1 import (
    collection_service_pb2,
    document_service_pb2,
    retrieval_service_pb2,
)
from citemesh.api.retrieval.v1 import collection_service_pb2 as collections_pb
from citemesh.api.retrieval.v1 import document_service_pb2 as documents_pb
from citemesh.api.retrieval.v1 import retrieval_service_pb2 as search_pb
from citemesh.api.retrieval.v1.collection_service_pb2_grpc import CollectionServiceStub
from citemesh.api.retrieval.v1.document_service_pb2_grpc import DocumentServiceStub
from citemesh.api.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceStub
from citemesh.client import Mesh
from citemesh.client.types import Search, Upload
from citemesh.errors import InvalidInput, PermissionDenied, PreconditionFailed
from citemesh.kit import call_context
from citemesh.kit.server import Server
from services.retrieval import main
from services.retrieval.ingestion.passage_tokens import NoTokenizer
from services.retrieval.settings import RetrievalSettings
from services.retrieval.wiring.engine import engine_of

SECRET = "the vault opens with marigold"
MINE = (("x-citemesh-collections", "mine,team-*"),)
FORBIDDEN = ("theirs", "default", "no-such-collection", "mine2", "team", "")


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """A service with the collections default, mine, theirs and team-1, each with one document of the same id."""
    async for listen in running(tmp_path):
        async with Mesh({"retrieval": listen}) as mesh:
            for name in ("mine", "theirs", "team-1"):
                await mesh.collections.create(name)
            for name in ("default", "mine", "theirs", "team-1"):
                upload = Upload("1", f"{SECRET} of {name}".encode(), name, "same-id", media_type="text/plain")
                assert [p.state async for p in mesh.documents.ingest([upload])][-1] == "committed"
        yield listen


async def running(folder: Path, shard: int | None = None) -> AsyncIterator[str]:
    settings = RetrievalSettings(
        listen=f"unix:{folder}/r.sock",
        state_dir=folder,
        engine="fake",
        embedding_engine="fake",
        readers=0,
        drain_s=1,
        shard=shard,
    )
    parts = main.RetrievalParts(settings, engine_of(settings), NoTokenizer())
    server = Server(main.service_of(parts, settings), settings)
    await server.start()
    try:
        yield settings.address
    finally:
        await server.stop()


Call = Callable[[grpc.aio.Channel, str], Awaitable[Any]]


def search(channel: grpc.aio.Channel, name: str) -> Awaitable[Any]:
    request = search_pb.SearchRequest(collection=name, query="marigold")
    return RetrievalServiceStub(channel).Search(request, metadata=MINE, timeout=10)


def batch_search(channel: grpc.aio.Channel, name: str) -> Awaitable[Any]:
    searches = [search_pb.SearchRequest(collection=each, query="marigold") for each in ("mine", name)]
    return RetrievalServiceStub(channel).BatchSearch(
        search_pb.BatchSearchRequest(searches=searches), metadata=MINE, timeout=10
    )


def create(channel: grpc.aio.Channel, name: str) -> Awaitable[Any]:
    request = collections_pb.CreateCollectionRequest(name=name)
    return CollectionServiceStub(channel).CreateCollection(request, metadata=MINE, timeout=10)


def get(channel: grpc.aio.Channel, name: str) -> Awaitable[Any]:
    request = collections_pb.GetCollectionRequest(name=name)
    return CollectionServiceStub(channel).GetCollection(request, metadata=MINE, timeout=10)


def drop(channel: grpc.aio.Channel, name: str) -> Awaitable[Any]:
    request = collections_pb.DeleteCollectionRequest(name=name)
    return CollectionServiceStub(channel).DeleteCollection(request, metadata=MINE, timeout=10)


def snapshot(channel: grpc.aio.Channel, name: str) -> Awaitable[Any]:
    request = collections_pb.SnapshotRequest(name=name)
    return CollectionServiceStub(channel).Snapshot(request, metadata=MINE, timeout=10)


def get_document(channel: grpc.aio.Channel, name: str) -> Awaitable[Any]:
    request = documents_pb.GetDocumentRequest(collection=name, document_id="same-id")
    return DocumentServiceStub(channel).GetDocument(request, metadata=MINE, timeout=10)


def list_documents(channel: grpc.aio.Channel, name: str) -> Awaitable[Any]:
    request = documents_pb.ListDocumentsRequest(collection=name)
    return DocumentServiceStub(channel).ListDocuments(request, metadata=MINE, timeout=10)


def delete_documents(channel: grpc.aio.Channel, name: str) -> Awaitable[Any]:
    request = documents_pb.DeleteDocumentsRequest(collection=name, document_ids=["same-id"])
    return DocumentServiceStub(channel).DeleteDocuments(request, metadata=MINE, timeout=10)


async def ingest(channel: grpc.aio.Channel, name: str) -> Any:
    header = documents_pb.DocumentHeader(correlation_id="1", collection=name, document_id="same-id")

    async def requests() -> AsyncIterator[documents_pb.IngestRequest]:
        yield documents_pb.IngestRequest(header=header)
        yield documents_pb.IngestRequest(data=b"overwritten")
        yield documents_pb.IngestRequest(end=documents_pb.DocumentEnd())

    return [it async for it in DocumentServiceStub(channel).Ingest(requests(), metadata=MINE, timeout=10)]


CALLS: dict[str, Call] = {
    "RetrievalService/Search": search,
    "RetrievalService/BatchSearch": batch_search,
    "CollectionService/CreateCollection": create,
    "CollectionService/GetCollection": get,
    "CollectionService/DeleteCollection": drop,
    "CollectionService/Snapshot": snapshot,
    "DocumentService/Ingest": ingest,
    "DocumentService/GetDocument": get_document,
    "DocumentService/ListDocuments": list_documents,
    "DocumentService/DeleteDocuments": delete_documents,
}
WITHOUT_A_NAME = {"CollectionService/ListCollections", "RetrievalService/Embed"}
"""The first has tests of its own below; the other looks into no collection."""
REFUSES_NO_NAME = {"CollectionService/CreateCollection", "CollectionService/DeleteCollection"}
"""An empty name is none there, and not the default's."""
NAMES_A_COLLECTION = {
    "Search.collection", "BatchSearch.searches.collection", "CreateCollection.name", "GetCollection.name",
    "DeleteCollection.name", "Snapshot.name", "Ingest.header.collection", "GetDocument.collection",
    "ListDocuments.collection", "DeleteDocuments.collection",
}  # fmt: skip
WITHIN_THE_COLLECTION = {
    "query", "filter", "document_ids", "source_types", "domains", "languages", "metadata", "conditions", "key",
    "value", "any_of", "values", "text", "from", "to", "page_token", "document_id", "table_id", "correlation_id",
    "title", "uri", "media_type", "embedding_model", "data", "texts",
}  # fmt: skip
"""Names of text fields that are looked at within the collection that the request names."""
MODULES = (retrieval_service_pb2, document_service_pb2, collection_service_pb2)


def methods() -> Iterator[tuple[str, Any]]:
    for module in MODULES:
        for service in module.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                yield f"{service.name}/{method.name}", method


def texts(path: str, message: Descriptor, depth: int = 0) -> Iterable[str]:
    """Paths of all fields of text or bytes."""
    for field in message.fields:
        here = f"{path}.{field.name}"
        if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
            yield here
        elif field.message_type is not None and depth < 6 and "Timestamp" not in field.message_type.name:
            yield from texts(here, field.message_type, depth + 1)


def test_every_rpc_is_looked_at() -> None:
    assert {name for name, _ in methods()} == CALLS.keys() | WITHOUT_A_NAME


def test_every_field_is_looked_at() -> None:
    """A new field by which a collection could be named must be added here, and to the guard."""
    found = {path for name, method in methods() for path in texts(name.split("/")[1], method.input_type)}
    others = {path for path in found if path.split(".")[-1] not in WITHIN_THE_COLLECTION}
    assert others == NAMES_A_COLLECTION


async def refusal(call: Call, address: str, name: str) -> tuple[grpc.StatusCode, str]:
    async with grpc.aio.insecure_channel(address) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            await call(channel, name)
    error: Any = caught.value
    return error.code(), error.details()


@pytest.mark.parametrize("rpc", CALLS)
async def test_no_other_collection_is_reached(address: str, rpc: str) -> None:
    told = set()
    for name in FORBIDDEN:
        if not name and rpc in REFUSES_NO_NAME:
            continue
        code, text = await refusal(CALLS[rpc], address, name)
        assert code is grpc.StatusCode.PERMISSION_DENIED, (name, text)
        assert "team-1" not in text and SECRET not in text
        told.add(text.replace(repr(name or "default"), "…").replace("every collection", "the collection …"))
    assert len(told) == 1, "the refusal reads the same whether the collection exists or not"
    async with Mesh({"retrieval": address}) as mesh:
        for name in ("default", "theirs"):
            assert (await mesh.documents.get("same-id", name))[1] == f"{SECRET} of {name}"
        assert "no-such-collection" not in {found.name for found in await mesh.collections.list()}


@pytest.mark.parametrize("rpc", sorted(CALLS.keys() - {"CollectionService/Snapshot"}))
@pytest.mark.parametrize("name", ["mine", "team-1"])
async def test_its_own_collections_are(address: str, rpc: str, name: str) -> None:
    call = CALLS[rpc]
    async with grpc.aio.insecure_channel(address) as channel:
        if call is create:
            await drop(channel, name)
        answer = await call(channel, name)
    assert SECRET not in str(answer) or f"{SECRET} of {name}" in str(answer) or call is batch_search
    assert "theirs" not in str(answer)


async def test_lists_show_its_own_alone(address: str) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        stub = CollectionServiceStub(channel)
        whole = await stub.ListCollections(collections_pb.ListCollectionsRequest(), metadata=MINE)
        assert [found.name for found in whole.collections] == ["mine", "team-1"]
        first = await stub.ListCollections(collections_pb.ListCollectionsRequest(page_size=1), metadata=MINE)
        assert base64.urlsafe_b64decode(first.next_page_token) == b"mine"
        for token in ("mine", "no", "theirs", "team-0"):  # a token that no answer gave is a beginning like any other
            forged = base64.urlsafe_b64encode(token.encode()).decode()
            request = collections_pb.ListCollectionsRequest(page_token=forged)
            rest = await stub.ListCollections(request, metadata=MINE)
            assert {found.name for found in rest.collections} <= {"mine", "team-1"}
            assert not rest.next_page_token


async def test_a_missing_collection_within_reach_names_its_own_alone(address: str) -> None:
    code, text = await refusal(search, address, "team-9")
    assert code is grpc.StatusCode.NOT_FOUND
    assert "there are: mine, team-1" in text
    assert "theirs" not in text and "default" not in text


async def test_ids_of_other_collections_are_unknown_here(address: str) -> None:
    """Found by id, or by filter, is only what the named collection holds."""
    async with Mesh({"retrieval": address}) as mesh:
        upload = Upload("1", b"only theirs", "theirs", "their-id", media_type="text/plain")
        async for _ in mesh.documents.ingest([upload]):
            pass
    async with grpc.aio.insecure_channel(address) as channel:
        chosen = search_pb.SearchFilter(document_ids=["their-id"])
        request = search_pb.SearchRequest(collection="mine", query="theirs marigold", filter=chosen)
        assert not (await RetrievalServiceStub(channel).Search(request, metadata=MINE)).passages
        gone = await DocumentServiceStub(channel).DeleteDocuments(
            documents_pb.DeleteDocumentsRequest(collection="mine", document_ids=["their-id"]), metadata=MINE
        )
        assert not gone.deleted and list(gone.missing) == ["their-id"]


async def test_an_empty_reach_is_none(address: str) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        request = search_pb.SearchRequest(collection="mine", query="marigold")
        with pytest.raises(grpc.RpcError) as caught:
            await RetrievalServiceStub(channel).Search(request, metadata=(("x-citemesh-collections", ""),))
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_the_client_service_passes_the_reach_on(address: str) -> None:
    """As the gateway does for its callers."""
    async with Mesh({"retrieval": address}) as mesh:
        with call_context.calling(call_context.from_headers(dict(MINE), 10)):
            assert await mesh.retrieval.search("marigold", "mine")
            with pytest.raises(PermissionDenied):
                await mesh.retrieval.search("marigold", "theirs")
            assert [found.name for found in await mesh.collections.list()] == ["mine", "team-1"]


async def test_a_call_is_about_the_collection_that_it_is_addressed_to(address: str) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        elsewhere = (("x-citemesh-collection", "mine"),)
        request = search_pb.SearchRequest(collection="theirs", query="marigold")
        with pytest.raises(grpc.RpcError) as caught:
            await RetrievalServiceStub(channel).Search(request, metadata=elsewhere)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    async with Mesh({"retrieval": address}) as mesh:
        many = [Search("marigold", name) for name in ("theirs", "mine", "theirs", "")]
        found = await mesh.retrieval.find_many(many)
        assert [one.passages[0].collection for one in found] == ["theirs", "mine", "theirs", "default"]
        with pytest.raises(InvalidInput, match="searches"):
            await mesh.retrieval.find_many([])
        mixed = [Upload("1", b"one", "mine"), Upload("2", b"two", "theirs")]
        with pytest.raises(InvalidInput, match="by themselves"):
            async for _ in mesh.documents.ingest(mixed):
                pass


async def test_a_replica_takes_only_what_the_mesh_sent_to_it(tmp_path: Path) -> None:
    async for listen in running(tmp_path, shard=1):
        async with Mesh({"retrieval": listen}) as mesh, grpc.aio.insecure_channel(listen) as channel:
            with pytest.raises(PreconditionFailed, match="replica 1"):
                await mesh.collections.create("notes")
            stub = CollectionServiceStub(channel)
            request = collections_pb.CreateCollectionRequest(name="notes")
            for wrong in ([("x-citemesh-shard", "1")], [("x-citemesh-collection", "notes"), ("x-citemesh-shard", "0")]):
                with pytest.raises(grpc.RpcError) as caught:
                    await stub.CreateCollection(request, metadata=wrong)
                assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
            right = (("x-citemesh-collection", "notes"), ("x-citemesh-shard", "1"))
            await stub.CreateCollection(request, metadata=right)
            asked = collections_pb.ListCollectionsRequest()
            listed = await stub.ListCollections(asked, metadata=(("x-citemesh-shard", "1"),))
            assert [found.name for found in listed.collections] == ["notes"]
