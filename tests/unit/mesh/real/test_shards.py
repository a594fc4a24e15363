"""Replicas that share out what they keep: the sidecar of the caller finds the one by a header, and no other answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from mesh_harness import RunningMesh, place

from citemesh.mesh.dial import ingress_targets
from citemesh.mesh.render import write_runtime
from citemesh.mesh.topology import load_topology

pytestmark = pytest.mark.real

BACK = "/acme.back.v1.Back/"
NAMES = [f"notes-{number}" for number in range(40)]
TOPOLOGY = Path(__file__).parents[1] / "golden/sharded/in/mesh.yaml"


@pytest.fixture
def shards(short_dir: Path) -> Iterator[RunningMesh]:
    """`front` calls `back`, of which there are two."""
    topology = load_topology(TOPOLOGY)
    mesh = RunningMesh(topology, place(topology, short_dir))
    write_runtime(topology, mesh.placement)
    try:
        for service_name in topology.service_names():
            mesh.start_app(service_name)
        mesh.start_sidecars()
        yield mesh
    finally:
        mesh.stop()


def egress(mesh: RunningMesh) -> Any:
    return grpc.aio.insecure_channel(ingress_targets(mesh.placement, topology=mesh.topology)["back"])


async def ask(channel: Any, method: str, *headers: tuple[str, str]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(await channel.unary_unary(BACK + method)(b"", metadata=headers, timeout=10))
    return answer


async def shard_of(channel: Any, name: str) -> str:
    """The number that the replica was told, by whatever a caller claims."""
    seen = await ask(channel, "Echo", ("x-citemesh-collection", name), ("x-citemesh-shard", "made-up"))
    return str(seen["metadata"]["x-citemesh-shard"])


async def places(mesh: RunningMesh) -> dict[str, str]:
    async with egress(mesh) as channel:
        return {name: await shard_of(channel, name) for name in NAMES}


async def reached(mesh: RunningMesh) -> dict[str, str] | None:
    """As `places`; None while a replica is not available."""
    try:
        return await places(mesh)
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            raise
        return None


async def calls_of(mesh: RunningMesh, service_name: str, method: str) -> int:
    """Calls that an app has had, asked at its own door."""
    async with grpc.aio.insecure_channel(mesh.placement.ingress(mesh.topology.service(service_name))) as channel:
        return int((await ask(channel, "Echo"))["calls"].get(method, 0))


async def test_a_name_has_one_replica_and_keeps_it(shards: RunningMesh) -> None:
    found = await places(shards)
    assert await places(shards) == found
    count = sum(shard == "0" for shard in found.values())
    assert set(found.values()) == {"0", "1"}
    assert 8 <= count <= 32, "the ring shares out evenly enough"
    assert await calls_of(shards, "back", "Echo") == 2 * count + 1
    assert await calls_of(shards, "back-1", "Echo") == 2 * (len(NAMES) - count) + 1


async def test_a_dead_replica_takes_nobody_elses_place(shards: RunningMesh) -> None:
    found = await places(shards)
    for service_name, strike in (("back-1", shards.kill_app), ("back-1", kill_sidecar(shards))):
        await asyncio.to_thread(strike, service_name)
        async with egress(shards) as channel:
            for _ in range(3):
                for name, shard in found.items():
                    if shard == "0":
                        assert await shard_of(channel, name) == "0"
                        continue
                    with pytest.raises(grpc.aio.AioRpcError) as caught:
                        await shard_of(channel, name)
                    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert await calls_of(shards, "back", "Echo") == 7 * sum(shard == "0" for shard in found.values()) + 1


async def test_a_replica_that_is_back_has_its_place_again(shards: RunningMesh) -> None:
    found = await places(shards)
    shards.kill_app("back-1")
    await asyncio.to_thread(shards.wait_healthy, "back-1", False)
    shards.start_app("back-1")
    async with asyncio.timeout(20):
        while (now := await reached(shards)) is None:
            await asyncio.sleep(0.05)
    assert now == found


async def test_a_retry_goes_to_the_same_replica(shards: RunningMesh) -> None:
    found = await places(shards)
    name = next(name for name, shard in found.items() if shard == "1")
    async with egress(shards) as channel:
        with pytest.raises(grpc.aio.AioRpcError, match="not now"):
            await ask(channel, "Fail", ("x-citemesh-collection", name))
    assert (await calls_of(shards, "back", "Fail"), await calls_of(shards, "back-1", "Fail")) == (0, 3)


async def test_each_replica_is_asked_by_its_number_where_the_topology_says_so(shards: RunningMesh) -> None:
    async with egress(shards) as channel:
        for number in ("0", "1"):
            seen = await ask(channel, "Echo", ("x-citemesh-shard", number))
            assert seen["metadata"]["x-citemesh-shard"] == number
    assert (await calls_of(shards, "back", "Echo"), await calls_of(shards, "back-1", "Echo")) == (2, 2)


def kill_sidecar(mesh: RunningMesh) -> Any:
    def strike(service_name: str) -> None:
        mesh.sidecars[service_name].kill()
        mesh.sidecars[service_name].wait(5)

    return strike
