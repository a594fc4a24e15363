"""Sources, sentences and endings as the gateway's own API shows them."""

from typing import Any

from citemesh.client.types import Citation, CitationEvent, DoneEvent, Location, Source, Span


def source(value: Source) -> dict[str, Any]:
    """A source; its quote is the passage's text, at its span in the document."""
    entry = {"number": value.number, "title": value.title, "url": value.uri, "chunk_id": value.chunk_id}
    entry["published_at"] = value.published_at.isoformat() if value.published_at else None
    return entry | place(value.document_id, value.collection, value.location, value.text, value.score)


def sentence(event: CitationEvent) -> dict[str, Any]:
    """A sentence (span in the text without markers) and what supports it."""
    cited = [_citation(citation) for citation in event.citations]
    return {"sentence": span(event.sentence), "supported": event.supported, "citations": cited}


def finish(event: DoneEvent) -> dict[str, Any]:
    """How an answer ended."""
    return {
        "finish": event.finish,
        "mode": event.mode,
        "model": event.model,
        "notice": event.notice,
        "cited": list(event.cited),
        "usage": {
            "prompt_tokens": event.usage.prompt_tokens,
            "completion_tokens": event.usage.completion_tokens,
            "cached_tokens": event.usage.cached_tokens,
        },
        "timings_ms": event.timings,
        "searches": event.searches,
        "cached": event.cached,
        "thread_id": event.thread_id,
    }


def place(document_id: str, collection: str, location: Location, quote: str, score: float) -> dict[str, Any]:
    """Where something stands, and its text."""
    return {
        "document_id": document_id,
        "collection": collection,
        "page": location.page or None,
        "headings": list(location.headings),
        "span": span(location.span),
        "quote": quote,
        "score": round(score, 4),
    }


def span(value: Span) -> dict[str, int]:
    """A stretch of text in code points."""
    return {"start": value.start, "end": value.end}


def _citation(citation: Citation) -> dict[str, Any]:
    return {"number": citation.number} | place(
        citation.document_id, citation.collection, citation.location, citation.quote, citation.score
    )


def day(source: Source) -> str | None:
    """The date that a document states, as YYYY-MM-DD."""
    return source.published_at.date().isoformat() if source.published_at else None
