"""A small service over a real socket: its generation service does what its model name says."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from citemesh.api.generation.v1 import generation_service_pb2 as pb
from citemesh.api.generation.v1 import generation_service_pb2_grpc as stubs
from citemesh.client import Mesh
from citemesh.errors import InvalidInput
from citemesh.kit import call_context
from citemesh.kit.server import Registration, Server, ServiceSpec
from citemesh.kit.settings import ServiceSettings, service_config

NAME = "citemesh.api.generation.v1.GenerationService"


class Settings(ServiceSettings):
    """Settings of the small service."""

    model_config = service_config("generation")


class Servicer(stubs.GenerationServiceServicer):
    """Streams its own context; counts what is active and what was cancelled."""

    def __init__(self) -> None:
        self.active = 0
        self.cancelled = 0
        self.release = asyncio.Event()
        self.seen: list[call_context.CallContext] = []

    async def Generate(
        self, request: pb.GenerateRequest, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.GenerateResponse]:  # type: ignore[override]
        self.seen.append(call_context.current())
        self.active += 1
        try:
            if request.model == "bad":
                raise InvalidInput("model", "is bad", "use another")
            if request.model == "boom":
                raise ValueError("hunter2")
            if request.model == "early":
                # As a hop on the way whose clock is a moment ahead.
                await asyncio.sleep(max(0.0, (context.time_remaining() or 0) - 0.02))
                await context.abort(grpc.StatusCode.UNAVAILABLE, "broken off")
            if request.model == "broken":
                await context.abort(grpc.StatusCode.UNAVAILABLE, "broken off")
            if request.model == "large":
                yield pb.GenerateResponse(text="x" * int(request.text))
                return
            yield pb.GenerateResponse(text="first")
            await self.release.wait()
            yield pb.GenerateResponse(text="last", finish_reason=pb.FINISH_REASON_STOP)
        except (asyncio.CancelledError, GeneratorExit):  # the second where the call was sending just then
            self.cancelled += 1
            raise
        finally:
            self.active -= 1

    async def ListModels(self, request: pb.ListModelsRequest, context: object) -> pb.ListModelsResponse:
        self.seen.append(call_context.current())
        await self.release.wait()
        return pb.ListModelsResponse()


class Small:
    """The running service, its servicer and a client of it."""

    def __init__(self, state: Path, drain_s: float = 5.0) -> None:
        self.servicer = Servicer()
        self.is_healthy = True
        self.settings = Settings(state_dir=state, drain_s=drain_s)
        register = Registration(NAME, lambda s: stubs.add_GenerationServiceServicer_to_server(self.servicer, s))
        self.spec = ServiceSpec("generation", [register], self._nothing, self._nothing, self._healthy)
        self.server = Server(self.spec, self.settings)
        self.mesh = Mesh({"generation": self.settings.address})

    async def _nothing(self) -> None:
        pass

    async def _healthy(self) -> bool:
        return self.is_healthy


@pytest.fixture
async def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Small]:
    for name in list(os.environ):
        if name.startswith("CITEMESH_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    running = Small(Path("s"))
    await running.server.start()
    async with running.mesh:
        yield running
        running.servicer.release.set()
    await running.server.stop()
