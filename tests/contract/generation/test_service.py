"""What generation promises its callers, over a real socket: on the fake engine and on the real one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from citemesh.api.generation.v1 import generation_service_pb2 as pb
from citemesh.api.generation.v1.generation_service_pb2_grpc import GenerationServiceStub
from citemesh.client import Mesh
from citemesh.client.types import Sampling
from citemesh.errors import DeadlineExceeded, InvalidInput, NotFound, Overloaded, PreconditionFailed, Unavailable
from citemesh.kit import call_context
from citemesh.kit.server import serve
from services.generation.engine import Work
from services.generation.engines.fake import FakeGenerationEngine, Faults
from services.generation.host import Host
from services.generation.main import SERVICE, service_of
from services.generation.settings import GenerationSettings
from tests.contract.generation.generation_engines import ALL, make_engine, prompt_of, serving

TEXT = "[1] The sky is blue. 天空是蓝色的 😀🎉。\n" * 10


@pytest.fixture(scope="module")
async def host(request: pytest.FixtureRequest) -> AsyncIterator[tuple[str, Host]]:
    host = Host(make_engine(request.param), 64)
    await host.start()
    yield request.param, host
    await host.stop()


class Started(Host):
    """A host whose engine is started and stopped by the test run, not by each server."""

    def __init__(self, host: Host) -> None:
        self.__dict__ = host.__dict__

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass


async def until(condition: Callable[[], Any], within_s: float = 10.0) -> None:
    async with asyncio.timeout(within_s):
        while not await condition():
            await asyncio.sleep(0.005)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("host", ALL, indirect=True, scope="module")
class TestEveryEngine:
    async def test_an_answer_streams(self, host: tuple[str, Host], tmp_path: Path) -> None:
        kind, engine = host
        async with serving(Started(engine), tmp_path) as settings, Mesh({"generation": settings.address}) as mesh:
            (model,) = await mesh.generation.list()
            ids = prompt_of(kind, TEXT)
            stream = mesh.generation.generate(ids, model.tokenizer_digest, Sampling(max_tokens=20), model.name)
            deltas = [delta async for delta in stream]
            assert len(deltas) > 2
            assert "\ufffd" not in "".join(delta.text for delta in deltas)
            assert deltas[-1].finish in ("stop", "length")
            usage = deltas[-1].usage
            assert usage is not None
            assert usage.prompt_tokens == len(ids)
            assert usage.completion_tokens == sum(len(delta.token_ids) for delta in deltas)

    async def test_a_caller_that_hangs_up_frees_the_engine(self, host: tuple[str, Host], tmp_path: Path) -> None:
        kind, engine = host
        async with serving(Started(engine), tmp_path) as settings, Mesh({"generation": settings.address}) as mesh:
            stream = mesh.generation.generate(prompt_of(kind, TEXT), sampling=Sampling(max_tokens=2000))
            await anext(stream)
            (busy,) = await mesh.generation.list()
            assert busy.running_requests == 1
            await stream.aclose()  # type: ignore[attr-defined]  # it is an async generator

            async def idle() -> bool:
                return (await mesh.generation.list())[0].running_requests == 0

            await until(idle, 2.0)

    async def test_a_deadline_reaches_the_engine(self, host: tuple[str, Host], tmp_path: Path) -> None:
        kind, engine = host
        async with serving(Started(engine), tmp_path) as settings, Mesh({"generation": settings.address}) as mesh:
            now = asyncio.get_running_loop().time()
            stream = mesh.generation.generate(prompt_of(kind, TEXT), sampling=Sampling(max_tokens=2000))
            with call_context.calling(call_context.CallContext(now + 0.05)), pytest.raises(DeadlineExceeded):
                [delta async for delta in stream]

            async def idle() -> bool:
                return (await engine.state()).running == 0

            await until(idle, 2.0)

    async def test_bad_requests_are_told_what_is_wrong(self, host: tuple[str, Host], tmp_path: Path) -> None:
        _, engine = host
        faults: list[tuple[dict[str, Any], type[Exception], str]] = [
            ({"ids": ()}, InvalidInput, "prompt"),
            ({"ids": (4_000_000,)}, InvalidInput, "vocabulary"),
            ({"ids": (5,) * 40_000}, InvalidInput, "40000"),
            ({"ids": (5,), "model": "nope"}, NotFound, engine.facts.name),
            ({"ids": (5,), "digest": "0" * 64}, PreconditionFailed, "tokenizer"),
            ({"ids": (5,), "sampling": Sampling(temperature=3)}, InvalidInput, "sampling.temperature"),
        ]
        async with serving(Started(engine), tmp_path) as settings, Mesh({"generation": settings.address}) as mesh:
            for arguments, kind, words in faults:
                with pytest.raises(kind, match=words):
                    await anext(mesh.generation.generate(**arguments))


def fake_host(places: int = 64, **faults: Any) -> Host:
    return Host(FakeGenerationEngine(Faults(**faults)), places)


async def test_too_many_are_refused_at_once_with_a_delay(tmp_path: Path) -> None:
    async with (
        serving(fake_host(places=2, delay_s=30), tmp_path) as settings,
        grpc.aio.insecure_channel(settings.address) as channel,
        Mesh({"generation": settings.address}) as mesh,
    ):
        waiting = [asyncio.create_task(anext(mesh.generation.generate((65,)))) for _ in range(2)]  # type: ignore[arg-type]  # anext is awaitable

        async def full() -> bool:
            return (await mesh.generation.list())[0].running_requests == 2

        await until(full)
        with pytest.raises(Overloaded) as refusal:
            await anext(mesh.generation.generate((65,)))
        assert refusal.value.retry_after_s > 0
        call = GenerationServiceStub(channel).Generate(pb.GenerateRequest(text="x"))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        status = rpc_status.from_call(caught.value)  # type: ignore[arg-type]  # it reads what both kinds of errors have
        assert status is not None
        assert any(packed.Is(error_details_pb2.RetryInfo.DESCRIPTOR) for packed in status.details)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_an_engine_that_dies_ends_its_streams_its_health_and_its_process(tmp_path: Path) -> None:
    settings = GenerationSettings(engine="fake", listen=f"unix:{tmp_path / 'g.sock'}", drain_s=1)
    service_name = service_of(fake_host(die_after=2), settings)
    process = asyncio.create_task(serve(service_name, settings, asyncio.Event()))
    async with Mesh({"generation": settings.address}) as mesh:

        async def up() -> bool:
            return (tmp_path / "g.sock").exists() and await service_name.healthy()

        await until(up)
        stream = mesh.generation.generate(prompt_of("fake", TEXT))
        assert [(await anext(stream)).finish for _ in range(2)] == ["", ""]
        with pytest.raises(Unavailable):
            await anext(stream)
        assert not await service_name.healthy()
        with pytest.raises(PreconditionFailed, match="engine of generation is lost"):
            await asyncio.wait_for(process, 10)


async def test_a_clean_stop_is_no_fault(tmp_path: Path) -> None:
    settings = GenerationSettings(engine="fake", listen=f"unix:{tmp_path / 'g.sock'}", drain_s=1)
    service_name, stop = service_of(fake_host(), settings), asyncio.Event()
    process = asyncio.create_task(serve(service_name, settings, stop))
    await until(service_name.healthy)
    stop.set()
    await asyncio.wait_for(process, 10)


async def test_health_and_reflection_speak_for_the_service(tmp_path: Path) -> None:
    host = fake_host(die_after=1)
    changes = {"exit_on_engine_death": False}
    async with (
        serving(host, tmp_path, **changes) as settings,
        grpc.aio.insecure_channel(settings.address) as channel,
    ):
        ask = reflection_pb2.ServerReflectionRequest(list_services="")
        answers = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter([ask]))
        listed = [service.name async for answer in answers for service in answer.list_services_response.service]
        assert SERVICE in listed
        health = health_pb2_grpc.HealthStub(channel)

        async def says(status: int) -> bool:
            return (await health.Check(health_pb2.HealthCheckRequest(service=SERVICE))).status == status

        await until(lambda: says(health_pb2.HealthCheckResponse.SERVING))
        with pytest.raises(Unavailable):
            await drained(host)
        await until(lambda: says(health_pb2.HealthCheckResponse.NOT_SERVING))


async def drained(host: Host) -> None:
    async for _ in host.generate(Work(TEXT), 5):
        pass


async def test_what_is_not_built_says_so(tmp_path: Path) -> None:
    async with (
        serving(fake_host(), tmp_path) as settings,
        grpc.aio.insecure_channel(settings.address) as channel,
    ):
        stub = GenerationServiceStub(channel)
        for call in (
            stub.Score(pb.ScoreRequest()),
            stub.LoadAdapter(pb.LoadAdapterRequest()),
            stub.UnloadAdapter(pb.UnloadAdapterRequest()),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
            assert "later version" in str(caught.value.details())
