"""Two replicas of retrieval share out the collections through real sidecars: each has its own, and no other's."""

import dataclasses
from collections.abc import Iterator

import pytest

from citemesh.client import Mesh
from citemesh.client.types import Question, Search, Upload
from citemesh.errors import CiteMeshError, NotSupported, Unavailable
from citemesh.mesh import Topology, load_topology
from tests.support.running import RunningMesh, running_mesh

NAMES = [f"shelf-{number}" for number in range(12)]


def doubled() -> Topology:
    """The mesh with two replicas of retrieval."""
    topology = load_topology()
    services = tuple(
        dataclasses.replace(service, replicas=2) if service.name == "retrieval" else service
        for service in topology.services
    )
    return dataclasses.replace(topology, services=services)


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningMesh]:
    with running_mesh(tmp_path_factory.mktemp("s"), doubled(), fake=True) as running:
        yield running


async def fill(mesh: Mesh) -> None:
    for name in NAMES:
        if name not in {found.name for found in await mesh.collections.list()}:
            await mesh.collections.create(name)
        upload = Upload(
            "1", f"The book on {name} is about {name} and marigold.".encode(), name, media_type="text/plain"
        )
        states = [progress.state async for progress in mesh.documents.ingest([upload])]
        assert states[-1] in ("committed", "unchanged")


async def alone(running: RunningMesh, service_name: str) -> set[str]:
    """Collections of one replica, asked over its app's own socket."""
    number = "1" if service_name == "retrieval-1" else "0"
    async with Mesh({"retrieval": running.stack.layout.app_address(service_name)}, shards=2) as mesh:
        return {found.name for found in await mesh.collections._list((("x-citemesh-shard", number),))}


async def test_every_document_is_found_and_lies_in_one_place(sharded: RunningMesh) -> None:
    async with sharded.client() as mesh:
        await fill(mesh)
        for name in NAMES:
            assert [found.collection for found in await mesh.retrieval.search("marigold", name)] == [name]
            documents, _ = await mesh.documents.list(name)
            assert len(documents) == 1
        many = await mesh.retrieval.find_many([Search("marigold", name) for name in NAMES])
        assert [answer.passages[0].collection for answer in many] == NAMES
        assert [found.name for found in await mesh.collections.list()] == sorted(NAMES)
        events = [event async for event in mesh.query.ask(Question("What is the book about?", NAMES[0]))]
        assert events, "the gateway finds the replica too"
        with pytest.raises(NotSupported):
            await mesh.collections.snapshot()
    first, second = await alone(sharded, "retrieval"), await alone(sharded, "retrieval-1")
    assert first and second and not first & second
    assert first | second == set(NAMES)


async def test_where_one_replica_is_dead_the_others_collections_go_on(sharded: RunningMesh) -> None:
    async with sharded.client() as mesh:
        await fill(mesh)
        lost = await alone(sharded, "retrieval-1")
        restarts = sharded.restarts("retrieval-1")
        # The fake engine forgets with its process, so what is checked here is who answers, and who doesn't.
        await sharded.kill("retrieval-1")
        seen: set[str] = set()
        for name in sorted(lost):
            try:
                await mesh.retrieval.search("marigold", name)
            except Unavailable:
                seen.add("unavailable")
            except CiteMeshError as error:  # started anew meanwhile, and empty
                seen.add(error.reason)
        assert "unavailable" in seen
        assert seen <= {"unavailable", "NOT_FOUND"}, "no other replica answers in its place"
        for name in set(NAMES) - lost:
            assert await mesh.retrieval.search("marigold", name)
        await sharded.ready("retrieval-1", restarts + 1)
        assert not lost & await alone(sharded, "retrieval")
