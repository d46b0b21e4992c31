"""Many runs in one call: told in the order they were asked for, each by its result or by the problem in its place.

A batch has no lane of its own. Its runs stand in the same line as everybody's, no more of them at a time than there
are slots, so a single call waits behind a handful of them however many are to come. Results that wait for an earlier
one, or for a caller who reads slowly, are held in memory up to a bound; above it no further run is begun.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fumehood.executions import Call, Vetted
from fumehood.problems import Kind, Problem, at_field
from fumehood.schemas import CaseIn, ExecuteRequest, reread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from fumehood.auth import Caller, Origin
    from fumehood.executions import Executions
    from fumehood.schemas import BatchRequest
    from fumehood.settings import Settings
    from sandbox import Status

_log = logging.getLogger("fumehood.batches")


@dataclass(frozen=True, slots=True)
class Ready:
    """A run of a batch that can be begun."""

    run_id: str | None
    vetted: Vetted


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch whose every run was read: each is ready, or the JSON of the problem in its place."""

    batch_id: str | None
    stop_on: frozenset[Status]
    runs: tuple[Ready | str, ...]


def prepare(executions: Executions, caller: Caller, asked: BatchRequest, most_runs: int) -> Prepared:
    """Read every run of a batch by itself.

    Raises:
        Problem: there are too many runs, or the run that all cases share is refused.
    """
    field, values = ("runs", asked.runs) if asked.runs is not None else ("cases", asked.cases or ())
    if len(values) > most_runs:
        raise at_field(Kind.OVER_CEILING, field, f"may be at most {most_runs}, not {len(values)}")
    read = _each_run(executions, caller) if asked.run is None else _each_case(executions, caller, asked.run)
    told = tuple(_or_problem(executions, read, value) for value in values)
    return Prepared(asked.id, frozenset(asked.stop_on or ()), told)


def _each_run(executions: Executions, caller: Caller) -> Callable[[object], Ready]:
    def read(value: object) -> Ready:
        run = reread(ExecuteRequest, value)
        return Ready(run.id, executions.prepare(run, caller))

    return read


def _each_case(executions: Executions, caller: Caller, shared: ExecuteRequest) -> Callable[[object], Ready]:
    try:
        vetted = executions.prepare(shared, caller)
    except Problem as problem:
        raise problem.below("run") from problem

    def read(value: object) -> Ready:
        case = reread(CaseIn, value)
        return Ready(case.id, Vetted(executions.vary(vetted.job, case), vetted.gate))

    return read


def _or_problem(executions: Executions, read: Callable[[object], Ready], value: object) -> Ready | str:
    try:
        return read(value)
    except Problem as problem:
        return executions.in_place(problem)


