"""``POST /v1/execute/batch``: many runs in one call, over a scripted engine and over the real one."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from doubles import ScriptedAnalyser, ScriptedBox, result
from serving import Live, serving, until

from analyzers.isolate import Pool
from fumehood.audit import Audit
from fumehood.auth import Caller, Origin
from fumehood.batches import Batch, Prepared, Ready
from fumehood.executions import Executions, Vetted
from fumehood.schemas import AnalysisIn
from fumehood.settings import Settings
from fumehood.store.database import MEMORY, Database
from fumehood.store.executions import Filter, page
from fumehood.telemetry.settings import TracingSetting
from fumehood.telemetry.telemetry import Telemetry
from sandbox import Job, Result, Sandbox, SetupError, Status

LINES = {"Accept": "application/x-ndjson"}
TOO_LONG = {"code": "x", "limits": {"wall_seconds": 1000}}


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Callers of their own."""
    with ThreadPoolExecutor(8) as pool:
        yield pool


def echo(job: Job) -> Result:
    """Print the code, what was read and the arguments."""
    said = f"{job.code}|{job.stdin.decode('latin-1')}|{','.join(job.args)}"
    return result(Status.ERROR if job.code == "fail" else Status.OK, stdout=said)


def batch(live: Live, headers: dict[str, str] | None = None, **request: Any) -> httpx2.Response:
    """Call the batch endpoint."""
    return live.client.post("/v1/execute/batch", json=request, headers=headers)


def results(live: Live, **request: Any) -> list[dict[str, Any]]:
    """Give the results of a batch that is taken."""
    answer = batch(live, **request)
    assert answer.status_code == 200, answer.text
    told: list[dict[str, Any]] = answer.json()["results"]
    return told


def in_flight(live: Live) -> int:
    """How many ids are in flight."""
    return len(live.app.state.executions._in_flight)


def in_line(live: Live) -> int:
    """How many calls wait."""
    return int(live.app.state.executions._admission.waiting)


def test_results_come_in_the_order_of_the_runs(live: Live) -> None:
    """Whatever order they end in: the first run is the last to end here."""
    others = threading.Semaphore(0)

    def script(job: Job) -> Result:
        if job.code == "0":
            for _ in range(9):
                assert others.acquire(timeout=5)
        else:
            others.release()
        return echo(job)

    live.box.script = script
    told = results(live, runs=[{"code": str(number), "id": f"run-{number}"} for number in range(10)])
    assert [one["stdout"] for one in told] == [f"{number}||" for number in range(10)]
    assert [one["id"] for one in told] == [f"run-{number}" for number in range(10)]
    assert in_flight(live) == 0


def test_a_result_is_what_execute_answers(live: Live) -> None:
    """The same members and the same values."""
    (told,) = results(live, id="b", runs=[{"code": "1", "id": "x"}])
    alone = live.execute(code="1", id="x").json()
    for each in (told, alone):
        each["usage"].pop("queue_seconds")
    assert told == alone


def test_a_bad_run_has_its_problem_in_its_place(live: Live) -> None:
    """Wrong fields, ceilings, a taken id, a failure of ours: paths are inside the run, and the others go on."""

    def script(job: Job) -> Result:
        if job.code == "broken":
            raise SetupError("init", 0, "gone")
        if job.code == "bug":
            raise ZeroDivisionError
        return echo(job)

    live.box.script = script
    told = results(
        live,
        runs=[
            {"code": "a", "id": "same"},
            {"code": 1},
            {"code": "b", "limits": {"wall_seconds": 1000}},
            {"code": "c", "id": "same"},
            "no object",
            {"code": "broken"},
            {"code": "bug"},
            {"code": "d", "files": [{"path": "x", "content": "é", "encoding": "base64"}]},
            {"code": "e", "language": "perl"},
            {"code": "f", "network": {"kind": "unrestricted"}},
            {"code": "z", "args": ["1"]},
        ],
    )
    assert (told[0]["stdout"], told[-1]["stdout"]) == ("a||", "z||1")
    problems = [one["problem"] for one in told[1:-1]]
    assert [(one["type"].rpartition(":")[2], [each["path"] for each in one.get("errors", [])]) for one in problems] == [
        ("invalid-request", ["code"]),
        ("over-ceiling", ["limits.wall_seconds"]),
        ("duplicate-id", []),
        ("invalid-request", [""]),
        ("setup-failed", []),
        ("internal-error", []),
        ("invalid-request", ["files.0.content"]),
        ("invalid-request", ["language"]),
        ("not-built", ["network.kind"]),
    ]
    assert in_flight(live) == 0
    assert live.execute(code="after").status_code == 200


