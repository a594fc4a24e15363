"""The reranker service in the caller's process: its servicer and its client, without a socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from citemesh.client.caller import Caller
from citemesh.client.reranker import RerankerClient
from citemesh.kit.in_process import serving_in_process
from services.reranker.main import build
from services.reranker.settings import RerankerSettings


@asynccontextmanager
async def local_reranker(settings: RerankerSettings) -> AsyncIterator[RerankerClient]:
    """Runs a reranker service as its settings say; yields its client. Raises as the service does when it starts."""
    async with serving_in_process(build(settings)) as channel:
        yield RerankerClient(Caller(channel, "reranker"))