class Batch:
    """One batch in flight. Made by :meth:`enter`; :meth:`close` must follow, whatever became of it."""

    def __init__(self, executions: Executions, origin: Origin, prepared: Prepared, settings: Settings) -> None:
        self.run_id = prepared.batch_id or uuid.uuid4().hex
        self._executions = executions
        self._origin = origin
        self._stop_on = prepared.stop_on
        self._width = settings.concurrency
        self._most_held_bytes = settings.batch_held_bytes
        self._held_bytes = 0
        self._room = asyncio.Event()
        self._entries: list[Call | str] = []
        """What is to come at each place; what is over is replaced, so that it does not keep its code and files."""
        self._told: dict[int, asyncio.Future[str]] = {}
        """What is not told yet, by its place."""
        self._workers: list[asyncio.Task[None]] = []
        self._stopped_at = len(prepared.runs)
        self._ended = False

    @classmethod
    def enter(cls, executions: Executions, origin: Origin, prepared: Prepared, settings: Settings) -> Batch:
        """Claim the ids of the batch and of its runs, a place in line for the first run, and their records.

        Raises:
            Problem: 409 for a batch's id in flight, 429 for a full line. A run's id in flight is that run's problem.
        """
        batch = cls(executions, origin, prepared, settings)
        executions.check_open()
        executions.note(origin.caller.name, batch.run_id, batch)
        batch._entries = [batch._claim(run) for run in prepared.runs]
        first = next((entry for entry in batch._entries if isinstance(entry, Call)), None)
        try:
            if first is not None:
                executions.line_up(first)
        except Problem:
            batch._forget()
            raise
        for entry in batch._entries:
            if isinstance(entry, Call):
                executions.accept(entry, batch.run_id)
        batch._told = {place: asyncio.get_running_loop().create_future() for place in range(len(batch._entries))}
        return batch

    def end(self) -> None:
        """Cancel every run of it, begun or not; each is told as cancelled."""
        self._ended = True
        for entry in self._entries:
            if isinstance(entry, Call):
                entry.end()
        self._room.set()

    async def results(self) -> AsyncIterator[str]:
        """Each result as JSON, in order, as soon as it and all before it are known."""
        places = iter(range(len(self._entries)))
        self._workers = [asyncio.create_task(self._work(places)) for _ in range(self._width)]
        for place in range(len(self._entries)):
            text = await self._told[place]
            del self._told[place]
            yield text
            self._held_bytes -= len(text)
            self._room.set()

    async def close(self) -> None:
        """End what is not over, and free the ids. Safe to call twice."""
        self.end()
        if not self._workers:  # nobody ever asked for the results
            for entry in self._entries:
                if isinstance(entry, Call):
                    (await self._executions.run(entry)).tell()
        await asyncio.gather(*self._workers)
        self._forget()

    async def _work(self, places: Iterator[int]) -> None:
        """Do one run after the other; all workers together take them in order."""
        while True:
            # Before a place is taken: whoever holds one must not wait for results behind it to be told.
            while self._held_bytes > self._most_held_bytes and not self._ended:
                self._room.clear()
                await self._room.wait()
            place = next(places, None)
            if place is None:
                return
            text = await self._answer(place)
            self._entries[place] = ""
            self._held_bytes += len(text)
            self._told[place].set_result(text)

    async def _answer(self, place: int) -> str:
        entry = self._entries[place]
        if isinstance(entry, str):
            return entry
        try:
            if entry.turn is None and not self._ended and not entry.cancel.is_set() and place < self._stopped_at:
                self._executions.line_up(entry, admitted=True)
            answer = await self._executions.run(entry)
        except Problem as problem:
            return self._executions.in_place(problem)
        except Exception:  # noqa: BLE001 - one failed run spoils none; it is logged with its reason
            _log.exception("run of a batch failed", extra={"run_id": entry.run_id, "batch_id": self.run_id})
            ours = Problem(Kind.INTERNAL_ERROR, "the service's log has the run's id and the reason")
            return self._executions.in_place(ours)
        answer.tell()
        if answer.status in self._stop_on:
            self._stop(place)
        return answer.text

    def _stop(self, place: int) -> None:
        """Take the later runs that have no slot yet out of the line, and let no other in."""
        self._stopped_at = min(place, self._stopped_at)
        for later in self._entries[place + 1 :]:
            if isinstance(later, Call):
                later.leave()

    def _claim(self, run: Ready | str) -> Call | str:
        if isinstance(run, str):
            return run
        try:
            return self._executions.claim(self._origin, run.run_id, run.vetted)
        except Problem as problem:
            return self._executions.in_place(problem)

    def _forget(self) -> None:
        for entry in self._entries:
            if isinstance(entry, Call):
                self._executions.forget(entry.caller, entry.run_id, entry)
        self._executions.forget(self._origin.caller.name, self.run_id, self)


async def as_lines(batch: Batch) -> AsyncIterator[str]:
    """The results as NDJSON: one a line."""
    async for text in batch.results():
        yield f"{text}\n"


async def as_document(batch: Batch) -> AsyncIterator[str]:
    """The results as one JSON document, in parts."""
    between = f'{{"id":{json.dumps(batch.run_id)},"results":['
    async for text in batch.results():
        yield between + text
        between = ","
    yield "]}" if between == "," else between + "]}"
