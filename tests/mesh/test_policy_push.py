"""Keys and policy code change under traffic: fifty pushes, some of them broken, and no stream notices."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from citemesh.client import Mesh
from citemesh.client.types import Upload
from citemesh.errors import Unauthenticated
from citemesh.mesh import push_identity
from citemesh.mesh.identity import identity_config, new_key
from tests.support.asking import ask, ingest
from tests.support.running import RunningMesh

PUSHES = 50
METHODS = ["/citemesh.api.query.v1.QueryService/*"]
PAGE = b"# Kettle\n\nThe kettle of Marrowmere is kept in the third cupboard. It whistles at noon.\n"


@pytest.fixture
async def client(fake_mesh: RunningMesh) -> AsyncIterator[Mesh]:
    async with fake_mesh.client() as caller:
        await ingest(caller, [Upload("kettle", PAGE, uri="kettle.md")])
        yield caller


def configuration(mesh: RunningMesh, extra: Any = None) -> dict[str, Any]:
    config = mesh.stack.layout.keyring.load()
    keys = [*config.keys, extra] if extra else config.keys
    return identity_config(keys, config.allow, config.public)


def broken(good: dict[str, Any], number: int) -> dict[str, Any]:
    """Four ways of being wrong, by turns."""
    faults: list[dict[str, Any]] = [
        {"allow": ["127.0.0.0/80"]},
        {"version": 2},
        {"keys": [{**good["keys"][0], "sha256": "zz"}]},
        {"surprise": True},
    ]
    return {**good, **faults[number % len(faults)]}


async def test_fifty_pushes_under_steady_streams(fake_mesh: RunningMesh, client: Mesh) -> None:
    services = list(fake_mesh.stack.layout.service_names)
    stop = asyncio.Event()
    answered: list[str] = []

    async def stream() -> None:
        while not stop.is_set():
            answer = await ask(client, "Where is the kettle?", timeout_s=30)
            answered.append(answer.done.finish)

    streams = [asyncio.create_task(stream()) for _ in range(4)]
    try:
        for number in range(PUSHES):
            good = configuration(fake_mesh, new_key(f"user:{number}", "default", METHODS)[1])
            is_broken = number % 5 == 3
            config = broken(good, number // 5) if is_broken else good
            report = await asyncio.to_thread(push_identity, fake_mesh.stack.layout.placement, services, config)
            assert report.ok != is_broken, report
            if is_broken:
                assert all(service.reason for service in report.services if service.outcome != "live")
    finally:
        stop.set()
        finished = await asyncio.gather(*streams, return_exceptions=True)
    assert not [error for error in finished if error], finished
    assert len(answered) >= 8
    assert set(answered) == {"complete"}


async def test_a_new_key_opens_and_a_removed_one_closes(fake_mesh: RunningMesh) -> None:
    placement = fake_mesh.stack.layout.placement
    text, record = new_key("user:new", "default", METHODS)
    async with fake_mesh.client(key=text) as newcomer:
        with pytest.raises(Unauthenticated):
            await ask(newcomer, "Where is the kettle?")
        report = await asyncio.to_thread(push_identity, placement, ["gateway"], configuration(fake_mesh, record))
        assert report.ok, report
        assert (await ask(newcomer, "Where is the kettle?")).text
        report = await asyncio.to_thread(push_identity, placement, ["gateway"], configuration(fake_mesh))
        assert report.ok, report
        with pytest.raises(Unauthenticated):
            await ask(newcomer, "Where is the kettle?")
