"""One run, from a valid request to its response: vetted, admitted, analysed where asked, run, told.

Everything here lives on one event loop but for :meth:`Executions._work`, which holds the thread of its slot.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from analyzers import UnknownLanguageError, language_named
from fumehood import analysis, permissions, records, responses
from fumehood.admission import Admission, QueueFullError, Turn
from fumehood.audit import NotRecordedError
from fumehood.policies import AnalysisMode
from fumehood.problems import Kind, Problem, at_field, from_engine, from_full_queue
from sandbox import Cancel, SandboxError, Status, runtime_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fumehood.audit import Audit, Entry
    from fumehood.auth import Caller, Origin
    from fumehood.gate import Gate
    from fumehood.responses import ExecuteResponse, RunAnalysis
    from fumehood.schemas import CaseIn, ExecuteRequest
    from fumehood.settings import Settings
    from fumehood.telemetry.telemetry import Analyser, Telemetry
    from sandbox import ForkServerState, Job, Limits, Plan, Result, Runtime

_RETRY_STOPPING_SECONDS = 5
_RETRY_BEHIND_SECONDS = 2
_SMALL = 1 << 14  # characters


class Box(Protocol):
    """What the service needs of :class:`sandbox.Sandbox`."""

    @property
    def ceilings(self) -> Limits:
        """The most a job may ask for, every value a number."""

    @property
    def runtimes(self) -> Mapping[str, Runtime]:
        """The languages, by canonical name."""

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that a run will have here."""

    @property
    def lacking(self) -> tuple[str, ...]:
        """The layers whose absence the operator accepted."""

    @property
    def warmth(self) -> tuple[ForkServerState, ...]:
        """What each fork server tells of itself; none where the warm path is switched off."""

    def warm_memory_bytes(self) -> Mapping[str, int]:
        """What each that is up holds in memory with its children."""

    def vet(self, job: Job) -> Plan:
        """Raise whatever would refuse the job without running it; give the plan for it."""

    def run(
        self,
        job: Job | Plan,
        *,
        cancel: Cancel | None = None,
        patient: bool = False,
        before: Callable[[], None] | None = None,
    ) -> Result:
        """Run the job, or the plan that :meth:`vet` gave; safe to call from many threads.

        ``patient``: leave warm children to others. ``before`` is called before anything of the guest's runs.
        """


class InFlight(Protocol):
    """What an id in flight means: a run, or a batch of them."""

    def end(self) -> None:
        """Cancel it, whether it waits or runs. Safe to call twice."""


class Vetted(NamedTuple):
    """A job that nothing but the moment can refuse, and the gate that goes before it.

    The plan is kept where it is small: it holds the code a second time, and many may wait.
    """

    job: Job
    gate: Gate
    plan: Plan | None = None


_Told = tuple["ExecuteResponse", "Callable[[], None]"]
"""What an :class:`Answer` is made of."""


class Answer(NamedTuple):
    """How a run ended, and the response that says so, as JSON.

    ``tell`` counts and logs the run. Its caller calls it, but not before the answer is on its way.
    """

    status: Status
    text: str
    tell: Callable[[], None]


@dataclass(slots=True, eq=False)
class Call:
    """One run in flight: before the line (``turn`` is None), in it, or in its slot."""

    origin: Origin
    run_id: str
    job: Job
    gate: Gate
    plan: Plan | None = None
    turn: Turn | None = None
    cancel: Cancel = field(default_factory=Cancel)
    entry: Entry | None = None
    """Its record, from the moment it was accepted."""
    begun: bool = False
    """Whether the thread of its slot has it, which then writes the end of the record."""

    @property
    def caller(self) -> str:
        """Whose run it is."""
        return self.origin.caller.name

    @property
    def queue_seconds(self) -> float:
        """How long it stood in line."""
        return self.turn.queue_seconds if self.turn else 0.0

    def end(self) -> None:
        """Cancel the run, whether it waits or runs. Safe to call twice."""
        self.cancel.set()
        self.leave()

    def leave(self) -> None:
        """Give up waiting. Without effect on a run that has its slot."""
        if self.turn is not None:
            self.turn.leave()


