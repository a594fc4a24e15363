"""A channel within the process: context, deadlines, cancellation and errors are those of a server behind a socket."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from pathlib import Path

import grpc
import pytest

from citemesh.api.generation.v1 import generation_service_pb2 as pb
from citemesh.api.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from citemesh.api.tokenizer.v1 import tokenizer_service_pb2
from citemesh.api.tokenizer.v1.tokenizer_service_pb2_grpc import TokenizerServiceStub
from citemesh.client.generation import GenerationClient
from citemesh.client.transport.caller import Caller
from citemesh.client.transport.in_process import in_process
from citemesh.client.types import Delta
from citemesh.errors import CiteMeshError, DeadlineExceeded, InvalidInput, Unavailable
from citemesh.kit import call_context
from citemesh.kit.collection_scope import CollectionScope
from tests.unit.kit.conftest import Servicer, Small


class Local:
    """The small service in this process: its servicer and a client."""

    def __init__(self, servicer: Servicer, caller: Caller) -> None:
        self.servicer = servicer
        self.channel = caller.channel
        self.client = GenerationClient(caller)

    async def consume(self, model: str = "") -> list[Delta]:
        return [delta async for delta in self.client.generate([1], model=model)]


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Local]:
    small = Small(tmp_path)
    async with in_process(small.spec) as caller:
        yield Local(small.servicer, caller)


async def until(condition: Callable[[], bool], within_s: float = 5.0) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.005)


async def test_responses_come_as_they_are_made(local: Local) -> None:
    async with aclosing(local.client.generate([1])) as deltas:
        assert (await anext(deltas)).text == "first"
        local.servicer.release.set()
        assert [delta.text async for delta in deltas] == ["last"]
    assert await local.client.list() == ()


async def test_context_travels_and_stays_out_of_the_caller(local: Local) -> None:
    headers = {"x-citemesh-priority": "background", "x-citemesh-subject": "ann", "x-citemesh-tenant": "acme"}
    headers |= {"x-citemesh-collections": "notes,team-*", "x-citemesh-collection": "notes", "x-citemesh-shard": "1"}
    context = call_context.from_headers(headers, 3.0)
    with call_context.calling(context):
        async with aclosing(local.client.generate([1])) as deltas:
            await anext(deltas)
            assert call_context.current() == context
        local.servicer.release.set()
        await local.client.list()
        assert call_context.current() == context
    for seen in local.servicer.seen:
        assert (seen.priority, seen.subject, seen.tenant) == (2, "ann", "acme")
        assert seen.scope == CollectionScope(("notes", "team-*"))
        assert (seen.collection, seen.shard) == ("", ""), "what a call is addressed to concerns one hop alone"
        assert 0 < seen.ends_at - asyncio.get_running_loop().time() <= 3.0


async def test_errors_keep_their_kind_and_hide_what_is_unexpected(local: Local) -> None:
    with pytest.raises(InvalidInput, match="is bad; use another"):
        await local.consume("bad")
    with pytest.raises(CiteMeshError, match="incident") as caught:
        await local.consume("boom")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(Unavailable):
        await local.consume("broken")


async def test_leaving_the_stream_cancels_the_call(local: Local) -> None:
    async with aclosing(local.client.generate([1])) as deltas:
        async for _ in deltas:
            break
    await until(lambda: local.servicer.active == 0 and local.servicer.cancelled == 1)


@pytest.mark.parametrize("single", [False, True])
async def test_cancelling_the_task_cancels_the_call(local: Local, single: bool) -> None:
    task: asyncio.Task[object] = asyncio.create_task(local.client.list() if single else local.consume())
    await until(lambda: len(local.servicer.seen) == 1)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()
    await until(lambda: local.servicer.active == 0)


@pytest.mark.parametrize("single", [False, True])
async def test_the_callers_deadline_ends_the_work(local: Local, single: bool) -> None:
    with call_context.calling(call_context.from_headers({}, 0.1)), pytest.raises(DeadlineExceeded):
        await (local.client.list() if single else local.consume())
    await until(lambda: local.servicer.active == 0)


async def test_closing_the_channel_ends_what_still_streams(local: Local) -> None:
    call = GenerationServiceStub(local.channel).Generate(pb.GenerateRequest())
    await until(lambda: local.servicer.active == 1)
    await local.channel.close()
    assert local.servicer.active == 0
    assert await call.code() is grpc.StatusCode.CANCELLED
    with pytest.raises(asyncio.CancelledError):
        [response async for response in call]


async def test_a_servicer_is_only_so_far_ahead_of_its_client(local: Local) -> None:
    made = 0

    class Counting(Servicer):
        async def Generate(self, request: pb.GenerateRequest, context: object) -> AsyncIterator[pb.GenerateResponse]:  # type: ignore[override]
            nonlocal made
            for _ in range(1000):
                made += 1
                yield pb.GenerateResponse(text="x")

    small = Small(Path("unused"))
    small.servicer = Counting()
    async with in_process(small.spec) as caller:
        call = GenerationServiceStub(caller.channel).Generate(pb.GenerateRequest())
        await asyncio.sleep(0.05)
        assert made <= 65
        assert len([response async for response in call]) == 1000


async def test_a_service_that_is_not_there_is_not_supported(local: Local) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="UNIMPLEMENTED"):
        await TokenizerServiceStub(local.channel).ListTokenizers(tokenizer_service_pb2.ListTokenizersRequest())
