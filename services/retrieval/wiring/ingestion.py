"""How the settings say that documents are read and cut."""

from services.retrieval.ingestion.chunk.chunker import ChunkSize
from services.retrieval.ingestion.read.process.reader import DirectReader, DocumentReader, ProcessReader
from services.retrieval.settings import RetrievalSettings


def chunk_size_of(settings: RetrievalSettings) -> ChunkSize:
    """How large chunks are, and whether they slide."""
    if settings.chunking == "structure":
        return ChunkSize(settings.chunk_tokens, settings.chunk_overlap)
    overlap = int(settings.window_tokens * settings.window_overlap)
    return ChunkSize(settings.window_tokens, overlap, sliding=True, read_at_once=settings.chunk_tokens)


def reader_of(settings: RetrievalSettings) -> DocumentReader:
    """The reader of documents that the settings name."""
    if settings.readers == 0:
        return DirectReader()
    return ProcessReader(settings.readers, settings.reader_memory_mib, settings.reader_timeout_s)
