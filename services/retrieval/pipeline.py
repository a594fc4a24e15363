"""One document's way in: read, cut, embedded and tokenized, stored."""

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace

from citemesh.errors import CiteMeshError, NotFound, PreconditionFailed
from services.retrieval.embedding.encoder import in_context
from services.retrieval.embedding.queue import EmbeddingQueue
from services.retrieval.engine import DocumentInfo, Engine, NewDocument
from services.retrieval.ingest.chunk import ChunkSize
from services.retrieval.ingest.describe import chunks_of, described, document_id_of
from services.retrieval.ingest.draft import Draft, spans
from services.retrieval.ingest.parsed import IngestFault
from services.retrieval.ingest.reader import DocumentReader
from services.retrieval.ingest.upload import Header, Progress, Report, State, Upload
from services.retrieval.mismatch import mismatch
from services.retrieval.tokens import TokenFiller

log = logging.getLogger(__name__)


class Pipeline:
    """Takes documents in, each whole or not at all. Safe for many at once."""

    def __init__(
        self,
        engine: Engine,
        reader: DocumentReader,
        embeddings: EmbeddingQueue,
        tokens: TokenFiller,
        size: ChunkSize,
    ) -> None:
        self._engine = engine
        self._reader = reader
        self._embeddings = embeddings
        self._tokens = tokens
        self._size = size

    async def ingest(self, upload: Upload, report: Report) -> None:
        """Takes one document in and reports its progress; what goes wrong with it is its last report."""
        try:
            await self._ingest(upload, report)
        except IngestFault as known:
            await report(failed(upload.header, known))
        except CiteMeshError as error:
            await report(failed(upload.header, IngestFault("STORAGE", error.message, error.remedy or "try again")))
        except Exception:
            log.exception("a document could not be taken in")
            fault = IngestFault("INTERNAL", "it could not be taken in", "the service's log says why")
            await report(failed(upload.header, fault))

    async def check(self, header: Header) -> None:
        """Raises IngestFault where the header's collection can't take a document, before its bytes are read."""
        loaded = self._embeddings.encoder.embedding
        try:
            kept = await self._engine.embedding(header.collection)
        except NotFound as error:
            raise IngestFault("UNKNOWN_COLLECTION", error.message, error.remedy) from None
        if kept != loaded:
            other = mismatch(header.collection, kept, loaded)
            raise IngestFault("MODEL_MISMATCH", other.message, other.remedy)

    async def _ingest(self, upload: Upload, report: Report) -> None:
        header = upload.header
        sha256 = await asyncio.to_thread(lambda: hashlib.sha256(upload.data).hexdigest())
        document_id = header.document_id or document_id_of(header.collection, sha256)
        if (known := await self._known(header.collection, document_id)) and known.content_sha256 == sha256:
            await report(_progress(header, "unchanged", known))
            return
        name = header.uri or header.title
        source_type, parsed = await self._reader.read(upload.data, header.media_type, name)
        info = described(upload, document_id, sha256, source_type, parsed)
        await report(_progress(header, "parsed", info))
        chunks = await self._embeddings.in_thread(chunks_of, info, parsed, self._embeddings.encoder, self._size)
        info = replace(info, chunks=len(chunks))
        await report(_progress(header, "chunked", info))
        (document,) = await self._enriched([Draft(info, parsed.text, chunks)])
        await report(_progress(header, "embedded", info))
        await self._put(document)
        self._tokens.stored(document.chunks)
        await report(_progress(header, "committed", info))

    async def _known(self, collection: str, document_id: str) -> DocumentInfo | None:
        try:
            return (await self._engine.document(collection, document_id, with_text=False))[0]
        except NotFound:
            return None

    async def _enriched(self, drafts: Sequence[Draft]) -> list[NewDocument]:
        """Vectors and token ids of the chunks of several documents, made at once."""
        chunks = [chunk for draft in drafts for chunk in draft.chunks]
        seen = [in_context(it.info.title, chunk.place.headings, chunk.text) for it in drafts for chunk in it.chunks]
        vectors, tokens = await asyncio.gather(
            self._embeddings.passages(seen), self._tokens.encode([chunk.text for chunk in chunks])
        )
        ready = [replace(chunk, tokens=ids) for chunk, ids in zip(chunks, tokens, strict=True)]
        return [
            NewDocument(draft.info, draft.text, ready[at:end], vectors[at:end], self._embeddings.encoder.embedding)
            for draft, at, end in spans(drafts)
        ]

    async def _put(self, document: NewDocument) -> None:
        try:
            await self._engine.put(document)
        except PreconditionFailed as error:
            if error.reason != "MODEL_MISMATCH":
                raise
            raise IngestFault("MODEL_MISMATCH", error.message, error.remedy) from None


def failed(header: Header, fault: IngestFault) -> Progress:
    """A document's last word where it could not be taken in."""
    return Progress(header.correlation_id, "failed", header.document_id, fault=fault)


def _progress(header: Header, state: State, info: DocumentInfo) -> Progress:
    return Progress(header.correlation_id, state, info.document_id, info.chunks, info.characters)
