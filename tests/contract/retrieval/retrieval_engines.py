"""Engines and documents for the contract suite."""

import hashlib
import importlib.util
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citemesh.errors import NotSupported
from services.retrieval.embedding.encoder import in_context
from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.engine import RetrievalEngine
from services.retrieval.engines.durable.engine import DurableEngine
from services.retrieval.engines.fake import FakeRetrievalEngine
from services.retrieval.ingestion.chunk.chunker import ChunkSize
from services.retrieval.ingestion.describe import chunks_of, described
from services.retrieval.ingestion.read.document import read
from services.retrieval.ingestion.upload import Header, Upload
from services.retrieval.types.chunk import PackedTokenVectors, TokenIds
from services.retrieval.types.collection import Embedding
from services.retrieval.types.document import NewDocument
from services.retrieval.types.query import Filter, Mode, Query
from services.retrieval.types.results import Results

ENCODER = FakeEncoder()
EMBEDDING = ENCODER.embedding
OTHER = Embedding("other", "0" * 64, EMBEDDING.dimension)
SIZE = ChunkSize(40, 8)
PARIS = "Paris is the capital of France. It lies on the Seine."
BERLIN = "Berlin is the capital of Germany. The wall fell in 1989."
NOODLES = "Boil the noodles for nine minutes and drain them well."
CHINA = "北京是中国的首都。长城很长，游客很多。"
TEA = "他喜欢喝茶，不喜欢咖啡。"
TEXTS = {"paris": PARIS, "berlin": BERLIN, "noodles": NOODLES, "china": CHINA, "tea": TEA}


MILVUS = importlib.util.find_spec("pymilvus") is not None and importlib.util.find_spec("milvus_lite") is not None
KINDS = ("fake", "durable", *([pytest.param("milvus", marks=pytest.mark.real)] if MILVUS else []))
"""Kinds that the suites run on."""
REFUSES: Mapping[str, frozenset[str]] = {
    "fake": frozenset({"snapshot"}),
    "durable": frozenset(),
    "milvus": frozenset({"snapshot"}),
}
"""What engines of a kind say NotSupported to; the suites hold them to it."""


def refused(kind: str, what: str) -> AbstractContextManager[object]:
    """``with refused(kind, "snapshot"):`` expects NotSupported where the kind refuses it, and success elsewhere."""
    return pytest.raises(NotSupported) if what in REFUSES[kind] else nullcontext()


def make_engine(kind: str, directory: Path, snapshot_after: int = 20_000) -> RetrievalEngine:
    """The engine of a kind; those that keep something live in the directory."""
    if kind == "milvus":
        from services.retrieval.engines.milvus.engine import MilvusEngine

        return MilvusEngine(str(directory / "milvus.db"))
    return FakeRetrievalEngine() if kind == "fake" else DurableEngine(directory, snapshot_after=snapshot_after)


@asynccontextmanager
async def opened(kind: str, directory: Path, snapshot_after: int = 20_000) -> AsyncIterator[RetrievalEngine]:
    """An open engine with the default collection."""
    engine = make_engine(kind, directory, snapshot_after)
    await engine.open()
    try:
        if not await engine.collections("", 1):
            await engine.create("default", EMBEDDING)
        yield engine
    finally:
        await engine.close()


def new_document(
    text: str,
    document_id: str,
    collection: str = "default",
    uri: str = "",
    media_type: str = "text/plain",
    metadata: Mapping[str, str] | None = None,
    title: str = "",
    embedding: Embedding = EMBEDDING,
    tokens: TokenIds | None = None,
    token_vectors: PackedTokenVectors | None = None,
    table_id: str = "",
    unreadable: Iterable[int] = (),
) -> NewDocument:
    """A document as the pipeline makes it, with fake vectors."""
    data = text.encode()
    header = Header(document_id, collection, document_id, title, uri, media_type, metadata=metadata or {})
    sha256 = hashlib.sha256(data).hexdigest()
    detected, parsed = read(data, media_type, uri)
    info = described(Upload(header, data), document_id, sha256, detected.source_type, parsed)
    chunks = chunks_of(info, parsed, ENCODER, SIZE)
    if tokens is not None:
        chunks = [replace(chunk, tokens=tokens) for chunk in chunks]
    if token_vectors is not None:
        chunks = [replace(chunk, token_vectors=token_vectors) for chunk in chunks]
    seen = [in_context(info.title, chunk.place.headings, chunk.text) for chunk in chunks]
    vectors = ENCODER.embed(ENCODER.ids(seen, "passage"))
    vectors[list(unreadable)] = np.nan
    info = replace(info, chunks=len(chunks), table_id=table_id)
    return NewDocument(info, parsed.text, chunks, vectors, embedding, frozenset(unreadable))


async def search(
    engine: RetrievalEngine,
    text: str,
    mode: Mode = "hybrid",
    top_k: int = 10,
    collection: str = "default",
    chosen: Filter | None = None,
    **more: Any,
) -> Results:
    """A search as the service makes it; more goes into the query."""
    return await engine.search(query_for(text, mode, top_k, collection, chosen, **more))


def query_for(
    text: str,
    mode: Mode = "hybrid",
    top_k: int = 10,
    collection: str = "default",
    chosen: Filter | None = None,
    **more: Any,
) -> Query:
    """A query as the service makes it."""
    vector = None if mode == "lexical" else ENCODER.embed(ENCODER.ids([text], "query"))[0]
    embedding = None if mode == "lexical" else EMBEDDING
    return Query(collection, text, top_k, vector, embedding, mode, chosen or Filter(), **more)


def ids_of(results: Results) -> list[str]:
    """Documents of results, each once, best first."""
    return list(dict.fromkeys(found.document.document_id for found in results.chunks))


def after(results: Results, at: datetime) -> Sequence[bool]:
    """Whether each result was published since."""
    return [(found.document.published_at or at) >= at for found in results.chunks]
