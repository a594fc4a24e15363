"""The generation service in the caller's process: its servicer and its client, without a socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from citemesh.client.caller import Caller
from citemesh.client.generation import GenerationClient
from citemesh.kit.in_process import serving_in_process
from services.generation.main import build
from services.generation.settings import GenerationSettings


@asynccontextmanager
async def local_generation(settings: GenerationSettings) -> AsyncIterator[GenerationClient]:
    """Runs a generation service as its settings say; yields its client. Raises as the service does when it starts."""
    async with serving_in_process(build(settings)) as channel:
        yield GenerationClient(Caller(channel, "generation"))
