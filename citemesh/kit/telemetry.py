"""OpenTelemetry, set up once a process: over OTLP gRPC when an endpoint is set, else at no cost."""

import json
import logging
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from citemesh.kit.settings import CommonSettings

EXPORT_EVERY_MS = 1000
QUIET = ("opentelemetry.exporter", "httpx", "uvicorn.access")


def tracer(name: str) -> trace.Tracer:
    """Returns the tracer of a module."""
    return trace.get_tracer(name)


def meter(name: str) -> metrics.Meter:
    """Returns the meter of a module."""
    return metrics.get_meter(name)


def untraced() -> AbstractContextManager[object]:
    """Returns a context in which calls tell every hop to record nothing: for what is done again and again unasked."""
    ids = RandomIdGenerator()
    context = trace.SpanContext(ids.generate_trace_id(), ids.generate_span_id(), False, trace.TraceFlags.get_default())
    return trace.use_span(trace.NonRecordingSpan(context))


def start(service: str, settings: CommonSettings) -> Callable[[], None]:
    """Sets up logs, and exports as the settings say; returns a function that flushes and ends the export."""
    start_logs(settings.log_level)
    if not settings.otlp_endpoint:
        return lambda: None
    resource = Resource.create({"service.name": service, "service.namespace": "citemesh"})
    traces = TracerProvider(resource=resource)
    exporter = OTLPSpanExporter(endpoint=settings.otlp_endpoint, insecure=True, timeout=5)
    traces.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=EXPORT_EVERY_MS))
    trace.set_tracer_provider(traces)
    if settings.otlp_metrics:
        _start_metrics(resource, settings.otlp_endpoint)
    return traces.shutdown


def _start_metrics(resource: Resource, endpoint: str) -> None:
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=endpoint, insecure=True, timeout=5))
    metrics.set_meter_provider(MeterProvider(resource=resource, metric_readers=[reader]))


def start_logs(level: str) -> None:
    """Logs to standard error: plain lines on a terminal, else one JSON object a line."""
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%H:%M:%S")
    handler.setFormatter(plain if sys.stderr.isatty() else JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("opentelemetry.context").addFilter(_is_no_late_detach)


def _is_no_late_detach(record: logging.LogRecord) -> bool:
    """Says False of what OpenTelemetry logs when a stream is closed from another context than it ran in.

    Every caller that hangs up makes one; nothing is wrong then, since that context is gone
    (https://github.com/open-telemetry/opentelemetry-python/issues/2606, open).
    """
    return record.msg != "Failed to detach context"


class JsonFormatter(logging.Formatter):
    """A log record as one JSON object with the trace and span that it belongs to."""

    def format(self, record: logging.LogRecord) -> str:
        """Renders the record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            line |= {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)
