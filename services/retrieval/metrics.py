"""Spans and metrics of the service. They hold counts and times, never a query or a text."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from citemesh.kit import telemetry
from services.retrieval.ingestion.upload import Progress

tracer = telemetry.tracer(__name__)
_meter = telemetry.meter(__name__)
_searches = _meter.create_histogram("citemesh.retrieval.search.duration", "s", "Time of a search, embedding included.")
_documents = _meter.create_counter("citemesh.retrieval.documents", "{document}", "Documents by how their ingest ended.")
_chunks = _meter.create_counter("citemesh.retrieval.chunks", "{chunk}", "Chunks stored.")
_queries = _meter.create_counter(
    "citemesh.retrieval.embedding.queries", "{query}", "Queries by whether their vector was kept, or being made."
)


@contextmanager
def timed_search(mode: str) -> Iterator[None]:
    """Records how long the block takes, also where it fails."""
    start_s = time.monotonic()
    try:
        yield
    finally:
        _searches.record(time.monotonic() - start_s, {"citemesh.search.mode": mode})


def count_document(report: Progress) -> None:
    """Counts a document at its last report, and its chunks where they were stored."""
    if report.state in ("committed", "unchanged", "failed"):
        reason = report.fault.reason if report.fault else ""
        _documents.add(1, {"citemesh.ingest.state": report.state, "error.type": reason})
    if report.state == "committed":
        _chunks.add(report.chunks)


def count_queries(number: int, cached: bool) -> None:
    """Counts queries to embed; cached: their vectors were kept, or being made."""
    _queries.add(number, {"citemesh.embedding.cached": cached})
