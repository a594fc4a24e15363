"""The tokenizer service in this process: its own servicer behind its own client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from citemesh.client.tokenizer import TokenizerClient
from citemesh.client.transport.in_process import in_process
from services.tokenizer.main import build
from services.tokenizer.settings import TokenizerSettings


@asynccontextmanager
async def local_tokenizer(settings: TokenizerSettings) -> AsyncIterator[TokenizerClient]:
    """Starts the service as its settings say, and stops it. Raises as its process does when it starts."""
    async with in_process(build(settings)) as caller:
        yield TokenizerClient(caller)