def test_one_program_runs_over_many_cases(live: Live) -> None:
    """A case has its own input and arguments; what it leaves out is the run's."""
    live.box.script = echo
    told = results(
        live,
        run={"code": "p", "stdin": "s", "args": ["a"], "files": [{"path": "x", "content": "y"}]},
        cases=[
            {},
            {"stdin": "1"},
            {"stdin": base64.b64encode(b"\xff").decode(), "stdin_encoding": "base64"},
            {"args": []},
            {"stdin": "", "args": ["b", "c"], "id": "mine"},
            {"stdin": "é", "stdin_encoding": "base64"},
            {"code": "q"},
            {"args": ["\0"]},
        ],
    )
    assert [one["stdout"] for one in told[:5]] == ["p|s|a", "p|1|a", "p|\xff|a", "p|s|", "p||b,c"]
    assert told[4]["id"] == "mine"
    paths = [one["problem"]["errors"][0]["path"] for one in told[5:]]
    assert paths == ["stdin", "code", "args.0"]
    assert len({id(job.files[0].content) for job in live.box.jobs}) == 1  # however many cases there are


@pytest.mark.parametrize(
    ("request_", "slug", "paths"),
    [
        ({}, "invalid-request", [""]),
        ({"runs": [], "cases": []}, "invalid-request", [""]),
        ({"run": {"code": "x"}}, "invalid-request", [""]),
        ({"cases": [{}]}, "invalid-request", [""]),
        ({"runs": {}}, "invalid-request", ["runs"]),
        ({"runs": [], "stop_on": "error"}, "invalid-request", ["stop_on"]),
        ({"runs": [], "stop_on": ["wrong"]}, "invalid-request", ["stop_on.0"]),
        ({"runs": [], "parallel": 3}, "invalid-request", ["parallel"]),
        ({"runs": [{"code": "x"}] * 257}, "over-ceiling", ["runs"]),
        ({"run": {"code": "x"}, "cases": [{}] * 257}, "over-ceiling", ["cases"]),
        ({"run": TOO_LONG, "cases": []}, "over-ceiling", ["run.limits.wall_seconds"]),
        ({"run": {"code": "x", "language": "perl"}, "cases": []}, "invalid-request", ["run.language"]),
        ({"run": {"args": []}, "cases": [{}]}, "invalid-request", ["run.code"]),
        ({"run": {"code": "x", "id": "y"}, "cases": [{}]}, "invalid-request", [""]),
        ({"runs": [], "id": "/"}, "invalid-request", ["id"]),
    ],
)  # fmt: skip
def test_a_batch_that_is_wrong_as_a_whole_is_422(
    live: Live, request_: dict[str, Any], slug: str, paths: list[str]
) -> None:
    """Nothing of it is run."""
    assert live.problem(batch(live, **request_)) == (422, slug, paths)
    assert live.box.jobs == []


def test_a_batch_of_none_has_no_results(live: Live) -> None:
    """And its id is the caller's."""
    assert batch(live, id="none", runs=[]).json() == {"id": "none", "results": []}
    assert batch(live, LINES, runs=[]).text == ""


def test_results_are_lines_where_accept_says_so(live: Live, threads: ThreadPoolExecutor) -> None:
    """Each is sent as soon as it is known: two are here while the third still runs."""
    live.box.script = echo
    arrived: list[dict[str, Any]] = []

    def read() -> str:
        request = {"runs": [{"code": "a\n"}, {"code": 3}, {"code": "wait"}, {"code": "b"}]}
        with live.client.stream("POST", "/v1/execute/batch", json=request, headers=LINES) as answer:
            arrived.extend(json.loads(line) for line in answer.iter_lines())
            return str(answer.headers["content-type"])

    call = threads.submit(read)
    until(lambda: len(arrived) == 2)
    live.box.let_go.set()
    assert call.result(timeout=5) == "application/x-ndjson"
    assert [one.get("stdout") for one in arrived] == ["a\n||", None, "wait||", "b||"]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/x-ndjson;q=0", "application/json"),
        ("application/json;q=0.5, Application/X-NDJSON; q=0.9", "application/x-ndjson"),
    ],
)
def test_accept_is_read_as_a_list(live: Live, accept: str, kind: str) -> None:
    """One document is the default."""
    assert batch(live, {"Accept": accept}, runs=[]).headers["content-type"] == kind


