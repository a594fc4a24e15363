"""The generation service: messages in, engine, messages out."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, NoReturn

from citemesh.api.generation.v1 import generation_service_pb2 as pb
from citemesh.api.generation.v1.generation_service_pb2_grpc import GenerationServiceServicer
from citemesh.errors import NotSupported
from citemesh.kit.call_context import current_priority, remaining_s
from services.generation import convert, metrics
from services.generation.host import Host
from services.generation.settings import GenerationSettings

Context = Any
"""The call's context; nothing here needs it."""


class GenerationService(GenerationServiceServicer):
    """Answers GenerationService's calls with the engine of a host."""

    def __init__(self, host: Host, settings: GenerationSettings) -> None:
        self._host = host
        self._settings = settings

    async def Generate(self, request: pb.GenerateRequest, context: Context) -> AsyncIterator[pb.GenerateResponse]:
        """Streams the model's answer."""
        work = convert.work(request, self._host.facts, self._settings.default_max_tokens, current_priority())
        answer = self._host.generate(work, remaining_s(self._settings.timeout_s))
        async with aclosing(metrics.measured(answer, self._host.facts.name, work.priority)) as deltas:
            async for delta in deltas:
                if delta.text or delta.ids or delta.finish:
                    yield convert.response(delta)

    async def ListModels(self, request: pb.ListModelsRequest, context: Context) -> pb.ListModelsResponse:
        """Lists the loaded model, and how busy its engine is."""
        return pb.ListModelsResponse(models=[convert.model(self._host.facts, await self._host.state())])

    async def Score(self, request: pb.ScoreRequest, context: Context) -> pb.ScoreResponse:
        """Is not supported yet."""
        _not_yet("Score")

    async def LoadAdapter(self, request: pb.LoadAdapterRequest, context: Context) -> pb.LoadAdapterResponse:
        """Is not supported yet."""
        _not_yet("LoadAdapter")

    async def UnloadAdapter(self, request: pb.UnloadAdapterRequest, context: Context) -> pb.UnloadAdapterResponse:
        """Is not supported yet."""
        _not_yet("UnloadAdapter")


def _not_yet(name: str) -> NoReturn:
    raise NotSupported(f"GenerationService.{name}", "it comes in a later version")
