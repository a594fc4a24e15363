"""What searches found, as messages."""

from collections.abc import Sequence
from datetime import UTC

from citemesh.api.common.v1 import span_pb2
from citemesh.api.retrieval.v1 import passage_pb2
from citemesh.api.retrieval.v1 import retrieval_service_pb2 as pb
from citemesh.contract.bounds import MOST_VECTOR_BYTES
from services.retrieval.types.chunk import NOWHERE, Chunk, Place
from services.retrieval.types.document import DocumentInfo
from services.retrieval.types.results import Duplicate, FoundChunk, Results


def results(found: Results, most_vector_bytes: int = MOST_VECTOR_BYTES) -> pb.SearchResponse:
    """The answer to a search. Passages whose token vectors would be over the limit with those before go without."""
    passages = []
    for one in found.found:
        most_vector_bytes -= len(one.chunk.token_vectors.packed)
        passages.append(passage(one, with_vectors=most_vector_bytes >= 0))
    return pb.SearchResponse(passages=passages, sequence_number=found.sequence, notices=found.notices)


def all_results(found: Sequence[Results]) -> pb.BatchSearchResponse:
    """The answer to several searches, which share the limit of token vectors."""
    each = MOST_VECTOR_BYTES // max(1, len(found))
    return pb.BatchSearchResponse(results=[results(one, each) for one in found])


def passage(found: FoundChunk, with_vectors: bool = True) -> passage_pb2.Passage:
    """One found chunk. Parts are filled in place and empty ones left alone, which halves the time of a large answer."""
    chunk, document = found.chunk, found.document
    message = passage_pb2.Passage(
        chunk_id=chunk.chunk_id, document_id=document.document_id, collection=document.collection
    )
    _scores(message.scores, found)
    if chunk.place is not NOWHERE:
        _fill(message, chunk, document, with_vectors)
    if found.duplicates:
        message.duplicates.extend(map(_duplicate, found.duplicates))
    return message


def _fill(message: passage_pb2.Passage, chunk: Chunk, document: DocumentInfo, with_vectors: bool) -> None:
    """All that a reference lacks."""
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


def _duplicate(one: Duplicate) -> passage_pb2.Duplicate:
    return passage_pb2.Duplicate(
        chunk_id=one.chunk_id,
        document_id=one.document.document_id,
        title=one.document.title,
        uri=one.document.uri,
        location=None if one.place is NOWHERE else _location(one.place),
        similarity=one.similarity,
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


def _scores(message: passage_pb2.Scores, found: FoundChunk) -> None:
    message.fused = found.fused
    if found.dense is not None:
        message.dense = found.dense
    if found.lexical is not None:
        message.lexical = found.lexical