def test_a_batch_does_not_starve_a_single_call(live: Live, threads: ThreadPoolExecutor) -> None:
    """Of a long batch no more runs are in line or running than there are slots; a single call comes in between."""
    live.box.script = echo
    call = threads.submit(results, live, runs=[{"code": "wait"}] * 2 + [{"code": str(number)} for number in range(50)])
    until(lambda: len(live.box.jobs) == 2)
    assert in_line(live) == 0
    single = threads.submit(live.execute, code="single")
    until(lambda: in_line(live) == 1)
    live.box.let_go.set()
    assert single.result(timeout=5).status_code == 200
    assert len(call.result(timeout=5)) == 52
    assert [job.code for job in live.box.jobs].index("single") <= 5


def test_a_batch_that_is_in_waits_where_the_line_is_full(live: Live, threads: ThreadPoolExecutor) -> None:
    """Its later runs are not refused; a batch that comes to a full line is, as a whole."""
    live.box.script = echo
    call = threads.submit(results, live, runs=[{"code": "wait"}] * 2 + [{"code": str(number)} for number in range(9)])
    until(lambda: len(live.box.jobs) == 2)
    singles: list[Future[httpx2.Response]] = [threads.submit(live.execute, code="single") for _ in range(2)]
    until(lambda: in_line(live) == 2)
    refused = batch(live, id="late", runs=[{"code": "1", "id": "later"}])
    assert live.problem(refused)[:2] == (429, "queue-full")
    assert int(refused.headers["retry-after"]) >= 1
    live.box.let_go.set()
    assert {single.result(timeout=5).status_code for single in singles} == {200}
    assert [one["status"] for one in call.result(timeout=5)] == ["ok"] * 11
    assert in_flight(live) == 0


def test_stop_on_ends_what_has_not_begun(live: Live) -> None:
    """Later runs without a slot are ``cancelled``; without ``stop_on`` all are run."""
    live.box.script = echo
    runs = [{"code": "a"}, {"code": "fail"}, *({"code": str(number)} for number in range(20))]
    told = results(live, runs=runs, stop_on=["error", "timeout"])
    assert [one["status"] for one in told[:2]] == ["ok", "error"]
    assert {one["status"] for one in told[4:]} == {"cancelled"}
    assert told[-1]["launcher"] is None
    for keep_going in (None, [], ["timeout"]):
        assert {one["status"] for one in results(live, runs=runs, stop_on=keep_going)[2:]} == {"ok"}


def test_cancel_ends_one_run_or_all(live: Live, threads: ThreadPoolExecutor) -> None:
    """By the id of a run, begun or not, and by the id of the batch."""
    runs = [{"code": "wait", "id": "r0"}, {"code": "wait"}, {"code": "never", "id": "r2"}, {"code": "never"}]
    call = threads.submit(results, live, id="all", runs=runs)
    until(lambda: len(live.box.jobs) == 2)
    assert live.problem(batch(live, id="all", runs=[]))[:2] == (409, "duplicate-id")
    assert live.problem(live.execute(code="1", id="r2"))[:2] == (409, "duplicate-id")
    for name in ("r2", "all"):
        assert live.client.post(f"/v1/executions/{name}/cancel").status_code == 200
    told = call.result(timeout=5)
    assert [(one["status"], one["stdout"]) for one in told] == [("cancelled", "part")] * 2 + [("cancelled", "")] * 2
    assert [job.code for job in live.box.jobs] == ["wait", "wait"]
    assert live.problem(live.client.post("/v1/executions/all/cancel"))[:2] == (404, "unknown-execution")


@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson"])
def test_a_closed_connection_cancels_the_batch(live: Live, accept: str) -> None:
    """What runs is ended, what waits is never run, and no id stays taken."""
    body = json.dumps({"runs": [{"code": "wait", "id": f"r{number}"} for number in range(9)]}).encode()
    head = (
        f"POST /v1/execute/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: {accept}\r\n"
    )
    with socket.create_connection(("127.0.0.1", live.port)) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        until(lambda: len(live.box.jobs) == 2)
    until(lambda: in_flight(live) == 0)
    assert len(live.box.jobs) == 2
    assert not live.box.let_go.is_set()
    assert live.execute(code="after", id="r5").status_code == 200


