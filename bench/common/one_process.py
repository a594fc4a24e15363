"""The services of the mesh in this process, as a flow's upstreams, over a copy of a mesh's store."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from citemesh.kit.settings import load
from gateway.query.ports import Upstreams
from services.generation.local import local_generation
from services.generation.settings import GenerationSettings
from services.reranker.local import local_reranker
from services.reranker.settings import RerankerSettings
from services.retrieval.local import local_retrieval
from services.retrieval.settings import RetrievalSettings
from services.tokenizer.local import local_tokenizer
from services.tokenizer.settings import TokenizerSettings

STORE = Path("store") / "store.db"


@asynccontextmanager
async def upstreams(state_dir: Path) -> AsyncIterator[Upstreams]:
    """All services as their settings say, retrieval over the store in a state directory."""
    retrieval_settings = load(RetrievalSettings).model_copy(update={"state_dir": state_dir})
    async with (
        local_tokenizer(load(TokenizerSettings)) as tokenizer,
        local_retrieval(retrieval_settings) as retrieval,
        local_generation(load(GenerationSettings)) as generation,
        local_reranker(load(RerankerSettings)) as reranker,
    ):
        yield Upstreams(tokenizer, retrieval.search, generation, reranker)


def copy_store(source: Path, target: Path) -> None:
    """Copies the store of one state directory to another, consistently, while it is in use."""
    (target / STORE).parent.mkdir(parents=True)
    address = f"file:{source / STORE}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as old, closing(sqlite3.connect(target / STORE)) as new:
        old.backup(new)
