"""How calls wait, run and end: the line, cancelling by id, callers who leave, and the service's own stop."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from serving import Live, serving, until

from fumehood.settings import Settings


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Callers of their own."""
    with ThreadPoolExecutor(16) as pool:
        yield pool


def start_waiting(live: Live, threads: ThreadPoolExecutor, **more: Any) -> Future[httpx2.Response]:
    """Start a run that lasts, and come back when the engine has it."""
    future = threads.submit(live.execute, code="wait", **more)
    assert live.box.waiting.acquire(timeout=5)
    return future


def fill(live: Live, threads: ThreadPoolExecutor) -> list[Future[httpx2.Response]]:
    """Take both slots."""
    return [start_waiting(live, threads) for _ in range(2)]


def in_line(live: Live) -> int:
    """How many calls wait."""
    return int(live.app.state.executions._admission.waiting)


def test_a_full_line_is_429_with_retry_after(live: Live, threads: ThreadPoolExecutor) -> None:
    """Two run, two wait, and the fifth is sent away with a time to come back; the others all end well."""
    runs = fill(live, threads)
    runs += [threads.submit(live.execute, code="1") for _ in range(2)]
    until(lambda: in_line(live) == 2)
    refused = live.execute(code="1")
    assert live.problem(refused)[:2] == (429, "queue-full")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    live.box.let_go.set()
    assert [run.result().json()["status"] for run in runs] == ["ok"] * 4


def test_waiting_is_first_come_first_served_and_reported(live: Live, threads: ThreadPoolExecutor) -> None:
    """Those in line run in their order, and ``queue_seconds`` says how long they stood."""
    fill(live, threads)
    first = threads.submit(live.execute, code="first")
    until(lambda: in_line(live) == 1)
    second = threads.submit(live.execute, code="second")
    until(lambda: in_line(live) == 2)
    time.sleep(0.1)
    live.box.let_go.set()
    waited = [call.result().json()["usage"]["queue_seconds"] for call in (first, second)]
    assert all(0.1 <= seconds < 5 for seconds in waited)
    assert [job.code for job in live.box.jobs[2:]] == ["first", "second"]


def test_cancel_ends_a_run_by_its_callers_id(live: Live, threads: ThreadPoolExecutor) -> None:
    """The run answers 200 with what it had printed; afterwards its id is unknown and free again."""
    run = start_waiting(live, threads, id="mine")
    answer = live.client.post("/v1/executions/mine/cancel")
    assert (answer.status_code, answer.json()) == (200, {"id": "mine", "cancelled": True})
    told = run.result()
    assert (told.status_code, told.json()["status"], told.json()["stdout"]) == (200, "cancelled", "part")
    assert live.problem(live.client.post("/v1/executions/mine/cancel"))[:2] == (404, "unknown-execution")
    assert live.execute(code="1", id="mine").status_code == 200


def test_cancel_ends_a_run_that_waits(live: Live, threads: ThreadPoolExecutor) -> None:
    """It never reaches the engine, its answer says so, and its place in line is free."""
    fill(live, threads)
    run = threads.submit(live.execute, code="never", id="queued")
    until(lambda: in_line(live) == 1)
    assert live.client.post("/v1/executions/queued/cancel", json={}).status_code == 200
    told = run.result().json()
    assert (told["status"], told["exit_code"], told["launcher"], told["layers"]) == ("cancelled", None, None, [])
    assert told["runtime"] == "python 3.11.7"
    assert in_line(live) == 0
    live.box.let_go.set()
    assert [job.code for job in live.box.jobs] == ["wait", "wait"]


def test_an_id_in_flight_cannot_be_taken_twice(live: Live, threads: ThreadPoolExecutor) -> None:
    """The second call is refused and the first goes on."""
    run = start_waiting(live, threads, id="mine")
    assert live.problem(live.execute(code="1", id="mine"))[:2] == (409, "duplicate-id")
    live.box.let_go.set()
    assert run.result().json()["status"] == "ok"


def test_cancelling_what_is_not_there_is_404(live: Live) -> None:
    """Also for an id that never was."""
    assert live.problem(live.client.post("/v1/executions/nobody/cancel"))[:2] == (404, "unknown-execution")


def raw_execute(live: Live, code: str) -> socket.socket:
    """Send an execute call over a plain socket and leave it open."""
    body = json.dumps({"code": code}).encode()
    head = "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection = socket.create_connection(("127.0.0.1", live.port))
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection


def test_a_closed_connection_cancels_its_run(live: Live) -> None:
    """Nobody is left to read the answer, so the run is ended at once."""
    connection = raw_execute(live, "wait")
    assert live.box.waiting.acquire(timeout=5)
    connection.close()
    until(lambda: len(live.box.ended) == 1)
    assert not live.box.let_go.is_set()


def test_a_closed_connection_leaves_the_line(live: Live, threads: ThreadPoolExecutor) -> None:
    """A call that waits and whose caller leaves is never run."""
    fill(live, threads)
    connection = raw_execute(live, "never")
    until(lambda: in_line(live) == 1)
    connection.close()
    until(lambda: in_line(live) == 0)
    live.box.let_go.set()
    assert live.execute(code="after").status_code == 200
    assert "never" not in [job.code for job in live.box.jobs]


def test_a_caller_who_leaves_in_the_middle_of_a_body_harms_nobody(live: Live) -> None:
    """The call is forgotten and the service goes on."""
    with socket.create_connection(("127.0.0.1", live.port)) as connection:
        connection.sendall(
            b"POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
    assert live.execute(code="1").status_code == 200
    assert len(live.box.jobs) == 1


def test_stopping_answers_what_runs(settings: Settings, threads: ThreadPoolExecutor) -> None:
    """On a stop a run has the grace to end by itself; then it is cancelled, and its caller still hears of it."""
    with serving(settings) as stopping:
        run = start_waiting(stopping, threads)
        stopping.server.should_exit = True
        assert run.result(timeout=10).json()["status"] == "cancelled"


def test_many_callers_at_once_are_all_answered(live: Live) -> None:
    """A crowd meets a line and 429, never an error of ours."""
    seen: list[int] = []
    lock = threading.Lock()

    def call() -> None:
        status = live.execute(code="1").status_code
        with lock:
            seen.append(status)

    crowd = [threading.Thread(target=call) for _ in range(60)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert len(seen) == 60
    assert set(seen) <= {200, 429}
    assert 200 in seen
