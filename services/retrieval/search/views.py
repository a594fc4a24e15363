"""How much of a found chunk is answered, for engines that have read all of it anyway."""

from dataclasses import replace

from services.retrieval.types.chunk import NOWHERE, Chunk, TokenIds, TokenVectors
from services.retrieval.types.document import reference
from services.retrieval.types.query import Query
from services.retrieval.types.results import Duplicate, FoundChunk


def answered(found: FoundChunk, place: int, query: Query) -> FoundChunk:
    """What a query wants of the chunk at a place of its answer."""
    if query.view == "reference":
        return _referred(found)
    chunk = found.chunk
    tokens = chunk.tokens if query.with_token_ids else TokenIds()
    vectors = chunk.token_vectors if place < query.most_token_vectors else TokenVectors()
    return replace(found, chunk=replace(chunk, tokens=tokens, token_vectors=vectors))


def _referred(found: FoundChunk) -> FoundChunk:
    document = reference(found.document.document_id, found.document.collection)
    duplicates = tuple(map(_referred_duplicate, found.duplicates))
    return replace(found, chunk=Chunk(found.chunk.chunk_id, NOWHERE, ""), document=document, duplicates=duplicates)


def _referred_duplicate(one: Duplicate) -> Duplicate:
    return replace(one, place=NOWHERE, document=reference(one.document.document_id, one.document.collection))
