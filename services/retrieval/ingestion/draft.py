"""Documents that were read and cut, on their way to vectors: several go together, so that batches are full."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from services.retrieval.engine import Chunk, DocumentInfo
from services.retrieval.ingestion.chunk.chunker import ChunkSize, TokenCounter
from services.retrieval.ingestion.describe import chunks_of
from services.retrieval.ingestion.read.parsed import IngestFault, Parsed


@dataclass(frozen=True, slots=True)
class Draft:
    """A document and its chunks, without vectors and token ids."""

    info: DocumentInfo
    text: str
    chunks: Sequence[Chunk]


def draft(info: DocumentInfo, parsed: Parsed, counter: TokenCounter, size: ChunkSize) -> Draft | IngestFault:
    """A document that was read, cut; its fault where there is nothing to cut. CPU work: call it in a thread."""
    try:
        chunks = chunks_of(info, parsed, counter, size)
    except IngestFault as fault:
        return fault
    return Draft(replace(info, chunks=len(chunks)), parsed.text, chunks)


def spans(drafts: Sequence[Draft]) -> Iterator[tuple[Draft, int, int]]:
    """Each draft and where its chunks stand in the chunks of all."""
    at = 0
    for draft in drafts:
        yield draft, at, at + len(draft.chunks)
        at += len(draft.chunks)
