"""The HTTP face. Every endpoint only translates: bytes -> request -> engine or analyser -> response -> bytes."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from fumehood import __version__, batches, body, openapi, problems
from fumehood.analysis import Analyses
from fumehood.audit import Audit
from fumehood.batches import Batch
from fumehood.capabilities import describe
from fumehood.entrance import Entrance
from fumehood.executions import Executions
from fumehood.guard import METRICS_PATH, Guard
from fumehood.history import History, Question, question
from fumehood.idempotency import Claim, IdempotentCalls
from fumehood.keyholder import KeyHolder
from fumehood.problems import Kind, Problem
from fumehood.rates import Rates
from fumehood.readiness import Readiness
from fumehood.records import ExecutionPage, ExecutionRecord
from fumehood.refusals import Refusals
from fumehood.responses import (
    AnalyzeResponse,
    BatchResponse,
    CancelResponse,
    Capabilities,
    CompactResponse,
    ExecuteResponse,
    Health,
    Ready,
)
from fumehood.schemas import AnalyzeRequest, BatchRequest, ExecuteRequest, parse
from fumehood.store.database import MEMORY, Database
from fumehood.stream import NDJSON, Stream, wants_lines
from fumehood.telemetry.access import Access
from fumehood.telemetry.metrics import Line
from fumehood.telemetry.settings import MetricsAccess
from fumehood.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from fumehood.admission import Admission
    from fumehood.batches import Prepared
    from fumehood.executions import Answer, Box, Call, Vetted
    from fumehood.settings import Settings
    from fumehood.telemetry.telemetry import Analyser
    from sandbox.selfcheck import Finding

_TOO_MANY = 429


def create_app(
    settings: Settings,
    *,
    box: Box,
    analyser: Analyser,
    probe: Callable[[], tuple[Finding, ...]],
    database: Database | None = None,
) -> FastAPI:
    """The application. It owns neither ``box`` nor ``analyser``: whoever made them closes them after it.

    Args:
        settings: what the operator decided.
        box: the engine.
        analyser: the analyser's pool.
        probe: what ``/readyz`` runs; it never raises.
        database: keys and records, closed with the application; None keeps records in memory and knows no made keys.

    Raises:
        DatabaseError: the database cannot be read or written.
        OSError: the journal beside it cannot be written.
    """
    telemetry = Telemetry(settings.tracing, __version__, box.runtimes, [kind.value.slug for kind in Kind])
    database = database or Database.open(MEMORY)
    holder = KeyHolder(settings, database)
    audit = Audit.open(settings, database)
    rates = Rates()
    executions = Executions(box, analyser, settings, audit, telemetry)
    entrance = Entrance(settings, executions, rates)
    calls = IdempotentCalls(settings, database, audit.instance)
    analyses = Analyses(analyser, settings, telemetry)
    readiness = Readiness(box, probe)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        fresh = asyncio.create_task(holder.keep_fresh())
        yield
        fresh.cancel()
        executions.close()
        analyses.close()
        readiness.close()
        audit.close()
        database.close()
        telemetry.close()

    app = FastAPI(
        title="Fumehood",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=telemetry.tracing.framework(),
    )
    app.state.executions = executions
    app.state.analyses = analyses
    app.state.audit = audit
    app.state.holder = holder
    app.add_middleware(Guard, settings=settings, holder=holder, rates=rates)
    app.add_middleware(Access, telemetry=telemetry, log=settings.log.requests)  # what is added last is outermost
    app.add_exception_handler(Problem, _answer_problem)
    app.state.refusals = Refusals()
    app.add_exception_handler(HTTPException, _answer_unrouted)
    openapi.install(app)
    _add_execute(app, executions, entrance, calls)
    _add_batch(app, executions, entrance, calls, settings)
    _add_analyze(app, analyses, entrance)
    _add_history(app, History(database, audit))
    if settings.metrics.access is not MetricsAccess.OFF:
        lines = (
            _line("run", executions.admission, settings.concurrency, settings.queue),
            _line("analysis", analyses.admission, settings.analysis_workers, settings.queue),
        )
        telemetry.metrics.watch(
            lines,
            lambda: box.warmth,
            box.warm_memory_bytes,
            lambda: box.lacking,
            lambda: readiness.held,
            lambda: audit.pending,
        )
        _add_metrics(app, telemetry)

    @app.get("/healthz")
    async def healthz() -> Health:
        """Alive."""
        return Health()

    @app.get("/readyz")
    async def readyz() -> Ready:
        """A real snippet ran and every promised layer held; else 503 with the same members."""
        executions.check_open()
        return await readiness.answer()

    @app.get("/v1/capabilities")
    async def capabilities(request: Request) -> Capabilities:
        """Runtimes with versions and installed packages, limits with ceilings, layers: what this caller may have."""
        return describe(box, settings, request.state.origin.caller)

    return app


class _Direct(Route):
    """An endpoint that is called without FastAPI's route, which describes it: nothing here is its to inject or convert.

    To find that out anew for each call takes a tenth of all that is done for one, but for the run.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Note the route in the scope, as FastAPI does: metrics and logs name it."""
        match, noted = super().matches(scope)
        return match, {**noted, "route": self}


def _add_execute(app: FastAPI, executions: Executions, entrance: Entrance, calls: IdempotentCalls) -> None:
    @app.post("/v1/execute", response_model=ExecuteResponse, openapi_extra=openapi.takes(ExecuteRequest, once=True))
    async def execute(request: Request) -> Response:
        """Run a snippet. 200 whatever the guest did; the verdict is ``status``."""
        entered = await _enter(request, executions, entrance, calls)
        if isinstance(entered, Response):
            return entered
        call, claim = entered
        if claim is None:
            async with body.watch_for_leaving(request, call.end):
                return _answered(await executions.run(call))
        async with claim.running():
            answer = await executions.run(call)
        answer.tell()
        response = _json(answer.text)
        await claim.answer(response.status_code, str(response.media_type), bytes(response.body))
        return response

    app.router.routes.insert(0, _Direct("/v1/execute", execute, methods=["POST"]))

    @app.post("/v1/executions/{run_id}/cancel", response_model=CancelResponse)
    async def cancel(request: Request, run_id: str) -> Response:
        """End a run, waiting or running, by the id its caller gave."""
        executions.cancel(request.state.origin.caller.name, run_id)
        return _json(CancelResponse(id=run_id, cancelled=True).model_dump_json())


async def _enter(
    request: Request, executions: Executions, entrance: Entrance, calls: IdempotentCalls
) -> tuple[Call, Claim | None] | Response:
    """Read, check and line up a run. What a waiting call keeps is its job; body and request are let go here."""
    text = await entrance.read(request)
    origin = request.state.origin
    claim = await calls.claim(request, text)
    if isinstance(claim, Response):
        return claim

    def understand() -> tuple[str | None, Vetted]:
        asked = parse(ExecuteRequest, text)
        return asked.id, executions.prepare(asked, origin.caller)

    async with claim.accepting() if claim else contextlib.nullcontext():
        run_id, vetted = await body.aside(understand, len(text))
        return executions.enter(origin, run_id, vetted), claim


def _add_batch(
    app: FastAPI, executions: Executions, entrance: Entrance, calls: IdempotentCalls, settings: Settings
) -> None:
    @app.post("/v1/execute/batch", response_model=BatchResponse, openapi_extra=openapi.takes(BatchRequest, once=True))
    async def execute_batch(request: Request) -> Response:
        """Run many snippets, or one over many inputs. Results in order; one bad run spoils none."""
        text = await entrance.read(request)
        claim = await calls.claim(request, text)
        if isinstance(claim, Response):
            return claim
        async with claim.accepting() if claim else contextlib.nullcontext():
            batch = await _enter_batch(request, executions, entrance, text, settings)
        lines = wants_lines(request)
        media_type = NDJSON if lines else "application/json"
        parts = batches.as_lines(batch) if lines else batches.as_document(batch)
        return Stream(
            request,
            claim.keep(parts, media_type) if claim else parts,
            media_type,
            on_leaving=_go_on if claim else batch.end,
            close=batch.close,
        )


async def _enter_batch(
    request: Request, executions: Executions, entrance: Entrance, text: bytes, settings: Settings
) -> Batch:
    origin = request.state.origin

    def understand() -> Prepared:
        return batches.prepare(executions, origin.caller, parse(BatchRequest, text), settings.batch_runs)

    # Never where it is read: a short text can hold hundreds of runs.
    prepared = await asyncio.to_thread(understand)
    entrance.take_more(origin, len(prepared.runs) - 1)
    return Batch.enter(executions, origin, prepared, settings)


def _add_analyze(app: FastAPI, analyses: Analyses, entrance: Entrance) -> None:
    @app.post(
        "/v1/analyze", response_model=AnalyzeResponse | CompactResponse, openapi_extra=openapi.takes(AnalyzeRequest)
    )
    async def analyze(request: Request) -> Response:
        """Read a source without running it."""
        text = await entrance.read(request)
        asked = await body.aside(lambda: parse(AnalyzeRequest, text), len(text))
        turn = analyses.enter(request.state.origin.caller)
        async with body.watch_for_leaving(request, turn.leave):
            return _json(await analyses.run(turn, asked))


def _add_history(app: FastAPI, history: History) -> None:
    @app.get("/v1/executions", response_model=ExecutionPage, openapi_extra=openapi.asks(Question))
    async def executions(request: Request) -> Response:
        """What was run: the caller's own, or everybody's with an admin's key. The newest first, in pages."""
        page = await history.page(request.state.origin.caller, question(request.query_params))
        return _json(page.model_dump_json())

    @app.get("/v1/executions/{run_id}", response_model=ExecutionRecord)
    async def execution(request: Request, run_id: str) -> Response:
        """The record of the newest run of that id."""
        return _json((await history.one(request.state.origin.caller, run_id)).model_dump_json())


