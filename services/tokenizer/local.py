"""The tokenizer service in the caller's process: its servicer and its client, without a socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from citemesh.client.caller import Caller
from citemesh.client.tokenizer import TokenizerClient
from citemesh.kit.in_process import serving_in_process
from services.tokenizer.main import build
from services.tokenizer.settings import TokenizerSettings


@asynccontextmanager
async def local_tokenizer(settings: TokenizerSettings) -> AsyncIterator[TokenizerClient]:
    """Runs a tokenizer service as its settings say; yields its client. Raises as the service does when it starts."""
    async with serving_in_process(build(settings)) as channel:
        yield TokenizerClient(Caller(channel, "tokenizer"))
