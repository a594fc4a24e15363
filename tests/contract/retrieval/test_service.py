"""What the retrieval service promises its callers, over a real socket: on the fake engine and on the durable one."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from citemesh.api.retrieval.v1 import collection_service_pb2 as collections_pb
from citemesh.api.retrieval.v1 import retrieval_service_pb2 as search_pb
from citemesh.api.retrieval.v1.collection_service_pb2_grpc import CollectionServiceStub
from citemesh.api.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceStub
from citemesh.client import Mesh
from citemesh.errors import (
    AlreadyExists,
    DeadlineExceeded,
    InvalidInput,
    NotFound,
    PreconditionFailed,
    Unavailable,
)
from citemesh.kit.server import Registration, Server, ServiceSpec
from services.retrieval import main
from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.wiring.engine import engine_of
from tests.contract.retrieval.retrieval_service import (
    GUIDE,
    Service,
    WordTokenizer,
    note,
    service,
    serving,
    settings_for,
    until,
    with_real,
)

__all__ = ["service"]


async def test_deleted_documents_are_gone(service: Service) -> None:
    await service.last(note("a", "About apples.", document_id="a"), note("b", "About bananas.", document_id="b"))
    assert await service.mesh.documents.delete(["a", "zzz"]) == (("a",), ("zzz",))
    assert {it.document_id for it in await service.mesh.retrieval.search("apples bananas")} == {"b"}
    with pytest.raises(NotFound):
        await service.mesh.documents.get("a")
    with pytest.raises(InvalidInput, match="document_ids"):
        await service.mesh.documents.delete([])


async def test_collections(service: Service) -> None:
    mesh = service.mesh
    made = await mesh.collections.create("notes")
    model = service.parts.embeddings.encoder.embedding
    assert (made.name, made.embedding_model, made.dimension) == ("notes", model.model, model.dimension)
    await service.last(note("a", "Only in notes.", collection="notes"))
    assert not await mesh.retrieval.search("notes")
    assert [it.name for it in await mesh.collections.list()] == ["default", "notes"]
    assert (await mesh.collections.get("notes")).documents == 1
    with pytest.raises(AlreadyExists):
        await mesh.collections.create("notes")
    with pytest.raises(PreconditionFailed):
        await mesh.collections.create("other", embedding_model="unknown")
    for name in ("", "Upper", "-x", "a" * 65, "a b", "../x", "名字"):
        with pytest.raises(InvalidInput, match="name"):
            await mesh.collections.create(name)
    for call in (mesh.retrieval.search("x", "nope"), mesh.documents.list("nope"), mesh.collections.get("nope")):
        with pytest.raises(NotFound, match="default, notes"):
            await call


async def test_a_search_checks_its_fields(service: Service) -> None:
    stub = RetrievalServiceStub(service.channel)
    bad: dict[str, list[dict[str, Any]]] = {
        "query": [{"query": ""}, {"query": "  \n"}, {"query": "x" * 32_769}],
        "top_k": [{"query": "x", "top_k": -1}, {"query": "x", "top_k": 100_000}],
        "mode": [{"query": "x", "mode": 77}],
        "filter.domains": [{"query": "x", "filter": search_pb.SearchFilter(domains=["-"])}],
    }
    for field, requests in bad.items():
        for fields in requests:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.Search(search_pb.SearchRequest(**fields))
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert caught.value.details().startswith(field)  # type: ignore[union-attr]  # it has details
    assert (await stub.Search(search_pb.SearchRequest(query="x" * 32_768, top_k=1000))).sequence_number >= 1


async def test_lists_go_by_pages(service: Service) -> None:
    await service.last(*(note(f"n{n}", f"text {n}", document_id=f"d{n}") for n in range(5)))
    seen: list[str] = []
    token = ""
    while True:
        documents, token = await service.mesh.documents.list(page_size=2, page_token=token)
        seen += (it.document_id for it in documents)
        if not token:
            break
    assert seen == [f"d{n}" for n in range(5)]
    with pytest.raises(InvalidInput, match="page_token"):
        await service.mesh.documents.list(page_token="%%%")
    with pytest.raises(InvalidInput, match="page_size"):
        await service.mesh.documents.list(page_size=1001)
    stub = CollectionServiceStub(service.channel)
    first = await stub.ListCollections(collections_pb.ListCollectionsRequest(page_size=1))
    assert (len(first.collections), first.next_page_token) == (1, "")


@with_real
async def test_searches_go_on_beside_an_ingest(service: Service) -> None:
    await service.last(note("first", "The first document speaks of apples."))

    async def search() -> None:
        for _ in range(20):
            async with asyncio.timeout(10):
                assert (await service.mesh.retrieval.search("apples"))[0].text.startswith("The first")

    many = (note(f"n{n}", f"Number {n}. " * 30) for n in range(30))
    last, _ = await asyncio.gather(service.last(*many), search())
    assert {it.state for it in last.values()} == {"committed"}


async def test_a_passed_deadline_ends_the_call(service: Service) -> None:
    hurried = Mesh({"retrieval": service.settings.address}, timeout_s=0.001)
    async with hurried:
        with pytest.raises((DeadlineExceeded, Unavailable)):
            await asyncio.gather(*(hurried.retrieval.search("apples and pears") for _ in range(50)))
    assert await service.parts.healthy()


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    settings = settings_for("durable", tmp_path)
    async with serving(settings) as service:
        done = (await service.last(note("guide.md", GUIDE)))["guide.md"]
    async with serving(settings) as service:
        assert (await service.mesh.retrieval.search("green tea water"))[0].document_id == done.document_id
        assert (await service.last(note("guide.md", GUIDE)))["guide.md"].state == "unchanged"


async def test_a_store_of_another_model_is_refused_by_name(tmp_path: Path) -> None:
    settings = settings_for("durable", tmp_path)
    async with serving(settings) as service:
        await service.last(note("a", "About apples."))
    async with serving(settings, lambda _: FakeEncoder(32, "newer")) as service:
        with pytest.raises(PreconditionFailed, match=r"fake .64 dimensions.*newer"):
            await service.mesh.retrieval.search("apples")
        assert (await service.mesh.retrieval.search("apples", mode="lexical"))[0].text == "About apples."
        assert (await service.last(note("b", "About pears.")))["b"].error_reason == "MODEL_MISMATCH"
        await service.mesh.collections.create("new")
        assert (await service.last(note("c", "About plums.", collection="new")))["c"].state == "committed"


async def test_health_waits_for_the_store_and_the_model(tmp_path: Path) -> None:
    settings = settings_for("fake", tmp_path)
    parts = main.RetrievalParts(settings, engine_of(settings), WordTokenizer())
    go_on = asyncio.Event()

    async def start() -> None:
        await go_on.wait()
        await parts.start()

    registrations: Sequence[Registration] = main.registrations(parts, settings)
    server = Server(ServiceSpec("retrieval", registrations, start, parts.stop, parts.healthy), settings)
    starting = asyncio.create_task(server.start())
    async with grpc.aio.insecure_channel(settings.address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        asked = health_pb2.HealthCheckRequest()
        not_yet = await health.Check(asked, wait_for_ready=True, timeout=5)
        assert not_yet.status == health_pb2.HealthCheckResponse.NOT_SERVING
        go_on.set()
        await starting

        async def serves() -> bool:
            return bool((await health.Check(asked)).status == health_pb2.HealthCheckResponse.SERVING)

        await until(serves)
    await server.stop()