def _add_metrics(app: FastAPI, telemetry: Telemetry) -> None:
    @app.get(METRICS_PATH, response_class=PlainTextResponse)
    async def metrics(request: Request) -> Response:
        """How the service is doing, for Prometheus."""
        # In a thread: it reads /proc, and locks that the engine's threads hold.
        text, media_type = await asyncio.to_thread(telemetry.metrics.expose, request.headers.get("accept", ""))
        return Response(text, media_type=media_type)


def _line(name: str, admission: Admission, slots: int, places: int) -> Line:
    return Line(name, slots, places, lambda: admission.waiting, lambda: admission.running)


def _go_on() -> None:
    """Leaving ends nothing: whoever sent an Idempotency-Key will ask for the answer again."""


def _answered(answer: Answer) -> Response:
    """What is counted and logged of a run is so after its answer is sent, here where the next call is read too."""

    async def tell() -> None:
        answer.tell()

    return Response(answer.text, media_type="application/json", background=BackgroundTask(tell))


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")


async def _answer_problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)  # noqa: S101 - registered for this class alone
    request.state.problem = problem.kind.value.slug
    if problem.status == _TOO_MANY:
        await request.app.state.refusals.pace(request.state.origin.caller.name)
    return Response(problem.body(), problem.status, problem.headers, problems.MEDIA_TYPE)


async def _answer_unrouted(request: Request, error: Exception) -> Response:
    """No such path, or no such method on it: the only two that the framework itself raises here."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class alone
    kind = Kind.METHOD_NOT_ALLOWED if error.status_code == Kind.METHOD_NOT_ALLOWED.value.status else Kind.NOT_FOUND
    detail = f"{request.method} {request.url.path[:200]}"
    return await _answer_problem(request, Problem(kind, detail, headers=error.headers))
