"""One document's way in: read, cut, embedded and tokenized, stored."""

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

import numpy as np

from citemesh.contract.source_types import SourceType
from citemesh.errors import CiteMeshError, NotFound, PreconditionFailed
from services.retrieval.commits import Commits
from services.retrieval.embedding.encoder import LateEncoder, in_context
from services.retrieval.embedding.queue import EmbeddingQueue
from services.retrieval.engine import DocumentInfo, Engine, NewDocument, TokenVectors, Vector
from services.retrieval.ingest.chunk import ChunkSize, TokenCounter
from services.retrieval.ingest.describe import described, document_id_of, said_title
from services.retrieval.ingest.draft import Draft, draft, spans
from services.retrieval.ingest.long import means, pieces, whole
from services.retrieval.ingest.parsed import IngestFault, Parsed
from services.retrieval.ingest.reader import DocumentReader
from services.retrieval.ingest.table import Layout
from services.retrieval.ingest.upload import Header, Progress, Report, State, Upload
from services.retrieval.ingest.windows import portions
from services.retrieval.mismatch import mismatch
from services.retrieval.tables import Steps, Table, unreadable_notice
from services.retrieval.tokens import TokenFiller

log = logging.getLogger(__name__)
_SMALL = 65_536
_PORTION = 1024
_MOST_TOKEN_VECTORS = 8192


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

    def commits(self) -> Commits:
        """What a stream's documents are stored by."""
        return Commits(self._put_many)

    async def ingest(self, upload: Upload, report: Report, commits: Commits | None = None) -> None:
        """Takes one document in and reports its progress; what goes wrong with it is its last report.

        commits: those of its stream; without them it is stored in one of its own.
        """
        try:
            await self._ingest(upload, report, commits or self.commits())
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

    async def _ingest(self, upload: Upload, report: Report, commits: Commits) -> None:
        header = upload.header
        sha256 = await _sha256(upload.data)
        document_id = header.document_id or document_id_of(header.collection, sha256)
        if (known := await self._known(header.collection, document_id)) and known.content_sha256 == sha256:
            await report(_progress(header, "unchanged", known))
            return
        kind, parsed = await self._reader.read(upload.data, header.media_type, header.uri or header.title)
        if isinstance(parsed, Layout):
            await self._take_rows(upload, document_id, kind, parsed, report)
        else:
            info = described(upload, document_id, sha256, kind, parsed)
            await self._take(upload.header, info, parsed, report, commits)

    async def _take(self, header: Header, info: DocumentInfo, parsed: Parsed, report: Report, commits: Commits) -> None:
        """A document that is one."""
        await report(_progress(header, "parsed", info))
        (draft,) = await self._cut([(info, parsed)])
        if isinstance(draft, IngestFault):
            raise draft
        await report(_progress(header, "chunked", draft.info))
        (document,) = await self._enriched([draft])
        await report(_progress(header, "embedded", draft.info))
        await commits.put(document)
        notices = unreadable_notice(len(document.unreadable), len(document.chunks))
        await report(replace(_progress(header, "committed", draft.info), notices=notices))

    async def _take_rows(self, upload: Upload, table_id: str, kind: SourceType, layout: Layout, report: Report) -> None:
        """A table: many documents."""
        steps = Steps(self._cut, self._enriched, self._put_many)
        async with aclosing(portions(self._reader, upload.data, layout)) as rows:
            await Table(self._engine, steps, upload, table_id, kind, report).take(rows)

    async def _known(self, collection: str, document_id: str) -> DocumentInfo | None:
        try:
            return (await self._engine.document(collection, document_id, with_text=False))[0]
        except NotFound:
            return None

    async def _cut(self, read: Sequence[tuple[DocumentInfo, Parsed]]) -> list[Draft | IngestFault]:
        """Documents cut into chunks; a fault for one without text."""
        return await self._embeddings.in_thread(_drafts, read, self._embeddings.encoder, self._fitting)

    @property
    def _fitting(self) -> ChunkSize:
        """The size that is wanted, as far as the model reads so much."""
        encoder = self._embeddings.encoder
        return self._size.within(encoder.capacity) if isinstance(encoder, LateEncoder) else self._size

    async def _enriched(self, drafts: Sequence[Draft]) -> list[NewDocument]:
        """Vectors and token ids of the chunks of several documents, made at once."""
        chunks = [chunk for draft in drafts for chunk in draft.chunks]
        texts = [chunk.text for chunk in chunks]
        (vectors, late), tokens, unreadable = await asyncio.gather(
            self._vectors(drafts, texts),
            self._tokens.encode(texts),
            self._embeddings.unreadable(texts),
        )
        made = zip(chunks, tokens, late, strict=True)
        ready = [replace(chunk, tokens=ids, token_vectors=kept) for chunk, ids, kept in made]
        embedding = self._embeddings.encoder.embedding
        return [
            NewDocument(
                draft.info,
                draft.text,
                ready[at:end],
                vectors[at:end],
                embedding,
                frozenset(number - at for number in unreadable if at <= number < end),
            )
            for draft, at, end in spans(drafts)
        ]

    async def _vectors(self, drafts: Sequence[Draft], texts: Sequence[str]) -> tuple[Vector, list[TokenVectors]]:
        """Vectors of the chunks and of their tokens. A window longer than what is read at once has no token vectors."""
        parts = whole(texts)
        if self._size.sliding:
            parts = await self._embeddings.in_thread(
                pieces, texts, self._embeddings.encoder, self._fitting.read_at_once
            )
        places = [(said_title(draft.info), chunk.place.headings) for draft in drafts for chunk in draft.chunks]
        seen = [in_context(*places[owner], text) for owner, text in zip(parts.owners, parts.texts, strict=True)]
        vectors, late = await self._portions(seen, list(map(len, parts.texts)))
        kept = iter(late)
        made = [[next(kept) for _ in range(count)] for count in parts.counts]
        return means(vectors, parts), [its[0] if len(its) == 1 else TokenVectors() for its in made]

    async def _portions(self, seen: Sequence[str], own: Sequence[int]) -> tuple[Vector, list[TokenVectors]]:
        """As `chunks` of the queue, a portion at a time; token vectors of a book's worth of chunks are not kept.

        They are twenty times the text, and the reranker reads what comes without them.
        """
        wanted = len(seen) <= _MOST_TOKEN_VECTORS
        portions = [slice(at, at + _PORTION) for at in range(0, len(seen), _PORTION)]
        vectors: list[Vector] = []
        late: list[TokenVectors] = []
        for portion in portions:
            made, kept = await self._embeddings.chunks(seen[portion], own[portion])
            vectors.append(made)
            late += kept if wanted else [TokenVectors()] * len(kept)
        return np.concatenate(vectors), late

    async def _put_many(self, documents: Sequence[NewDocument]) -> None:
        try:
            await self._engine.put_many(documents)
            for document in documents:
                self._tokens.stored(document.chunks)
        except PreconditionFailed as error:
            if error.reason != "MODEL_MISMATCH":
                raise
            raise IngestFault("MODEL_MISMATCH", error.message, error.remedy) from None


async def _sha256(data: bytes) -> str:
    """Hashed right here where that takes less than handing it to a thread."""
    if len(data) <= _SMALL:
        return hashlib.sha256(data).hexdigest()
    return await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())


def _drafts(
    read: Sequence[tuple[DocumentInfo, Parsed]], counter: TokenCounter, size: ChunkSize
) -> list[Draft | IngestFault]:
    return [draft(info, parsed, counter, size) for info, parsed in read]


def failed(header: Header, fault: IngestFault) -> Progress:
    """A document's last word where it could not be taken in."""
    return Progress(header.correlation_id, "failed", header.document_id, fault=fault)


def _progress(header: Header, state: State, info: DocumentInfo) -> Progress:
    return Progress(header.correlation_id, state, info.document_id, info.chunks, info.characters)
