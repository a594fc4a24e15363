"""The retrieval service without its service."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from citemesh.client.types import Location, Passage, Search, SearchAnswer, Span
from citemesh.contract.bounds import DEFAULT_COLLECTION
from citemesh.kit.settings import load
from services.retrieval.embedding.queue import EmbeddingQueue
from services.retrieval.engine import RetrievalEngine
from services.retrieval.ingestion.passage_tokens import NoTokenizer
from services.retrieval.main import Parts, engine_of
from services.retrieval.settings import RetrievalSettings
from services.retrieval.types.query import Filter, Query
from services.retrieval.types.results import FoundChunk

STORE = Path("store") / "store.db"


class LocalRetrieval:
    """RetrievalPort over the service's engine and embedding queue."""

    def __init__(self, engine: RetrievalEngine, embeddings: EmbeddingQueue) -> None:
        self._engine = engine
        self._embeddings = embeddings

    async def find(self, search: Search) -> SearchAnswer:
        """Passages, best first; hybrid or lexical, as the flow asks, and without conditions on metadata."""
        dense = search.mode != "lexical"
        asked = Query(
            collection=search.collection or DEFAULT_COLLECTION,
            text=search.query,
            top_k=search.top_k,
            vector=(await self._embeddings.readable([search.query]))[0] if dense else None,
            embedding=self._embeddings.encoder.embedding if dense else None,
            mode="hybrid" if dense else "lexical",
            filter=Filter(search.filter.document_ids, search.filter.source_types),
            with_token_ids=search.with_token_ids,
            with_token_vectors=search.with_token_vectors,
        )
        results = await self._engine.search(asked)
        return SearchAnswer(tuple(map(_passage, results.found)), results.sequence, results.notices)


def _passage(found: FoundChunk) -> Passage:
    chunk, document, place = found.chunk, found.document, found.chunk.place
    return Passage(
        chunk_id=chunk.chunk_id,
        document_id=document.document_id,
        collection=document.collection,
        title=document.title,
        uri=document.uri,
        location=Location(Span(place.start, place.end), place.page, place.headings),
        text=chunk.text,
        token_ids=chunk.tokens.ids,
        tokenizer_digest=chunk.tokens.digest,
        fused=found.fused,
        dense=found.dense,
        lexical=found.lexical,
        metadata=dict(document.metadata),
        token_vectors=chunk.token_vectors.packed,
        token_vectors_digest=chunk.token_vectors.digest,
    )


@asynccontextmanager
async def local_retrieval(state_dir: Path) -> AsyncIterator[LocalRetrieval]:
    """A retrieval service over the store in a state directory. Raises as its service does when it starts."""
    settings = load(RetrievalSettings).model_copy(update={"state_dir": state_dir})
    parts = Parts(settings, engine_of(settings), NoTokenizer())
    await parts.start()
    try:
        yield LocalRetrieval(parts.engine, parts.embeddings)
    finally:
        await parts.stop()


def copy_store(source: Path, target: Path) -> None:
    """Copies the store of one state directory to another, consistently, while it is in use."""
    (target / STORE).parent.mkdir(parents=True)
    address = f"file:{source / STORE}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as old, closing(sqlite3.connect(target / STORE)) as new:
        old.backup(new)
