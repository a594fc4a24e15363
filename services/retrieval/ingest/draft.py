"""Documents that were read and cut, on their way to vectors: several go together, so that batches are full."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from services.retrieval.engine import Chunk, DocumentInfo


@dataclass(frozen=True, slots=True)
class Draft:
    """A document and its chunks, without vectors and token ids."""

    info: DocumentInfo
    text: str
    chunks: Sequence[Chunk]


def spans(drafts: Sequence[Draft]) -> Iterator[tuple[Draft, int, int]]:
    """Each draft and where its chunks stand in the chunks of all."""
    at = 0
    for draft in drafts:
        yield draft, at, at + len(draft.chunks)
        at += len(draft.chunks)
