"""Spans and metrics of the service. They hold counts and times, never a query or a text."""

from citemesh.kit import telemetry

tracer = telemetry.tracer(__name__)
_meter = telemetry.meter(__name__)
searches = _meter.create_histogram("citemesh.retrieval.search.duration", "s", "Time of a search, embedding included.")
documents = _meter.create_counter("citemesh.retrieval.documents", "{document}", "Documents by how their ingest ended.")
chunks = _meter.create_counter("citemesh.retrieval.chunks", "{chunk}", "Chunks stored.")
queries = _meter.create_counter(
    "citemesh.retrieval.embedding.queries", "{query}", "Queries by whether their vector was kept, or being made."
)
