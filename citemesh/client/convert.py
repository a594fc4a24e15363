"""Messages to plain values and back, where several clients need them or they are long."""

from datetime import UTC, datetime
from typing import Literal

from google.protobuf.timestamp_pb2 import Timestamp

from citemesh.api.common.v1 import span_pb2, usage_pb2
from citemesh.api.reranker.v1 import reranker_service_pb2
from citemesh.api.retrieval.v1 import (
    collection_service_pb2,
    document_service_pb2,
    passage_pb2,
    retrieval_service_pb2,
)
from citemesh.client import types

NOWHERE = types.Location(types.Span(0, 0))
_EVERYTHING = types.SearchFilter()


def span(message: span_pb2.Span) -> types.Span:
    """Returns a span."""
    return types.Span(message.start, message.end)


def location(message: span_pb2.Location) -> types.Location:
    """Returns a place in a document."""
    headings = message.headings
    return types.Location(span(message.span), message.page, tuple(headings) if headings else ())


def usage(message: usage_pb2.Usage) -> types.Usage:
    """Returns the tokens that a generation used."""
    return types.Usage(message.prompt_tokens, message.completion_tokens, message.cached_tokens)


def passage(message: passage_pb2.Passage) -> types.Passage:
    """Returns a chunk that search found. Leaves empty parts alone, which saves a third of the time."""
    scores, token_ids, metadata, duplicates = message.scores, message.token_ids, message.metadata, message.duplicates
    return types.Passage(
        chunk_id=message.chunk_id,
        document_id=message.document_id,
        collection=message.collection,
        title=message.title,
        uri=message.uri,
        location=location(message.location),
        text=message.text,
        token_ids=tuple(token_ids) if token_ids else (),
        tokenizer_digest=message.tokenizer_digest,
        fused=scores.fused,
        dense=scores.dense if scores.HasField("dense") else None,
        lexical=scores.lexical if scores.HasField("lexical") else None,
        metadata=dict(metadata) if metadata else {},
        published_at=_datetime(message, "published_at"),
        token_vectors=message.token_vectors,
        token_vectors_digest=message.token_vectors_digest,
        duplicates=tuple(map(_duplicate, duplicates)) if duplicates else (),
    )


def passage_reference(message: passage_pb2.Passage) -> types.Passage:
    """Returns a chunk that search answered as a reference; spends no time on what it lacks."""
    scores, duplicates = message.scores, message.duplicates
    return types.Passage(
        message.chunk_id,
        message.document_id,
        message.collection,
        "",
        "",
        NOWHERE,
        "",
        (),
        "",
        scores.fused,
        scores.dense if scores.HasField("dense") else None,
        scores.lexical if scores.HasField("lexical") else None,
        duplicates=tuple(map(_duplicate, duplicates)) if duplicates else (),
    )


def document(message: document_service_pb2.Document) -> types.Document:
    """Returns a stored document."""
    return types.Document(
        document_id=message.document_id,
        collection=message.collection,
        title=message.title,
        uri=message.uri,
        source_type=message.source_type,
        language=message.language,
        content_sha256=message.content_sha256,
        size_bytes=message.size_bytes,
        characters=message.characters,
        chunks=message.chunks,
        pages=message.pages,
        ingested_at=message.ingested_at.ToDatetime(tzinfo=UTC),
        metadata=dict(message.metadata),
        table_id=message.table_id,
    )


def progress(message: document_service_pb2.IngestResponse) -> types.IngestProgress:
    """Returns how far a document is."""
    state = document_service_pb2.IngestState.Name(message.state).removeprefix("INGEST_STATE_").lower()
    error = message.error
    return types.IngestProgress(
        message.correlation_id,
        message.document_id,
        state,
        message.chunks,
        message.characters,
        error.reason,
        error.message,
        error.remedy,
        message.rows,
        message.failed_rows,
        tuple(message.notices),
    )


def collection(message: collection_service_pb2.Collection) -> types.Collection:
    """Returns a collection."""
    return types.Collection(
        message.name,
        message.embedding_model,
        message.dimension,
        message.documents,
        message.chunks,
        message.unreadable_chunks,
        message.index,
    )


def candidate(value: types.Candidate) -> reranker_service_pb2.Candidate:
    """Returns the message of a passage to judge."""
    return reranker_service_pb2.Candidate(
        id=value.id,
        text=value.text,
        retrieval_score=value.retrieval_score,
        token_vectors=value.token_vectors,
        token_vectors_digest=value.token_vectors_digest,
    )


def search(value: types.Search) -> retrieval_service_pb2.SearchRequest:
    """Returns the message of a search."""
    return retrieval_service_pb2.SearchRequest(
        collection=value.collection,
        query=value.query,
        top_k=value.top_k,
        mode=f"SEARCH_MODE_{value.mode.upper() or 'UNSPECIFIED'}",
        filter=None if value.filter == _EVERYTHING else search_filter(value.filter),
        with_token_ids=value.with_token_ids,
        with_token_vectors=value.with_token_vectors,
        fusion=f"FUSION_{value.fusion.upper() or 'UNSPECIFIED'}",
        dense_weight=value.dense_weight,
        keep_duplicates=value.keep_duplicates,
        token_vectors_of=value.token_vectors_of,
        view=f"PASSAGE_VIEW_{value.view.upper() or 'UNSPECIFIED'}",
    )


def search_answer(message: retrieval_service_pb2.SearchResponse, view: str = "") -> types.SearchAnswer:
    """Returns the answer to a search, in the search's view."""
    value_of = passage_reference if view == "reference" else passage
    return types.SearchAnswer(tuple(map(value_of, message.passages)), message.sequence_number, tuple(message.notices))


def search_filter(value: types.SearchFilter) -> retrieval_service_pb2.SearchFilter:
    """Returns the message of a filter."""
    return retrieval_service_pb2.SearchFilter(
        document_ids=value.document_ids,
        source_types=value.source_types,
        domains=value.domains,
        languages=value.languages,
        published_after=value.published_after,
        published_before=value.published_before,
        metadata=value.metadata,
        conditions=map(_condition, value.conditions),
    )


def _condition(value: types.MetadataCondition) -> retrieval_service_pb2.MetadataCondition:
    message = retrieval_service_pb2.MetadataCondition(key=value.key)
    if value.numbers is not None:
        low, high = value.numbers
        message.number.CopyFrom(retrieval_service_pb2.NumberRange(**{"from": low, "to": high}))
    elif value.texts is not None:
        first, last = value.texts
        message.text.CopyFrom(retrieval_service_pb2.TextRange(**{"from": first, "to": last}))
    else:
        message.any_of.values.extend(value.any_of)
    return message


def _duplicate(message: passage_pb2.Duplicate) -> types.Duplicate:
    return types.Duplicate(
        message.chunk_id,
        message.document_id,
        message.title,
        message.uri,
        location(message.location),
        message.similarity,
    )


def _datetime(message: passage_pb2.Passage, field: Literal["published_at"]) -> datetime | None:
    if not message.HasField(field):
        return None
    stamp: Timestamp = getattr(message, field)
    return stamp.ToDatetime(tzinfo=UTC)
