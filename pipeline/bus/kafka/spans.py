"""Spans of what Kafka carries, for a collector that speaks OTLP over HTTP."""

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

PATH = "/v1/traces"


def open_tracers(endpoint: str) -> TracerProvider:
    """Sends in the background and drops what the collector does not take; `shutdown` sends what waits."""
    tracers = TracerProvider(resource=Resource.create({SERVICE_NAME: "recollect"}))
    exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + PATH)
    tracers.add_span_processor(BatchSpanProcessor(exporter))
    return tracers
