"""The retrieval service in this process: its own servicers behind its own clients."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from citemesh.client.collections import CollectionClient
from citemesh.client.documents import DocumentClient
from citemesh.client.retrieval import RetrievalClient
from citemesh.client.transport.in_process import in_process
from services.retrieval.main import build
from services.retrieval.settings import RetrievalSettings


@dataclass(frozen=True, slots=True)
class LocalRetrieval:
    """Search, documents and collections of one service."""

    search: RetrievalClient
    documents: DocumentClient
    collections: CollectionClient


@asynccontextmanager
async def local_retrieval(settings: RetrievalSettings) -> AsyncIterator[LocalRetrieval]:
    """The service as its settings say, started and stopped here. Raises as its process does when it starts."""
    async with in_process(build(settings)) as caller:
        yield LocalRetrieval(RetrievalClient(caller), DocumentClient(caller), CollectionClient(caller, 1))
