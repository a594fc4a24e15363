"""Results of searches as messages."""

from collections.abc import Sequence
from datetime import UTC

from citemesh.api.common.v1 import span_pb2
from citemesh.api.retrieval.v1 import passage_pb2
from citemesh.api.retrieval.v1 import retrieval_service_pb2 as pb
from citemesh.contract.bounds import MOST_VECTOR_BYTES
from services.retrieval.types.chunk import NOWHERE, Chunk, Place
from services.retrieval.types.document import DocumentInfo
from services.retrieval.types.results import DuplicateChunk, FoundChunk, Results


def results(answer: Results, most_vector_bytes: int = MOST_VECTOR_BYTES) -> pb.SearchResponse:
    """The answer to a search. Passages whose token vectors would exceed the limit are answered without these."""
    passages = []
    for chunk in answer.chunks:
        most_vector_bytes -= len(chunk.chunk.token_vectors.packed)
        passages.append(passage(chunk, with_vectors=most_vector_bytes >= 0))
    return pb.SearchResponse(passages=passages, sequence_number=answer.sequence, notices=answer.notices)


def all_results(answers: Sequence[Results]) -> pb.BatchSearchResponse:
    """The answer to several searches, which share the limit of token vectors."""
    share = MOST_VECTOR_BYTES // max(1, len(answers))
    return pb.BatchSearchResponse(results=[results(answer, share) for answer in answers])


def passage(hit: FoundChunk, with_vectors: bool = True) -> passage_pb2.Passage:
    """One found chunk. Parts are filled in place and empty ones left alone, which halves the time of a large answer."""
    chunk, document = hit.chunk, hit.document
    message = passage_pb2.Passage(
        chunk_id=chunk.chunk_id, document_id=document.document_id, collection=document.collection
    )
    _scores(message.scores, hit)
    if chunk.place is not NOWHERE:
        _fill(message, chunk, document, with_vectors)
    if hit.duplicates:
        message.duplicates.extend(map(_duplicate, hit.duplicates))
    return message


def _fill(message: passage_pb2.Passage, chunk: Chunk, document: DocumentInfo, with_vectors: bool) -> None:
    """Fills in all that a reference lacks."""
    message.title, message.uri, message.text = document.title, document.uri, chunk.text
    _place(message.location, chunk.place)
    if chunk.tokens.digest:
        message.token_ids.extend(chunk.tokens.ids)
        message.tokenizer_digest = chunk.tokens.digest
    if document.metadata:
        message.metadata.update(document.metadata)
    if document.published_at is not None:
        message.published_at.FromDatetime(document.published_at.astimezone(UTC))
    if with_vectors and chunk.token_vectors.digest:
        message.token_vectors, message.token_vectors_digest = chunk.token_vectors.packed, chunk.token_vectors.digest


def _duplicate(duplicate: DuplicateChunk) -> passage_pb2.Duplicate:
    return passage_pb2.Duplicate(
        chunk_id=duplicate.chunk_id,
        document_id=duplicate.document.document_id,
        title=duplicate.document.title,
        uri=duplicate.document.uri,
        location=None if duplicate.place is NOWHERE else _location(duplicate.place),
        similarity=duplicate.similarity,
    )


def _location(place: Place) -> span_pb2.Location:
    message = span_pb2.Location()
    _place(message, place)
    return message


def _place(message: span_pb2.Location, place: Place) -> None:
    message.span.start, message.span.end = place.start, place.end
    message.page = place.page
    if place.headings:
        message.headings.extend(place.headings)


def _scores(message: passage_pb2.Scores, hit: FoundChunk) -> None:
    message.fused = hit.fused
    if hit.dense is not None:
        message.dense = hit.dense
    if hit.lexical is not None:
        message.lexical = hit.lexical
