"""The reranker service in this process: its own servicer behind its own client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from citemesh.client.reranker import RerankerClient
from citemesh.client.transport.in_process import in_process
from services.reranker.main import build
from services.reranker.settings import RerankerSettings


@asynccontextmanager
async def local_reranker(settings: RerankerSettings) -> AsyncIterator[RerankerClient]:
    """Starts the service as its settings say, and stops it. Raises as its process does when it starts."""
    async with in_process(build(settings)) as caller:
        yield RerankerClient(caller)
