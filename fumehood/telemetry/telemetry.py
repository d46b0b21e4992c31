"""One place that is told what happened, and tells it on: to the metrics, the log and the trace."""

from __future__ import annotations

import contextvars
import functools
import logging
import time
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Protocol

from fumehood.telemetry.metrics import NEVER_STARTED, Metrics
from fumehood.telemetry.tracing import Attributes, Tracing, note
from sandbox import LayerMissing, SetupError

if TYPE_CHECKING:
    from analyzers import Report, Severity
    from fumehood.telemetry.settings import TracingSetting
    from sandbox import Result, Status

_log = logging.getLogger("fumehood.runs")


class Analyser(Protocol):
    """What reads code: the service's pool of workers."""

    def analyze(
        self,
        code: str,
        language: str,
        *,
        threshold: Severity,
        fixes: bool = False,
        engines: Collection[str] = (),
        honour_suppressions: bool = True,
        packages: Collection[str] = (),
        modules: Collection[str] = (),
        apply_fixes: bool = False,
        unsafe_fixes: bool = False,
    ) -> Report:
        """Analyse; safe to call from many threads. Raises ``UnknownLanguageError``."""


class Telemetry:
    """How one service is doing. Any thread may tell it something."""

    def __init__(
        self, tracing: TracingSetting, version: str, languages: Iterable[str], problems: Iterable[str]
    ) -> None:
        self.metrics = Metrics(version, languages, problems)
        self.tracing = Tracing(tracing, version)

    def waited(self, queue: str, seconds: float) -> None:
        """A call has its slot in the line of that name, this moment."""
        self.metrics.waited(queue, seconds)
        self.tracing.past("wait", 0.0, seconds, {"fumehood.queue": queue})

    def run(self, run_id: str, language: str, work: Callable[[], Result]) -> tuple[Result, Callable[[], None]]:
        """Do a run and trace it; what it raises is logged, and its caller answers it.

        What comes with the result counts and logs the run, as part of its trace: for when its answer is on its way.
        """
        attributes: Attributes = {"fumehood.run.id": run_id, "fumehood.run.language": language}
        with self.tracing.span("run", attributes):
            started = time.monotonic()
            try:
                result = work()
            except (SetupError, LayerMissing) as error:
                extra = {"run_id": run_id, "language": language, "reason": str(error)}
                _log.error("run failed", extra=extra)
                raise
            after_seconds = time.monotonic() - started - result.usage.spawn_seconds - result.usage.wall_seconds
            self.tracing.past("spawn", after_seconds + result.usage.wall_seconds, result.usage.spawn_seconds)
            self.tracing.past("guest", after_seconds, result.usage.wall_seconds)
            note({"fumehood.run.status": result.status.value, "fumehood.run.launcher": result.launcher.value})
            tell = functools.partial(contextvars.copy_context().run, self._ran, run_id, language, result)
        return result, tell

    def _ran(self, run_id: str, language: str, result: Result) -> None:
        self.metrics.ran(language, result)
        _log.info(
            "run",
            extra={
                "run_id": run_id,
                "language": language,
                "status": result.status.value,
                "launcher": result.launcher.value,
                "limits_hit": list(result.limits_hit),
                "spawn_seconds": round(result.usage.spawn_seconds, 6),
                "wall_seconds": round(result.usage.wall_seconds, 6),
                "cpu_seconds": round(result.usage.cpu_seconds, 6),
                "peak_memory_bytes": result.usage.peak_memory_bytes,
            },
        )

    def never_ran(self, run_id: str, language: str, status: Status) -> None:
        """A run is over for which nothing was started."""
        self.metrics.never_ran(language, status)
        extra = {"run_id": run_id, "language": language, "status": status.value, "launcher": NEVER_STARTED}
        _log.info("run", extra=extra)

    def watched(self, analyser: Analyser, origin: str) -> Analyser:
        """The same analyser, each of whose analyses is counted, timed and traced; ``origin`` says who asks it."""
        return _Watched(analyser, origin, self)

    def close(self) -> None:
        """Send what is left of the traces."""
        self.tracing.close()


class _Watched:
    def __init__(self, analyser: Analyser, origin: str, telemetry: Telemetry) -> None:
        self._analyser = analyser
        self._origin = origin
        self._telemetry = telemetry

    def analyze(
        self,
        code: str,
        language: str,
        *,
        threshold: Severity,
        fixes: bool = False,
        engines: Collection[str] = (),
        honour_suppressions: bool = True,
        packages: Collection[str] = (),
        modules: Collection[str] = (),
        apply_fixes: bool = False,
        unsafe_fixes: bool = False,
    ) -> Report:
        with self._telemetry.tracing.span("analyze", {"fumehood.analysis.origin": self._origin}):
            started = time.monotonic()
            report = self._analyser.analyze(
                code,
                language,
                threshold=threshold,
                fixes=fixes,
                engines=engines,
                honour_suppressions=honour_suppressions,
                packages=packages,
                modules=modules,
                apply_fixes=apply_fixes,
                unsafe_fixes=unsafe_fixes,
            )
            seconds = time.monotonic() - started
            note({"fumehood.analysis.language": report.language, "fumehood.analysis.verdict": report.verdict.value})
        self._telemetry.metrics.analysed(report.language, report.verdict, self._origin, seconds)
        return report
