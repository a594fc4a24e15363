"""Start, health, context, cancellation and drain of a service over a real socket."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path

import grpc
import pytest
from grpc_channelz.v1 import channelz_pb2, channelz_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from citemesh.client.types import Delta
from citemesh.errors import CiteMeshError, DeadlineExceeded, InvalidInput, Overloaded, Unavailable
from citemesh.kit import call_context
from citemesh.kit.collection_scope import CollectionScope

from .conftest import NAME, Small


async def until(condition: Callable[[], bool], within_s: float = 5.0) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.005)


async def consume(small: Small, model: str = "") -> list[Delta]:
    return [delta async for delta in small.mesh.generation.generate([1], model=model)]


async def test_health_follows_the_engine(small: Small) -> None:
    assert await small.mesh.serving("generation")
    small.is_healthy = False
    await until(lambda: not small.server.health.serving)
    assert not await small.mesh.serving("generation")


async def test_reflection_and_channelz_answer(small: Small) -> None:
    channel = small.mesh.channel("generation")
    ask = reflection_pb2.ServerReflectionRequest(list_services="")
    answers = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter([ask]), timeout=5)
    names = [service.name async for answer in answers for service in answer.list_services_response.service]
    assert NAME in names
    servers = await channelz_pb2_grpc.ChannelzStub(channel).GetServers(channelz_pb2.GetServersRequest(), timeout=5)
    assert len(servers.server) >= 1


async def test_errors_keep_their_kind_and_hide_what_is_unexpected(small: Small) -> None:
    with pytest.raises(InvalidInput, match="is bad; use another"):
        await consume(small, "bad")
    with pytest.raises(CiteMeshError) as caught:
        await consume(small, "boom")
    assert "hunter2" not in str(caught.value)
    assert "incident" in str(caught.value)


async def test_context_travels(small: Small) -> None:
    small.servicer.release.set()
    headers = {"x-citemesh-priority": "background", "x-citemesh-subject": "ann", "x-citemesh-tenant": "acme"}
    headers |= {"x-citemesh-collections": "notes,team-*", "x-citemesh-collection": "notes", "x-citemesh-shard": "1"}
    with call_context.calling(call_context.from_headers(headers, 3.0)):
        await consume(small)
    context = small.servicer.seen[0]
    assert (context.priority, context.subject, context.tenant) == (2, "ann", "acme")
    assert context.scope == CollectionScope(("notes", "team-*"))
    assert (context.collection, context.shard) == ("", ""), "what a call is addressed to concerns one hop alone"
    # gRPC rounds what is left up to the next of its steps.
    assert 0 < context.ends_at - asyncio.get_running_loop().time() <= 3.1


async def test_leaving_the_stream_cancels_the_call(small: Small) -> None:
    async with aclosing(small.mesh.generation.generate([1])) as deltas:
        async for _ in deltas:
            break
    await until(lambda: small.servicer.active == 0 and small.servicer.cancelled == 1)


async def test_cancelling_the_task_cancels_the_call(small: Small) -> None:
    task = asyncio.create_task(consume(small))
    await until(lambda: small.servicer.active == 1)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    await until(lambda: small.servicer.active == 0 and small.servicer.cancelled == 1)


async def test_the_callers_deadline_ends_the_work(small: Small) -> None:
    with call_context.calling(call_context.from_headers({}, 0.2)), pytest.raises(DeadlineExceeded):
        await consume(small)
    await until(lambda: small.servicer.active == 0)


async def test_a_hop_whose_clock_is_early_is_still_the_deadline(small: Small) -> None:
    with call_context.calling(call_context.from_headers({}, 0.3)), pytest.raises(DeadlineExceeded):
        await consume(small, "early")
    with call_context.calling(call_context.from_headers({}, 5.0)), pytest.raises(Unavailable):
        await consume(small, "broken")


async def test_no_time_left_makes_no_call(small: Small) -> None:
    with (
        call_context.calling(call_context.from_headers({}, 0.0)),
        pytest.raises(DeadlineExceeded, match="no time was left"),
    ):
        await consume(small)
    assert small.servicer.seen == []


async def test_message_limits_are_what_the_settings_say(small: Small) -> None:
    async def size(count: int) -> int:
        from citemesh.api.generation.v1 import generation_service_pb2 as pb
        from citemesh.api.generation.v1.generation_service_pb2_grpc import GenerationServiceStub

        stub = GenerationServiceStub(small.mesh.channel("generation"))
        call = stub.Generate(pb.GenerateRequest(model="large", text=str(count)), timeout=10)
        return sum([len(response.text) async for response in call])

    assert await size(10 * 1024 * 1024) == 10 * 1024 * 1024
    with pytest.raises(grpc.RpcError) as caught:
        await size(17 * 1024 * 1024)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_drain_finishes_what_is_in_flight(small: Small) -> None:
    task = asyncio.create_task(consume(small))
    await until(lambda: small.servicer.active == 1)
    stopping = asyncio.create_task(small.server.stop())
    await until(lambda: not small.server.ready)
    with pytest.raises(Unavailable):
        await consume(small)
    small.servicer.release.set()
    assert [delta.text for delta in await task] == ["first", "last"]
    await stopping


async def test_drain_cancels_what_outlives_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = Small(Path("late"), drain_s=0.1)  # a path of its own: gRPC still backs off from the last test's
    await small.server.start()
    async with small.mesh:
        task = asyncio.create_task(consume(small))
        await until(lambda: small.servicer.active == 1)
        await small.server.stop()
        with pytest.raises(Unavailable):
            await task
    assert small.servicer.active == 0


async def test_calls_before_the_engine_is_loaded_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = Small(Path("s"))
    loaded = asyncio.Event()
    object.__setattr__(small.spec, "start", loaded.wait)
    starting = asyncio.create_task(small.server.start())
    async with small.mesh:
        await until(lambda: (tmp_path / "s/run/generation.sock").exists())
        assert not await small.mesh.serving("generation")
        with pytest.raises(Unavailable, match="starting"):
            await consume(small)
        loaded.set()
        await starting
        small.servicer.release.set()
        assert len(await consume(small)) == 2
    await small.server.stop()


async def test_too_many_calls_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = Small(Path("s"))
    object.__setattr__(small.settings, "max_concurrent_rpcs", 2)
    small.server = type(small.server)(small.spec, small.settings)
    await small.server.start()
    async with small.mesh:
        tasks = [asyncio.create_task(consume(small)) for _ in range(2)]
        await until(lambda: small.servicer.active == 2)
        with pytest.raises(Overloaded):
            await consume(small)
        small.servicer.release.set()
        await asyncio.gather(*tasks)
    await small.server.stop()
