"""Reading code without running it: what the analyser says, in the words of the wire, and whether it stops a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzers import UnknownLanguageError, compact, render
from analyzers.analyze import unanswered_report
from analyzers.isolate import PoolClosedError
from fumehood.admission import Admission, QueueFullError
from fumehood.foresight import modules, with_unmet
from fumehood.problems import Kind, at_field, from_full_queue
from fumehood.responses import AnalyzeResponse, RunAnalysis

if TYPE_CHECKING:
    from fumehood.admission import Turn
    from fumehood.auth import Caller
    from fumehood.gate import Gate
    from fumehood.schemas import AnalyzeRequest
    from fumehood.settings import Settings
    from fumehood.telemetry.telemetry import Analyser, Telemetry
    from sandbox import Job, Runtime


class Analyses:
    """Every analysis in flight that was asked for by itself. Belongs to one event loop."""

    def __init__(self, analyser: Analyser, settings: Settings, telemetry: Telemetry) -> None:
        self._analyser = telemetry.watched(analyser, "request")
        self._telemetry = telemetry
        self._admission = Admission(settings.analysis_workers, settings.queue, name="analyse")

    @property
    def admission(self) -> Admission:
        """The line, for those who count it."""
        return self._admission

    def enter(self, caller: Caller) -> Turn:
        """Take a place in line. Raises Problem 429."""
        try:
            return self._admission.join(caller.name, most=caller.grants.concurrency, room=caller.grants.queue)
        except QueueFullError as full:
            raise from_full_queue(full) from None

    async def run(self, turn: Turn, asked: AnalyzeRequest) -> str:
        """Wait for the slot, analyse, and give the response's JSON; empty if the caller left the line.

        Raises:
            Problem: 422 for a language that no analyser reads; 429 where another caller got the place in line.
        """
        try:
            if not await turn.come():
                return ""
            self._telemetry.waited("analysis", turn.queue_seconds)
            return await turn.work(lambda: self._work(asked))
        except UnknownLanguageError as unknown:
            raise at_field(Kind.INVALID_REQUEST, "language", str(unknown)) from unknown
        except QueueFullError as full:
            raise from_full_queue(full) from None

    def close(self) -> None:
        """Wait for what still runs."""
        self._admission.close()

    def _work(self, asked: AnalyzeRequest) -> str:
        """In a thread: analyse and write the response."""
        report = self._analyser.analyze(
            asked.code,
            asked.language,
            threshold=asked.threshold,
            fixes=asked.fixes,
            apply_fixes=asked.apply_fixes,
            unsafe_fixes=asked.unsafe_fixes,
            engines=asked.engines,
            honour_suppressions=asked.honour_suppressions,
        )
        if asked.format == "compact":
            return compact.to_compact(report, max_findings=asked.max_findings, max_bytes=asked.max_bytes)
        return AnalyzeResponse.model_validate(render.to_dict(report)).model_dump_json()


def before_run(analyser: Analyser, job: Job, runtime: Runtime, gate: Gate) -> RunAnalysis:
    """Analyse code that is about to run and decide whether it may.

    The code may not say what is not to be found in it. An analyser that cannot be asked is one that gave no answer:
    whatever a policy makes of that, it is never taken for a clean report.
    """
    try:
        report = analyser.analyze(
            job.code,
            runtime.name,
            threshold=gate.threshold,
            honour_suppressions=False,
            packages=tuple(runtime.packages),
            modules=modules(job),
        )
    except PoolClosedError as closed:
        report = unanswered_report(runtime.name, str(closed))
    report = with_unmet(report, job)
    return RunAnalysis.model_validate({**render.to_dict(report), "blocked_because": gate.why_blocked(report)})
