"""Export of the spans of a whole process to a collector over OTLP/HTTP."""

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

TRACES_PATH = "/v1/traces"


def open_tracer_provider(endpoint: str) -> TracerProvider:
    """Open a provider that exports spans in the background, dropping refused ones; `shutdown` flushes."""
    tracer_provider = TracerProvider(resource=Resource.create({SERVICE_NAME: "recollect"}))
    exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + TRACES_PATH)
    tracer_provider.add_span_processor(BatchSpanProcessor(exporter))
    return tracer_provider
