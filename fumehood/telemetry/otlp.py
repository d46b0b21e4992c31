"""Sending spans over OTLP/HTTP. Imported only where an endpoint is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from fumehood.telemetry.settings import TracingSetting

_DEFAULT_NAME = "fumehood"
_UNKNOWN = "unknown_service"
_PRIVATE = ("url.query",)
"""What the framework notes of a request and a caller may have put a secret into."""


class _WithoutQuery(SpanProcessor):
    """Blanks what must not leave the machine, before anything can send it."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - what it overrides
        for name in _PRIVATE:
            if span.attributes and name in span.attributes:
                span.set_attribute(name, "")


def provider(chosen: TracingSetting, version: str) -> TracerProvider:
    """What makes spans and sends them to ``chosen.endpoint``, in batches, from a thread of its own.

    A caller's ``traceparent`` decides whether its request is traced; without one ``sample_ratio`` does. The SDK's own
    variables hold for the rest (``OTEL_SERVICE_NAME``, ``OTEL_RESOURCE_ATTRIBUTES``, ``OTEL_EXPORTER_OTLP_HEADERS``,
    ``OTEL_BSP_…``).
    """
    resource = Resource.create({SERVICE_VERSION: version})
    if str(resource.attributes.get(SERVICE_NAME, _UNKNOWN)).startswith(_UNKNOWN):
        resource = resource.merge(Resource({SERVICE_NAME: _DEFAULT_NAME}))
    made = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(chosen.sample_ratio)), resource=resource, shutdown_on_exit=False
    )
    made.add_span_processor(_WithoutQuery())
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=chosen.endpoint)))
    return made