def test_held_results_are_bounded(settings: Settings) -> None:
    """While the first run lasts, only as many results as fit are held; none is lost."""
    small = settings.model_copy(update={"batch_held_bytes": 5000})
    with serving(small) as live, ThreadPoolExecutor(1) as caller:
        live.box.script = lambda job: result(stdout=job.code * 1000)
        runs = [{"code": "wait"}, *({"code": "x"} for _ in range(50))]
        call = caller.submit(results, live, runs=runs)
        until(lambda: len(live.box.ended) == 4)
        assert not call.done()
        assert len(live.box.jobs) <= 6
        live.box.let_go.set()
        assert len(call.result(timeout=5)) == 51


def test_analysis_and_blocking_are_each_runs_own(live: Live) -> None:
    """As for a run by itself."""
    block = {"mode": "block"}
    told = results(live, runs=[{"code": "eval(x)", "analysis": block}, {"code": "1", "analysis": block}, {"code": "2"}])
    assert [one["status"] for one in told] == ["blocked", "ok", "ok"]
    assert [one["analysis"] is None for one in told] == [False, False, True]


def test_a_batch_over_the_real_engine(settings: Settings, engine: Sandbox, analyser: Pool) -> None:
    """Twenty runs, one of them bad and one too slow; the verdicts are the same as alone, as lines in order."""
    runs: list[dict[str, Any]] = [{"code": f"print({number}**2)"} for number in range(16)]
    runs[3:3] = [
        {"code": "while True: pass", "limits": {"wall_seconds": 0.3}},
        {"code": "print(1)", "limits": {"memory_bytes": 1}},
        {"language": "bash", "code": "exit 7"},
        {"code": "import sys; print(input(), sys.argv[1])", "stdin": "in", "args": ["arg"], "launcher": "cold"},
    ]
    with serving(settings, engine, analyser) as live:
        lines = batch(live, LINES, runs=runs).text.splitlines()
    told = [json.loads(line) for line in lines]
    statuses = [one.get("status", "problem") for one in told]
    assert statuses == ["ok"] * 3 + ["timeout", "problem", "error", "ok"] + ["ok"] * 13
    squares = [one["stdout"] for index, one in enumerate(told) if index not in range(3, 7)]
    assert squares == [f"{number**2}\n" for number in range(16)]
    assert (told[5]["exit_code"], told[6]["stdout"], told[6]["launcher"]) == (7, "in arg\n", "cold")
    assert told[4]["problem"]["errors"][0]["path"] == "limits.memory_bytes"


def test_a_closed_connection_ends_a_batch_of_the_real_engine(settings: Settings, engine: Sandbox) -> None:
    """Otherwise the next call would wait for minutes of sleep."""
    body = json.dumps({"run": {"code": "import time; time.sleep(60)"}, "cases": [{}] * 20}).encode()
    head = "POST /v1/execute/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with serving(settings, engine) as live:
        with socket.create_connection(("127.0.0.1", live.port)) as connection:
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            until(lambda: live.app.state.executions._admission.running == 2)
        until(lambda: in_flight(live) == 0)
        assert live.execute(code="print(1)").json()["stdout"] == "1\n"


def test_ids_are_free_though_nobody_reads_the_answer(settings: Settings) -> None:
    """Where the answer cannot be sent, the batch is closed all the same, begun or not."""

    async def story() -> None:
        database = Database.open(MEMORY)
        audit = Audit.open(settings, database)
        telemetry = Telemetry(TracingSetting(), "0", (), ())
        executions = Executions(ScriptedBox(), ScriptedAnalyser(), settings, audit, telemetry)
        me = Origin(Caller("me"), "request", None)
        ready = Ready("run", Vetted(Job(code="1"), AnalysisIn()))
        unasked = Batch.enter(executions, me, Prepared("batch", frozenset(), (ready, ready)), settings)
        await unasked.close()
        assert executions._in_flight == {}
        begun = Batch.enter(executions, me, Prepared("batch", frozenset(), (ready,) * 3), settings)
        answers = begun.results()
        assert json.loads(await anext(answers))["id"] == "run"
        assert 0 not in begun._told  # what was told is not kept
        await begun.close()
        await begun.close()
        assert executions._in_flight == {}
        await asyncio.sleep(0.05)
        assert executions._admission.running == 0
        executions.close()
        assert audit.flush(5)
        # The runs whose ids were taken already were refused in their places: they were not accepted.
        assert [row["status"] for row in page(database, Filter(), before=None, limit=9)] == ["ok", "cancelled"]
        audit.close()
        database.close()

    asyncio.run(story())
