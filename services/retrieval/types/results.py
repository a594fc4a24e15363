"""What a search found."""

from dataclasses import dataclass

from services.retrieval.types.chunk import Chunk, Place
from services.retrieval.types.document import DocumentInfo


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A chunk that says nearly the same as one found; similarity, 0 to 1, is estimated."""

    chunk_id: str
    place: Place
    document: DocumentInfo
    similarity: float


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk that a search found. A part that did not find it has no score."""

    chunk: Chunk
    document: DocumentInfo
    fused: float
    dense: float | None
    lexical: float | None
    duplicates: tuple[Duplicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """Found chunks, best first, and the number of the last committed change of the collection that they saw.

    It rises with the collection's own changes alone, and goes on rising where the collection is made anew.
    """

    found: tuple[FoundChunk, ...]
    sequence: int
    notices: tuple[str, ...] = ()
    """What a reader should know, such as why the dense part was left out."""
