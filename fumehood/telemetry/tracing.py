"""Spans of a request: its wait, its spawn, its run, its analysis. Sent over OTLP where an endpoint is configured.

Without one every span is a no-op and neither the SDK nor the exporter is loaded. Nothing that a caller or a guest wrote
is an attribute.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.trace import StatusCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fastapi.telemetry import TelemetryConfig
    from opentelemetry.sdk.trace import TracerProvider

    from fumehood.telemetry.settings import TracingSetting

_FLUSH_SECONDS = 3.0
_NAME = "fumehood"
_UNTRACED = frozenset({"/healthz", "/readyz", "/metrics"})

Attributes = dict[str, str | int | float]


class Tracing:
    """Where spans go. Made once; :meth:`close` sends what is left."""

    def __init__(self, chosen: TracingSetting, version: str) -> None:
        self._provider = _provider(chosen, version) if chosen.endpoint else None
        self._tracer = self._provider.get_tracer(_NAME, version) if self._provider else trace.NoOpTracer()

    @property
    def enabled(self) -> bool:
        """Whether spans go anywhere."""
        return self._provider is not None

    def framework(self) -> TelemetryConfig:
        """What the web framework's own instrumentation may do: a span for each request, and nothing else."""
        return {
            "tracer_provider": self._provider,
            "tracing": self.enabled,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,  # no variable of the framework's may send anything anywhere
            "exclude": _is_untraced,
        }

    @contextlib.contextmanager
    def span(self, name: str, attributes: Attributes) -> Iterator[None]:
        """A span around a block, as the current one. Of an exception it tells the kind; the text may quote a caller."""
        with self._tracer.start_as_current_span(
            name, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except Exception as error:
                span.set_attribute("error.type", type(error).__qualname__)
                span.set_status(StatusCode.ERROR)
                raise

    def past(self, name: str, ended_seconds_ago: float, seconds: float, attributes: Attributes | None = None) -> None:
        """A span below the current one that is over: it took ``seconds`` and ended so long ago."""
        if self._provider is None:
            return
        end = time.time_ns() - round(ended_seconds_ago * 1e9)
        self._tracer.start_span(name, attributes=attributes, start_time=end - round(seconds * 1e9)).end(end)

    def close(self) -> None:
        """Send what is left. A collector that does not answer holds nobody up for long."""
        if self._provider is not None:
            thread = threading.Thread(target=self._provider.shutdown, name="traces", daemon=True)
            thread.start()
            thread.join(_FLUSH_SECONDS)


def note(attributes: Attributes) -> None:
    """Add to the current span."""
    trace.get_current_span().set_attributes(attributes)


def _is_untraced(scope: Mapping[str, Any]) -> bool:
    return scope.get("path") in _UNTRACED


def _provider(chosen: TracingSetting, version: str) -> TracerProvider:
    # Loaded only where it is wanted: it takes memory, and it is code that sends things to other machines.
    from fumehood.telemetry.otlp import provider  # noqa: PLC0415

    return provider(chosen, version)
