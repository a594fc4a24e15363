"""The retrieval service in the caller's process: its servicers and their clients, without a socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from citemesh.client.caller import Caller
from citemesh.client.retrieval import CollectionClient, DocumentClient, RetrievalClient
from citemesh.kit.in_process import serving_in_process
from services.retrieval.main import build
from services.retrieval.settings import RetrievalSettings


@dataclass(frozen=True, slots=True)
class LocalRetrieval:
    """Clients of a retrieval service in this process."""

    search: RetrievalClient
    documents: DocumentClient
    collections: CollectionClient


@asynccontextmanager
async def local_retrieval(settings: RetrievalSettings) -> AsyncIterator[LocalRetrieval]:
    """Runs a retrieval service as its settings say; yields its clients. Raises as the service does when it starts."""
    async with serving_in_process(build(settings)) as channel:
        caller = Caller(channel, "retrieval")
        yield LocalRetrieval(RetrievalClient(caller), DocumentClient(caller), CollectionClient(caller))
