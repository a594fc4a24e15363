"""Ingests one upload: read, then ingested as a document or as a table of documents."""

import asyncio
import hashlib
import logging
from contextlib import aclosing

from citemesh.contract.source_types import SourceType
from citemesh.errors import CiteMeshError, NotFound
from services.retrieval.embedding.queue import EmbeddingQueue
from services.retrieval.engine import Store
from services.retrieval.ingestion.chunk.chunker import ChunkSize
from services.retrieval.ingestion.commits import Committer, StreamCommits
from services.retrieval.ingestion.cutting import Cutter
from services.retrieval.ingestion.describe import described, document_id_of
from services.retrieval.ingestion.documents import DocumentIngestion, progress
from services.retrieval.ingestion.enrichment import Enricher
from services.retrieval.ingestion.passage_tokens import TokenFiller
from services.retrieval.ingestion.read.parsed import IngestFault
from services.retrieval.ingestion.read.process.reader import DocumentReader
from services.retrieval.ingestion.read.tables.table import TableLayout
from services.retrieval.ingestion.read.tables.windows import portions
from services.retrieval.ingestion.tables import TableIngestion
from services.retrieval.ingestion.upload import Header, Progress, Report, Upload
from services.retrieval.threads import WorkerThreads
from services.retrieval.types.collection import model_mismatch
from services.retrieval.types.document import DocumentInfo

log = logging.getLogger(__name__)
_SMALL = 65_536


class Pipeline:
    """Ingests documents, each whole or not at all. Safe for many at once. Close it at the end."""

    def __init__(
        self,
        engine: Store,
        reader: DocumentReader,
        embeddings: EmbeddingQueue,
        tokens: TokenFiller,
        size: ChunkSize,
    ) -> None:
        self._engine = engine
        self._reader = reader
        self._embeddings = embeddings
        self._threads = WorkerThreads(2, "ingestion")
        self._cutter = Cutter(embeddings, size, self._threads)
        self._enricher = Enricher(embeddings, tokens, self._cutter, self._threads)
        self._committer = Committer(engine, tokens)
        self._documents = DocumentIngestion(self._cutter, self._enricher)

    async def close(self) -> None:
        """Ends its threads."""
        await self._threads.close()

    def commits(self) -> StreamCommits:
        """The commits that the documents of one stream share."""
        return StreamCommits(self._committer)

    async def ingest(self, upload: Upload, report: Report, commits: StreamCommits | None = None) -> None:
        """Ingests one document and reports its progress; a failure is its last report.

        commits: those of its stream; without them it is stored in one of its own.
        """
        try:
            await self._ingest(upload, report, commits or self.commits())
        except IngestFault as fault:
            await report(failed(upload.header, fault))
        except CiteMeshError as error:
            await report(failed(upload.header, IngestFault("STORAGE", error.message, error.remedy or "try again")))
        except Exception:
            log.exception("a document could not be ingested")
            internal = IngestFault("INTERNAL", "it could not be ingested", "the service's log says why")
            await report(failed(upload.header, internal))

    async def check(self, header: Header) -> None:
        """Raises IngestFault where the header's collection can't take a document, before its bytes are read."""
        loaded = self._embeddings.encoder.embedding
        try:
            fixed = await self._engine.embedding(header.collection)
        except NotFound as error:
            raise IngestFault("UNKNOWN_COLLECTION", error.message, error.remedy) from None
        if fixed != loaded:
            mismatch = model_mismatch(header.collection, fixed, loaded)
            raise IngestFault("MODEL_MISMATCH", mismatch.message, mismatch.remedy)

    async def _ingest(self, upload: Upload, report: Report, commits: StreamCommits) -> None:
        header = upload.header
        sha256 = await _sha256(upload.data)
        document_id = header.document_id or document_id_of(header.collection, sha256)
        existing = await self._stored(header.collection, document_id)
        if existing and existing.content_sha256 == sha256:
            await report(progress(header, "unchanged", existing))
            return
        kind, parsed = await self._reader.read(upload.data, header.media_type, header.uri or header.title)
        if isinstance(parsed, TableLayout):
            await self._ingest_table(upload, document_id, kind, parsed, report)
        else:
            info = described(upload, document_id, sha256, kind, parsed)
            await self._documents.ingest(header, info, parsed, report, commits)

    async def _ingest_table(
        self, upload: Upload, table_id: str, kind: SourceType, layout: TableLayout, report: Report
    ) -> None:
        table = TableIngestion(
            self._engine, self._cutter, self._enricher, self._committer, upload, table_id, kind, report
        )
        async with aclosing(portions(self._reader, upload.data, layout)) as rows:
            await table.ingest(rows)

    async def _stored(self, collection: str, document_id: str) -> DocumentInfo | None:
        try:
            return (await self._engine.document(collection, document_id, with_text=False))[0]
        except NotFound:
            return None


async def _sha256(data: bytes) -> str:
    """Hashed right here where that takes less than handing it to a thread."""
    if len(data) <= _SMALL:
        return hashlib.sha256(data).hexdigest()
    return await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())


def failed(header: Header, fault: IngestFault) -> Progress:
    """The last report of a document that could not be ingested."""
    return Progress(header.correlation_id, "failed", header.document_id, fault=fault)
