"""Messages to plain values and back, for what more than one client speaks."""

from datetime import UTC

from citemesh.api.common.v1 import span_pb2, usage_pb2
from citemesh.api.reranker.v1 import reranker_service_pb2
from citemesh.api.retrieval.v1 import collection_service_pb2, document_service_pb2, passage_pb2
from citemesh.client import types


def span(message: span_pb2.Span) -> types.Span:
    """A span."""
    return types.Span(message.start, message.end)


def location(message: span_pb2.Location) -> types.Location:
    """A place in a document."""
    return types.Location(span(message.span), message.page, tuple(message.headings))


def usage(message: usage_pb2.Usage) -> types.Usage:
    """Tokens used."""
    return types.Usage(message.prompt_tokens, message.completion_tokens, message.cached_tokens)


def passage(message: passage_pb2.Passage) -> types.Passage:
    """A chunk that search found."""
    scores = message.scores
    return types.Passage(
        chunk_id=message.chunk_id,
        document_id=message.document_id,
        collection=message.collection,
        title=message.title,
        uri=message.uri,
        location=location(message.location),
        text=message.text,
        token_ids=tuple(message.token_ids),
        tokenizer_digest=message.tokenizer_digest,
        fused=scores.fused,
        dense=scores.dense if scores.HasField("dense") else None,
        lexical=scores.lexical if scores.HasField("lexical") else None,
        metadata=dict(message.metadata),
    )


def document(message: document_service_pb2.Document) -> types.Document:
    """A stored document."""
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
    )


def progress(message: document_service_pb2.IngestResponse) -> types.IngestProgress:
    """How far a document is."""
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
    )


def collection(message: collection_service_pb2.Collection) -> types.Collection:
    """A collection."""
    return types.Collection(message.name, message.embedding_model, message.dimension, message.documents, message.chunks)


def candidate(value: types.Candidate) -> reranker_service_pb2.Candidate:
    """A passage to judge, as a message."""
    return reranker_service_pb2.Candidate(id=value.id, text=value.text, retrieval_score=value.retrieval_score)
