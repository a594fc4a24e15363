"""Results of a search."""

from dataclasses import dataclass, replace

from services.retrieval.types.chunk import NOWHERE, Chunk, PackedTokenVectors, Place, TokenIds
from services.retrieval.types.document import DocumentInfo, reference
from services.retrieval.types.query import Query


@dataclass(frozen=True, slots=True)
class DuplicateChunk:
    """A chunk that says nearly the same as a found one; similarity, 0 to 1, is estimated."""

    chunk_id: str
    place: Place
    document: DocumentInfo
    similarity: float

    def as_reference(self) -> "DuplicateChunk":
        """The same without its place and without what is known of its document."""
        document = reference(self.document.document_id, self.document.collection)
        return replace(self, place=NOWHERE, document=document)


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk that a search found. A part that did not find it has no score."""

    chunk: Chunk
    document: DocumentInfo
    fused: float
    dense: float | None
    lexical: float | None
    duplicates: tuple[DuplicateChunk, ...] = ()

    def as_reference(self) -> "FoundChunk":
        """The same with no more of its chunk and its document than their ids."""
        document = reference(self.document.document_id, self.document.collection)
        duplicates = tuple(duplicate.as_reference() for duplicate in self.duplicates)
        return replace(self, chunk=Chunk(self.chunk.chunk_id, NOWHERE, ""), document=document, duplicates=duplicates)

    def as_wanted(self, query: Query, rank: int) -> "FoundChunk":
        """As much of a chunk that was read whole as a query wants at a 0-based rank of its answer."""
        if query.view == "reference":
            return self.as_reference()
        tokens = self.chunk.tokens if query.with_token_ids else TokenIds()
        vectors = self.chunk.token_vectors if rank < query.most_token_vectors else PackedTokenVectors()
        return replace(self, chunk=replace(self.chunk, tokens=tokens, token_vectors=vectors))


@dataclass(frozen=True, slots=True)
class Results:
    """Found chunks, best first, and the number of the last committed change of the collection that they saw.

    It rises with the collection's own changes alone, and goes on rising where the collection is made anew.
    """

    chunks: tuple[FoundChunk, ...]
    sequence: int
    notices: tuple[str, ...] = ()
    """Remarks for a reader, such as why the dense part was left out."""
