"""A pipeline to take documents in with."""

import csv
import io
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from services.retrieval.embedding.encoder import Encoder
from services.retrieval.embedding.fake import FakeEncoder
from services.retrieval.embedding.queue import EmbeddingLimits, EmbeddingQueue
from services.retrieval.engine import RetrievalEngine
from services.retrieval.ingestion.chunk.chunker import ChunkSize
from services.retrieval.ingestion.passage_tokens import NoTokenizer, TokenFiller
from services.retrieval.ingestion.pipeline import Pipeline
from services.retrieval.ingestion.read.process.reader import DirectReader
from services.retrieval.ingestion.upload import Header, Progress, Upload
from services.retrieval.types.chunk import Vector
from services.retrieval.types.document import DocumentInfo
from services.retrieval.types.query import Filter, Query
from tests.contract.retrieval.retrieval_engines import opened


def written(cells: Sequence[Sequence[str]], delimiter: str = ",", end: str = "\r\n") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end).writerows(cells)
    return out.getvalue().encode()


class Ingest:
    """A pipeline over an engine, with readers in this process."""

    def __init__(
        self, engine: RetrievalEngine, unreadable: str = "", encoder: Encoder | None = None, workers: int = 1
    ) -> None:
        self.engine = engine
        self.queue = EmbeddingQueue(
            lambda: encoder or FakeEncoder(unreadable=unreadable), EmbeddingLimits(workers=workers)
        )
        filler = TokenFiller(engine, NoTokenizer(), 60)
        self.pipeline = Pipeline(engine, DirectReader(), self.queue, filler, ChunkSize(64, 8))
        self.reports: list[Progress] = []

    async def take(self, data: bytes, media_type: str = "text/csv", document_id: str = "t", **more: Any) -> Progress:
        self.reports = []
        header = Header("c", "default", document_id, media_type=media_type, **more)

        async def report(progress: Progress) -> None:
            self.reports.append(progress)

        await self.pipeline.ingest(Upload(header, data), report)
        return self.reports[-1]

    async def stored(self) -> dict[str, DocumentInfo]:
        return {it.document_id: it for it in await self.engine.documents("default", "", 1000)}

    async def found(self, words: str) -> list[str]:
        vector: Vector = self.queue.encoder.embed(self.queue.encoder.ids([words], "query"))[0]
        query = Query("default", words, 10, vector, self.queue.encoder.embedding, "lexical", Filter())
        return [it.document.document_id for it in (await self.engine.search(query)).chunks]


@asynccontextmanager
async def ingesting(kind: str, folder: Path) -> AsyncIterator[Ingest]:
    async with opened(kind, folder) as engine:
        ingest = Ingest(engine)
        await ingest.queue.start()
        yield ingest
        await ingest.queue.stop()
