"""The generation service in this process: its own servicer behind its own client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from citemesh.client.generation import GenerationClient
from citemesh.client.transport.in_process import in_process
from services.generation.main import build
from services.generation.settings import GenerationSettings


@asynccontextmanager
async def local_generation(settings: GenerationSettings) -> AsyncIterator[GenerationClient]:
    """The service as its settings say, started and stopped here. Raises as its process does when it starts."""
    async with in_process(build(settings)) as caller:
        yield GenerationClient(caller)
