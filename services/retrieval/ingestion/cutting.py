"""Cuts documents that were read into chunks: the first step after reading, for a document and for a table's rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from services.retrieval.embedding.encoder import LateEncoder, TokenCounter
from services.retrieval.embedding.queue import EmbeddingQueue
from services.retrieval.ingestion.chunk.chunker import ChunkSize
from services.retrieval.ingestion.describe import chunks_of
from services.retrieval.ingestion.read.parsed import IngestFault, Parsed
from services.retrieval.threads import WorkerThreads
from services.retrieval.types.chunk import Chunk
from services.retrieval.types.document import DocumentInfo


@dataclass(frozen=True, slots=True)
class CutDocument:
    """A document and its chunks, without vectors and token ids."""

    info: DocumentInfo
    text: str
    chunks: Sequence[Chunk]


class Cutter:
    """Cuts documents by the tokens of the loaded embedding model, beside the event loop."""

    def __init__(self, embeddings: EmbeddingQueue, size: ChunkSize, threads: WorkerThreads) -> None:
        self._embeddings = embeddings
        self._size = size
        self._threads = threads

    @property
    def size(self) -> ChunkSize:
        """The configured size, as far as the model reads so much."""
        encoder = self._embeddings.encoder
        return self._size.within(encoder.capacity) if isinstance(encoder, LateEncoder) else self._size

    async def cut(self, documents: Sequence[tuple[DocumentInfo, Parsed]]) -> list[CutDocument | IngestFault]:
        """The documents in their order, cut; the fault of one without text."""
        return await self._threads.run(_cut_all, documents, self._embeddings.encoder, self.size)


def _cut_all(
    documents: Sequence[tuple[DocumentInfo, Parsed]], counter: TokenCounter, size: ChunkSize
) -> list[CutDocument | IngestFault]:
    return [_cut(info, parsed, counter, size) for info, parsed in documents]


def _cut(info: DocumentInfo, parsed: Parsed, counter: TokenCounter, size: ChunkSize) -> CutDocument | IngestFault:
    try:
        chunks = chunks_of(info, parsed, counter, size)
    except IngestFault as fault:
        return fault
    return CutDocument(replace(info, chunks=len(chunks)), parsed.text, chunks)
