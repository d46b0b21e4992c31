"""The HTTP face. Every endpoint only translates: bytes -> request -> engine or analyser -> response -> bytes."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from fumehood import __version__, batches, body, openapi, problems
from fumehood.analysis import Analyses
from fumehood.batches import Batch
from fumehood.capabilities import describe
from fumehood.executions import Executions
from fumehood.guard import METRICS_PATH, Guard
from fumehood.problems import Kind, Problem
from fumehood.readiness import Readiness
from fumehood.responses import (
    AnalyzeResponse,
    BatchResponse,
    CancelResponse,
    Capabilities,
    ExecuteResponse,
    Health,
    Ready,
)
from fumehood.schemas import AnalyzeRequest, BatchRequest, ExecuteRequest, parse
from fumehood.stream import NDJSON, Stream, wants_lines
from fumehood.telemetry.access import Access
from fumehood.telemetry.metrics import Line
from fumehood.telemetry.settings import MetricsAccess
from fumehood.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from fumehood.admission import Admission
    from fumehood.analysis import Analyser
    from fumehood.batches import Prepared
    from fumehood.executions import Box, Call
    from fumehood.settings import Settings
    from sandbox import Job
    from sandbox.selfcheck import Finding


def create_app(
    settings: Settings, *, box: Box, analyser: Analyser, probe: Callable[[], tuple[Finding, ...]]
) -> FastAPI:
    """The application. It owns neither ``box`` nor ``analyser``: whoever made them closes them after it.

    Args:
        settings: what the operator decided.
        box: the engine.
        analyser: the analyser's pool.
        probe: what ``/readyz`` runs; it never raises.
    """
    telemetry = Telemetry(settings.tracing, __version__, box.runtimes, [kind.value.slug for kind in Kind])
    executions = Executions(box, analyser, settings, telemetry)
    analyses = Analyses(analyser, settings, telemetry)
    readiness = Readiness(box, probe)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        executions.close()
        analyses.close()
        readiness.close()
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
    app.add_middleware(Guard, settings=settings)
    app.add_middleware(Access, telemetry=telemetry, log=settings.log.requests)  # what is added last is outermost
    app.add_exception_handler(Problem, _answer_problem)
    app.add_exception_handler(HTTPException, _answer_unrouted)
    openapi.install(app)
    _add_execute(app, executions, settings.body_bytes)
    _add_batch(app, executions, settings)
    _add_analyze(app, analyses, settings.body_bytes)
    if settings.metrics.access is not MetricsAccess.OFF:
        lines = (
            _line("run", executions.admission, settings.concurrency, settings.queue),
            _line("analysis", analyses.admission, settings.analysis_workers, settings.queue),
        )
        telemetry.metrics.watch(
            lines, lambda: box.warmth, box.warm_memory_bytes, lambda: box.lacking, lambda: readiness.held
        )
        _add_metrics(app, telemetry)

    @app.get("/healthz")
    async def healthz() -> Health:
        """Alive."""
        return Health()

    @app.get("/readyz")
    async def readyz() -> Ready:
        """A real snippet ran and every promised layer held; else 503 with the same members."""
        return await readiness.answer()

    @app.get("/v1/capabilities")
    async def capabilities() -> Capabilities:
        """Runtimes with versions and installed packages, limits with ceilings, layers."""
        return describe(box, settings)

    return app


def _add_execute(app: FastAPI, executions: Executions, body_bytes: int) -> None:
    @app.post("/v1/execute", response_model=ExecuteResponse, openapi_extra=openapi.takes(ExecuteRequest))
    async def execute(request: Request) -> Response:
        """Run a snippet. 200 whatever the guest did; the verdict is ``status``."""
        call = await _enter(request, executions, body_bytes)
        async with body.watch_for_leaving(request, call.end):
            return _json((await executions.run(call)).text)

    @app.post("/v1/executions/{run_id}/cancel", response_model=CancelResponse)
    async def cancel(request: Request, run_id: str) -> Response:
        """End a run, waiting or running, by the id its caller gave."""
        executions.cancel(request.state.caller, run_id)
        return _json(CancelResponse(id=run_id, cancelled=True).model_dump_json())


async def _enter(request: Request, executions: Executions, body_bytes: int) -> Call:
    """Read, check and line up a run. What a waiting call keeps is its job; body and request are let go here."""
    text = await body.read(request, body_bytes)

    def understand() -> tuple[ExecuteRequest, Job]:
        asked = parse(ExecuteRequest, text)
        return asked, executions.prepare(asked)

    asked, job = await body.aside(understand, len(text))
    return executions.enter(request.state.caller, asked.id, job, asked.analysis)


def _add_batch(app: FastAPI, executions: Executions, settings: Settings) -> None:
    @app.post("/v1/execute/batch", response_model=BatchResponse, openapi_extra=openapi.takes(BatchRequest))
    async def execute_batch(request: Request) -> Response:
        """Run many snippets, or one over many inputs. Results in order; one bad run spoils none."""
        batch = await _enter_batch(request, executions, settings)
        lines = wants_lines(request)
        return Stream(
            request,
            batches.as_lines(batch) if lines else batches.as_document(batch),
            NDJSON if lines else "application/json",
            on_leaving=batch.end,
            close=batch.close,
        )


async def _enter_batch(request: Request, executions: Executions, settings: Settings) -> Batch:
    text = await body.read(request, settings.body_bytes)

    def understand() -> Prepared:
        return batches.prepare(executions, parse(BatchRequest, text), settings.batch_runs)

    # Never where it is read: a short text can hold hundreds of runs.
    return Batch.enter(executions, request.state.caller, await asyncio.to_thread(understand), settings)


def _add_analyze(app: FastAPI, analyses: Analyses, body_bytes: int) -> None:
    @app.post("/v1/analyze", response_model=AnalyzeResponse, openapi_extra=openapi.takes(AnalyzeRequest))
    async def analyze(request: Request) -> Response:
        """Read a source without running it."""
        text = await body.read(request, body_bytes)
        asked = await body.aside(lambda: parse(AnalyzeRequest, text), len(text))
        turn = analyses.enter()
        async with body.watch_for_leaving(request, turn.leave):
            return _json(await analyses.run(turn, asked))


def _add_metrics(app: FastAPI, telemetry: Telemetry) -> None:
    @app.get(METRICS_PATH, response_class=PlainTextResponse)
    async def metrics(request: Request) -> Response:
        """How the service is doing, for Prometheus."""
        # In a thread: it reads /proc, and locks that the engine's threads hold.
        text, media_type = await asyncio.to_thread(telemetry.metrics.expose, request.headers.get("accept", ""))
        return Response(text, media_type=media_type)


def _line(name: str, admission: Admission, slots: int, places: int) -> Line:
    return Line(name, slots, places, lambda: admission.waiting, lambda: admission.running)


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")


def _answer_problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)  # noqa: S101 - registered for this class alone
    request.state.problem = problem.kind.value.slug
    return Response(problem.body(), problem.status, problem.headers, problems.MEDIA_TYPE)


def _answer_unrouted(request: Request, error: Exception) -> Response:
    """No such path, or no such method on it: the only two that the framework itself raises here."""
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class alone
    kind = Kind.METHOD_NOT_ALLOWED if error.status_code == Kind.METHOD_NOT_ALLOWED.value.status else Kind.NOT_FOUND
    detail = f"{request.method} {request.url.path[:200]}"
    return _answer_problem(request, Problem(kind, detail, headers=error.headers))
