"""Puts vectors into a store through the engine, as ingestion would: `python -m bench.speed.fill VECTORS.npy`.

Documents have 100 passages of twelve words each, drawn from 50,000 by Zipf's law. The store is the environment's
(CITEMESH_STATE_DIR). Says as one JSON object how long it took, until the index is the one that such a size gets.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from bench.speed.lookup import EMBEDDING
from bench.speed.vectors import Vectors
from citemesh.contract.bounds import DEFAULT_COLLECTION
from citemesh.kit.settings import load
from services.retrieval.engine import RetrievalEngine
from services.retrieval.settings import RetrievalSettings
from services.retrieval.types.chunk import Chunk, Place
from services.retrieval.types.document import DocumentInfo, NewDocument
from services.retrieval.wiring.engine import engine_of, index_of

PASSAGES = 100
WORDS = 12
_VOCABULARY = 50_000
_DOCUMENTS = 10
"""Documents of one commit, as a stream that is ahead of the disk has them."""
_AT_ONCE = 4
_INDEX_S = 3600.0


def chunk_id(number: int) -> str:
    """The id of a vector's passage; it holds the number."""
    return f"{number:032x}"


async def fill(engine: RetrievalEngine, vectors: Vectors, wanted: str) -> dict[str, float]:
    """Puts all; answers seconds for that, and seconds more until the index is of the wanted kind."""
    await engine.open()
    await engine.create(DEFAULT_COLLECTION, EMBEDDING)
    started = time.perf_counter()
    places = iter(range(0, len(vectors), _DOCUMENTS * PASSAGES))
    chance = np.random.default_rng(len(vectors))
    await asyncio.gather(*(_put(engine, vectors, places, chance) for _ in range(_AT_ONCE)))
    put_s = time.perf_counter() - started
    await _settled(engine, wanted)
    index_s = time.perf_counter() - started - put_s
    await engine.close()
    return {"put_s": put_s, "index_s": index_s}


async def _put(engine: RetrievalEngine, vectors: Vectors, places: Iterator[int], chance: np.random.Generator) -> None:
    for first in places:
        starts = range(first, min(first + _DOCUMENTS * PASSAGES, len(vectors)), PASSAGES)
        await engine.put_many(
            [document(start, np.array(vectors[start : start + PASSAGES]), chance) for start in starts]
        )


def document(start: int, vectors: Vectors, chance: np.random.Generator) -> NewDocument:
    """The document that begins with a vector's number."""
    drawn = chance.zipf(1.2, (len(vectors), WORDS)) % _VOCABULARY
    texts = [" ".join(f"word{number}" for number in row) + "\n" for row in drawn]
    ends = np.cumsum([len(text) for text in texts]).tolist()
    chunks = [
        Chunk(chunk_id(start + at), Place(end - len(text), end), text)
        for at, (text, end) in enumerate(zip(texts, ends, strict=True))
    ]
    text = "".join(texts)
    info = DocumentInfo(
        document_id=f"d{start:09d}",
        collection=DEFAULT_COLLECTION,
        title=f"Document {start}",
        uri=f"https://docs.example/{start}",
        source_type="text",
        language="en",
        content_sha256=f"{start:064x}",
        size_bytes=len(text),
        characters=len(text),
        chunks=len(chunks),
        pages=0,
        ingested_at=datetime.now(UTC),
    )
    return NewDocument(info, text, chunks, vectors, EMBEDDING)


async def _settled(engine: RetrievalEngine, wanted: str) -> None:
    """Until the background work has made the index of this kind."""
    async with asyncio.timeout(_INDEX_S):
        while (await engine.collection(DEFAULT_COLLECTION)).index != wanted:  # noqa: ASYNC110 - the engine tells no one
            await asyncio.sleep(0.05)


def main() -> int:
    """Fills the store."""
    settings, vectors = load(RetrievalSettings), np.load(Path(sys.argv[1]), mmap_mode="r")
    wanted = index_of(settings).kind_for(len(vectors))
    print(json.dumps(asyncio.run(fill(engine_of(settings), vectors, wanted))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