class Executions:
    """Every run in flight, by its caller's name and the id the caller gave."""

    def __init__(self, box: Box, analyser: Analyser, settings: Settings, audit: Audit, telemetry: Telemetry) -> None:
        self._box = box
        self._analyser = telemetry.watched(analyser, "run")
        self._demanded = settings.analysis
        self._audit = audit
        self._telemetry = telemetry
        self._admission = Admission(
            settings.concurrency, settings.queue, name="run", reserve_seconds=settings.reserve_seconds
        )
        self._in_flight: dict[tuple[str, str], InFlight] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopping = False

    @property
    def admission(self) -> Admission:
        """The line, for those who count it."""
        return self._admission

    def stop(self) -> None:
        """Accept no more runs. What was accepted goes on."""
        self._stopping = True

    async def settle(self, seconds: float) -> None:
        """Wait until nothing is in flight, but no longer than this."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)

    def check_open(self) -> None:
        """Raise Problem 503 where no run is accepted at the moment."""
        if self._stopping:
            headers = {"Retry-After": str(_RETRY_STOPPING_SECONDS), "Connection": "close"}
            raise Problem(Kind.STOPPING, "it finishes what it has accepted and takes nothing new", headers=headers)
        if self._audit.behind:
            headers = {"Retry-After": str(_RETRY_BEHIND_SECONDS)}
            raise Problem(Kind.RECORDS_BEHIND, f"{self._audit.pending} records wait for the database", headers=headers)

    def prepare(self, asked: ExecuteRequest, caller: Caller) -> Vetted:
        """The job as this caller may have it, after everything that can be refused without running it.

        Raises:
            Problem: the field and the reason, or the layer that this machine lacks.
        """
        asked = permissions.permit(asked, caller, self._box.runtimes)
        ceilings = caller.grants.limits.under(self._box.ceilings)
        try:
            job = asked.job(ceilings, self._box.runtimes)
            plan = self._box.vet(job)
        except SandboxError as error:
            raise from_engine(error) from error
        permissions.check_limits(job.limits, ceilings)
        language = self._runtime(job).name
        gate = permissions.gate_of(asked.analysis, caller.grants, self._demanded, language)
        if gate.mode is not AnalysisMode.OFF:
            try:
                language_named(language)
            except UnknownLanguageError as unknown:
                raise at_field(Kind.INVALID_REQUEST, "language", str(unknown)) from unknown
        return Vetted(job, gate, plan if len(job.code) <= _SMALL else None)

    def vary(self, job: Job, case: CaseIn) -> Job:
        """A prepared job with another input. Raises Problem, its paths those of the case."""
        try:
            varied = case.job(job)
            self._box.vet(varied)
        except SandboxError as error:
            raise from_engine(error) from error
        return varied

    def enter(self, origin: Origin, run_id: str | None, vetted: Vetted) -> Call:
        """Give a vetted job its id, its place in line and its record. :meth:`run` must follow.

        Raises:
            Problem: 409 for an id in flight, 429 for a full line, 503 where no run is accepted.
        """
        call = self.claim(origin, run_id, vetted)
        try:
            self.line_up(call)
        except Problem:
            self.forget(call.caller, call.run_id, call)
            raise
        self.accept(call)
        return call

    def claim(self, origin: Origin, run_id: str | None, vetted: Vetted) -> Call:
        """Give a vetted job its id. :meth:`accept` and :meth:`run`, or :meth:`forget`, must follow.

        Raises:
            Problem: 409 for an id in flight, 503 where no run is accepted.
        """
        self.check_open()
        call = Call(origin, run_id or uuid.uuid4().hex, vetted.job, vetted.gate, vetted.plan)
        self.note(call.caller, call.run_id, call)
        return call

    def accept(self, call: Call, batch_id: str | None = None) -> None:
        """Begin the run's record: from here on there will be one answer, and one end of the record."""
        known = records.accepted(call.origin, call.run_id, batch_id, call.job, self._runtime(call.job).name)
        call.entry = self._audit.accept(call.job.code, **known)

    def note(self, caller: str, run_id: str, it: InFlight) -> None:
        """Let the id mean this until it is forgotten. Raises Problem 409 where it means something already."""
        if (caller, run_id) in self._in_flight:
            raise Problem(Kind.DUPLICATE_ID, f"a run with the id {run_id} is in flight")
        self._in_flight[caller, run_id] = it
        self._idle.clear()

    def forget(self, caller: str, run_id: str, it: InFlight) -> None:
        """Free the id, if it still means this."""
        if self._in_flight.get((caller, run_id)) is it:
            del self._in_flight[caller, run_id]
        if not self._in_flight:
            self._idle.set()

    def line_up(self, call: Call, *, admitted: bool = False) -> None:
        """Give the call its place in line; ``admitted`` as for :meth:`Admission.join`. Raises Problem 429."""
        grants = call.origin.caller.grants
        try:
            call.turn = self._admission.join(call.caller, most=grants.concurrency, room=grants.queue, admitted=admitted)
        except QueueFullError as full:
            raise from_full_queue(full) from None

    async def run(self, call: Call) -> Answer:
        """Wait for the slot, run the job, and give the response.

        Raises:
            Problem: the sandbox could not be built, which is never told as the guest's failure; or another caller
                got the place in line.
        """
        ending = records.failed(Kind.INTERNAL_ERROR)
        try:
            if call.turn is None or not await call.turn.come():
                told, tell = self._never_ran(call, Status.CANCELLED)
                ending = records.ended(told)
                return Answer(told.status, told.model_dump_json(), tell)
            self._telemetry.waited("run", call.turn.queue_seconds)
            call.begun = True
            return await call.turn.work(lambda: self._work(call))
        except SandboxError as error:
            raise from_engine(error) from error
        except QueueFullError as full:
            ending = records.failed(Kind.QUEUE_FULL)
            raise from_full_queue(full) from None
        except NotRecordedError as error:
            headers = {"Retry-After": str(_RETRY_BEHIND_SECONDS)}
            raise Problem(Kind.RECORDS_BEHIND, f"the journal: {error}", headers=headers) from error
        except asyncio.CancelledError:
            told, tell = self._never_ran(call, Status.CANCELLED)
            ending = records.ended(told)
            tell()
            raise
        finally:
            if call.entry is not None and not call.begun:
                self._audit.end(call.entry, ending, here=False)
            call.cancel.set()
            self.forget(call.caller, call.run_id, call)

    def in_place(self, problem: Problem) -> str:
        """What stands in the place of a batch's run that was refused or failed; it is counted like any other."""
        self._telemetry.metrics.problem(problem.kind.value.slug)
        return problem.in_place()

    def cancel(self, caller: str, run_id: str) -> None:
        """End the run or batch of that id. Raises Problem 404 where the caller has none of that id in flight."""
        found = self._in_flight.get((caller, run_id))
        if found is None:
            raise Problem(Kind.UNKNOWN_EXECUTION, f"no run with the id {run_id[:128]!r} is in flight")
        found.end()

    def cancel_all(self) -> None:
        """End every run in flight and empty the line."""
        for each in list(self._in_flight.values()):
            each.end()

    def close(self) -> None:
        """End what still runs and wait for its threads."""
        self.cancel_all()
        self._admission.close()

    def _runtime(self, job: Job) -> Runtime:
        return runtime_named(job.language, self._box.runtimes)

    def _never_ran(self, call: Call, status: Status, analysed: RunAnalysis | None = None) -> _Told:
        runtime = self._runtime(call.job)
        told = responses.never_ran(call.run_id, status, runtime.version, call.queue_seconds, analysed)
        return told, lambda: self._telemetry.never_ran(call.run_id, runtime.name, status)

    def _work(self, call: Call) -> Answer:
        """In a thread: put the run on record, run it, put its end on record, and write the response."""
        ending = records.failed(Kind.INTERNAL_ERROR)
        try:
            told, tell = self._answer(call)
            ending = records.ended(told)
        except NotRecordedError:
            ending = records.failed(Kind.RECORDS_BEHIND)
            raise
        except SandboxError as error:
            ending = records.failed(from_engine(error).kind)
            raise
        finally:
            if call.entry is not None:
                self._audit.end(call.entry, ending, here=True)
        return Answer(told.status, told.model_dump_json(), tell)

    def _answer(self, call: Call) -> _Told:
        """In a thread: analyse where asked, and run."""

        def begin() -> None:
            if call.entry is not None:
                self._audit.begin(call.entry)

        analysed = None
        runtime = self._runtime(call.job)
        if call.gate.mode is not AnalysisMode.OFF:
            begin()
            analysed = analysis.before_run(self._analyser, call.job, runtime, call.gate)
            if analysed.blocked_because is not None:
                return self._never_ran(call, Status.BLOCKED, analysed)
        if call.cancel.is_set():
            return self._never_ran(call, Status.CANCELLED, analysed)
        patient = call.turn is not None and call.turn.patient
        result, tell = self._telemetry.run(
            call.run_id,
            runtime.name,
            # The record is written while the sandbox gets ready, and the guest waits for both.
            lambda: self._box.run(call.plan or call.job, cancel=call.cancel, patient=patient, before=begin),
        )
        return responses.ran(call.run_id, result, call.queue_seconds, analysed), tell
