"""The services of the mesh in this process, as a flow's upstreams, over a copy of a mesh's store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from citemesh.kit.settings import load
from gateway.query.ports import Upstreams
from services.generation.local import local_generation
from services.generation.settings import GenerationSettings
from services.reranker.local import local_reranker
from services.reranker.settings import RerankerSettings
from services.retrieval.engines.durable.store.backup.restore import restore
from services.retrieval.local import local_retrieval
from services.retrieval.settings import RetrievalSettings
from services.tokenizer.local import local_tokenizer
from services.tokenizer.settings import TokenizerSettings


@asynccontextmanager
async def upstreams(copy: Path, state_dir: Path) -> AsyncIterator[Upstreams]:
    """All services as their settings say, retrieval in a state directory over a copy that Snapshot made."""
    await asyncio.to_thread(restore, copy, state_dir / "store")
    retrieval_settings = load(RetrievalSettings).model_copy(update={"state_dir": state_dir})
    async with (
        local_tokenizer(load(TokenizerSettings)) as tokenizer,
        local_retrieval(retrieval_settings) as retrieval,
        local_generation(load(GenerationSettings)) as generation,
        local_reranker(load(RerankerSettings)) as reranker,
    ):
        yield Upstreams(tokenizer, retrieval.search, generation, reranker)
