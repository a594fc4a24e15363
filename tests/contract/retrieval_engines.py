"""Engines and documents for the contract suite."""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from services.retrieval.embedding.encoder import in_context
from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.engine import Embedding, Engine, Filter, Mode, NewDocument, Query, Results, TokenIds
from services.retrieval.engines.durable import DurableEngine
from services.retrieval.engines.fake import FakeEngine
from services.retrieval.ingest.chunk import ChunkSize
from services.retrieval.ingest.describe import chunks_of, described
from services.retrieval.ingest.read import read
from services.retrieval.ingest.upload import Header, Upload

ENCODER = FakeEncoder()
EMBEDDING = ENCODER.embedding
OTHER = Embedding("other", "0" * 64, EMBEDDING.dimension)
SIZE = ChunkSize(40, 8)


def make_engine(kind: str, directory: Path, snapshot_after: int = 20_000) -> Engine:
    """The engine of a kind; the durable one lives in the directory."""
    return FakeEngine() if kind == "fake" else DurableEngine(directory, snapshot_after=snapshot_after)


@asynccontextmanager
async def opened(kind: str, directory: Path, snapshot_after: int = 20_000) -> AsyncIterator[Engine]:
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
) -> NewDocument:
    """A document as the pipeline makes it, with fake vectors."""
    data = text.encode()
    header = Header(document_id, collection, document_id, title, uri, media_type, metadata=metadata or {})
    sha256 = hashlib.sha256(data).hexdigest()
    detected, parsed = read(data, media_type, uri)
    info = described(Upload(header, data), document_id, sha256, detected.source_type, parsed)
    chunks = chunks_of(info, parsed, ENCODER, SIZE)
    if tokens is not None:
        chunks = [type(chunk)(chunk.chunk_id, chunk.place, chunk.text, tokens) for chunk in chunks]
    seen = [in_context(info.title, chunk.place.headings, chunk.text) for chunk in chunks]
    vectors = ENCODER.embed(ENCODER.ids(seen, "passage"))
    info = type(info)(**{**{name: getattr(info, name) for name in info.__slots__}, "chunks": len(chunks)})
    return NewDocument(info, parsed.text, chunks, vectors, embedding)


async def search(
    engine: Engine,
    text: str,
    mode: Mode = "hybrid",
    top_k: int = 10,
    collection: str = "default",
    chosen: Filter | None = None,
    with_token_ids: bool = False,
) -> Results:
    """A search as the service makes it."""
    vector = None if mode == "lexical" else ENCODER.embed(ENCODER.ids([text], "query"))[0]
    embedding = None if mode == "lexical" else EMBEDDING
    return await engine.search(
        Query(collection, text, top_k, vector, embedding, mode, chosen or Filter(), with_token_ids)
    )


def ids_of(results: Results) -> list[str]:
    """Documents of results, each once, best first."""
    return list(dict.fromkeys(found.document.document_id for found in results.found))


def after(results: Results, at: datetime) -> Sequence[bool]:
    """Whether each result was published since."""
    return [(found.document.published_at or at) >= at for found in results.found]
