"""Clients that are slow, silent or gone, and a service that stops under them."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from doubles import ScriptedBox, result
from serving import Live, serving, until

from fumehood.settings import Settings
from sandbox import Job, Result

HEAD = b"POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def impatient() -> Iterator[Live]:
    """A service that waits half a second for anything."""
    clients = {"header_seconds": 0.5, "body_seconds": 0.5, "read_seconds": 0.5}
    with serving(Settings(port=0, concurrency=2, clients=clients)) as live:
        yield live


@contextlib.contextmanager
def connection(live: Live, receive_bytes: int | None = None) -> Iterator[socket.socket]:
    """Connect, with a receive buffer of that size."""
    with socket.socket() as sock:
        if receive_bytes is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        sock.connect(("127.0.0.1", live.port))
        sock.settimeout(5)
        yield sock


def everything(sock: socket.socket) -> bytes:
    """Read until the service closes."""
    text = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := sock.recv(1 << 16):
            text += chunk
    return text


def trickle(sock: socket.socket, text: bytes, every_seconds: float = 0.1) -> float:
    """Send a byte at a time until the service has had enough; give how long that took."""
    began = time.monotonic()
    with contextlib.suppress(OSError):
        for index in range(len(text)):
            sock.sendall(text[index : index + 1])
            sock.settimeout(every_seconds)
            with contextlib.suppress(TimeoutError):
                if not sock.recv(1, socket.MSG_PEEK) or time.monotonic() - began > 5:
                    break
                break  # there is an answer
    sock.settimeout(5)
    return time.monotonic() - began


def test_a_connection_that_says_nothing_is_closed(impatient: Live) -> None:
    """Without a word, as it said none."""
    with connection(impatient) as sock:
        assert everything(sock) == b""


def test_a_head_that_trickles_in_has_a_deadline(impatient: Live) -> None:
    """Each byte does not buy another half second; what was sent is answered with a problem."""
    with connection(impatient) as sock:
        assert 0.4 < trickle(sock, HEAD + b"X-Padding: " + b"x" * 100) < 2
        answer = everything(sock)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"urn:fumehood:problem:request-timeout"' in answer


def test_the_head_of_a_later_request_has_the_same_deadline(impatient: Live) -> None:
    """On a connection that was used before."""
    with connection(impatient) as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = http.client.HTTPResponse(sock)
        answer.begin()
        assert answer.read() == b'{"status":"ok"}'
        assert 0.4 < trickle(sock, HEAD + b"X-Padding: " + b"x" * 100) < 2
        assert everything(sock).startswith(b"HTTP/1.1 408 ")


def test_a_head_without_an_end_is_refused(impatient: Live) -> None:
    """It would be kept until its deadline, however much of it came. One of an ordinary size is answered."""
    with connection(impatient) as sock:
        with contextlib.suppress(OSError):
            sock.sendall(HEAD + b"X-Padding: ")
            for _ in range(64):
                sock.sendall(b"x" * (1 << 14))
        answer = everything(sock)
    assert answer.startswith(b"HTTP/1.1 431 ") or not answer  # what was sent after the refusal may reset the connection
    with connection(impatient) as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Padding: " + b"x" * 30_000 + b"\r\n")
        time.sleep(0.05)
        sock.sendall(b"Connection: close\r\n\r\n")
        assert everything(sock).startswith(b"HTTP/1.1 200 ")


def test_what_follows_a_body_without_an_end_is_refused() -> None:
    """It says nothing to us, and would be kept as long as a body may take; a little of it is passed over."""
    chunks = HEAD + b"Transfer-Encoding: chunked\r\n\r\nd\r\n" + b'{"code": "1"}' + b"\r\n0\r\n"
    with serving(Settings(port=0)) as live:
        with connection(live) as sock:
            sock.sendall(chunks + b"X-Sum: 1\r\n\r\n")
            answer = http.client.HTTPResponse(sock)
            answer.begin()
            assert (answer.status, json.loads(answer.read())["status"]) == (200, "ok")
        for piece in (b"x" * (1 << 14), b"X-Sum: 1\r\n" * (1 << 10)):
            sent = 0
            with connection(live) as sock:
                sock.sendall(chunks + b"X-Padding: ")
                with contextlib.suppress(OSError):
                    while sent < 64 << 20:
                        sock.sendall(piece)
                        sent += len(piece)
            assert sent < 64 << 20
        assert len(live.box.jobs) == 1


def test_what_is_no_http_is_refused_as_a_problem(impatient: Live) -> None:
    """And two lengths that contradict each other are no request either (RFC 9112, 6.3)."""
    both = b"Content-Length: 13\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    for text in (b"\x16\x03\x01\x02\x00\x01", b"GET /healthz HTTP/9.9\r\n\r\n", HEAD + both):
        with connection(impatient) as sock:
            sock.sendall(text)
            answer = everything(sock)
        assert answer.startswith(b"HTTP/1.1 400 "), text
        assert b'"urn:fumehood:problem:malformed"' in answer


def test_an_upgrade_that_is_not_served_is_an_ordinary_request(impatient: Live) -> None:
    """Java's client offers HTTP/2 with every first request, its body included; the connection goes on."""
    body = b'{"code": "1"}'
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
    with connection(impatient) as sock:
        for _ in range(2):
            sock.sendall(HEAD + upgrade + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            answer = http.client.HTTPResponse(sock)
            answer.begin()
            assert (answer.status, json.loads(answer.read())["status"]) == (200, "ok")


def test_a_body_that_trickles_in_has_a_deadline(impatient: Live) -> None:
    """Nothing is run, and the connection is closed."""
    impatient.box.reset()
    with connection(impatient) as sock:
        sock.sendall(HEAD + b"Content-Length: 200\r\n\r\n")
        assert 0.4 < trickle(sock, b'{"code": "' + b"x" * 180) < 2
        answer = everything(sock)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer.lower()
    assert impatient.box.jobs == []


def test_a_run_may_last_longer_than_any_of_these(impatient: Live) -> None:
    """A client that waits for its answer is not a slow one."""
    impatient.box.reset()
    impatient.box.script = lambda _: time.sleep(1.2) or result()
    assert impatient.execute(code="1").status_code == 200


def test_a_client_that_does_not_read_is_cut_off(impatient: Live) -> None:
    """What it was sent does not stay in our memory."""
    impatient.box.reset()
    impatient.box.script = lambda _: result(stdout="x" * (8 << 20), stdout_bytes=8 << 20)
    body = b'{"code": "1"}'
    with connection(impatient, receive_bytes=4096) as sock:
        sock.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        until(lambda: len(impatient.server.server_state.connections) > 0)
        until(lambda: len(impatient.box.ended) == 1)
        until(lambda: _buffered(impatient) > 1 << 20)
        until(lambda: _buffered(impatient) == 0)
    impatient.box.reset()
    assert impatient.execute(code="1").status_code == 200


def _buffered(live: Live) -> int:
    """How much is held for those who do not read."""
    return sum(each.transport.get_write_buffer_size() for each in list(live.server.server_state.connections))


def test_a_client_that_reads_has_its_answer_however_large(impatient: Live) -> None:
    """The deadline is for those who do not."""
    impatient.box.reset()
    impatient.box.script = lambda _: result(stdout="x" * (8 << 20), stdout_bytes=8 << 20)
    assert len(impatient.execute(code="1").json()["stdout"]) == 8 << 20
    impatient.box.reset()


def test_the_kernel_watches_over_connections(impatient: Live) -> None:
    """A machine that is gone without a word is found out, by probes or by what it does not acknowledge."""
    with connection(impatient) as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        sock.recv(1 << 16)
        for each in list(impatient.server.server_state.connections):
            ours = each.transport.get_extra_info("socket")
            assert ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 500
            assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30


# --- Stopping --------------------------------------------------------------------------------------------------------


class Slow(ScriptedBox):
    """An engine whose runs take a moment, and that notes how many were under way at once."""

    def run(self, job: Job, **how: Any) -> Result:
        """Take a while."""
        time.sleep(0.3 if job.code == "slow" else 0)
        return super().run(job, **how)


def stop(live: Live) -> None:
    """As SIGTERM does."""
    live.server.should_exit = True
    until(lambda: live.app.state.executions._stopping)


def test_a_stop_finishes_what_was_accepted_and_refuses_the_rest_in_words() -> None:
    """What runs and what waits has its answer; what comes is 503 with Retry-After; then the service is gone."""
    with (
        serving(Settings(port=0, concurrency=1, shutdown_grace_seconds=10), Slow()) as live,
        ThreadPoolExecutor(8) as threads,
    ):
        runs = [threads.submit(live.execute, code="slow") for _ in range(4)]
        admission = live.app.state.executions._admission
        until(lambda: admission.waiting == 3)
        began = time.monotonic()
        stop(live)
        refused = live.execute(code="1")
        assert live.problem(refused)[:2] == (503, "stopping")
        assert refused.headers["retry-after"] == "5"
        assert live.problem(live.client.get("/readyz"))[:2] == (503, "stopping")
        assert live.problem(live.client.post("/v1/analyze", json={"code": "1"}))[:2] == (503, "stopping")
        assert live.client.get("/healthz").status_code == 200
        assert [run.result().json()["status"] for run in runs] == ["ok"] * 4
        until(lambda: _is_gone(live))
        assert time.monotonic() - began < 8


def _is_gone(live: Live) -> bool:
    try:
        socket.create_connection(("127.0.0.1", live.port)).close()
    except ConnectionRefusedError:
        return True
    return False


def test_within_the_grace_everything_is_answered_and_over() -> None:
    """What does not end by itself is cancelled early enough to be told."""
    with serving(Settings(port=0, concurrency=1, shutdown_grace_seconds=2)) as live, ThreadPoolExecutor(8) as threads:
        runs = [threads.submit(live.execute, code="wait") for _ in range(3)]
        assert live.box.waiting.acquire(timeout=5)
        until(lambda: live.app.state.executions._admission.waiting == 2)
        began = time.monotonic()
        stop(live)
        assert [run.result().json()["status"] for run in runs] == ["cancelled"] * 3
        until(lambda: _is_gone(live))
        assert 1 < time.monotonic() - began < 2


def test_a_run_can_be_cancelled_while_the_service_stops() -> None:
    """Which is then over at once."""
    with serving(Settings(port=0, concurrency=1, shutdown_grace_seconds=20)) as live, ThreadPoolExecutor(1) as threads:
        run = threads.submit(live.execute, code="wait", id="a")
        assert live.box.waiting.acquire(timeout=5)
        stop(live)
        assert live.client.post("/v1/executions/a/cancel").status_code == 200
        assert run.result().json()["status"] == "cancelled"


def test_a_batch_ends_while_the_service_stops() -> None:
    """Its later runs were accepted with it."""
    with serving(Settings(port=0, concurrency=1, shutdown_grace_seconds=20), Slow()) as live:
        told: list[Future[httpx2.Response]] = []
        with ThreadPoolExecutor(1) as threads:
            body = {"runs": [{"code": "slow"}] * 4}
            told.append(threads.submit(live.client.post, "/v1/execute/batch", json=body))
            until(lambda: len(live.box.jobs) == 1)
            stop(live)
        assert [one["status"] for one in told[0].result().json()["results"]] == ["ok"] * 4


def test_under_load_everybody_has_exactly_one_answer() -> None:
    """Either a result or a 503 in words; the connection is not simply gone while runs end."""
    seen: list[tuple[int, str]] = []
    lock = threading.Lock()
    with serving(Settings(port=0, concurrency=2, queue=500, shutdown_grace_seconds=20), Slow()) as live:
        over = threading.Event()

        def call() -> None:
            with httpx2.Client(base_url=live.address, timeout=30) as client:
                while not over.is_set():
                    try:
                        answer = client.post("/v1/execute", json={"code": "slow"})
                    except httpx2.TransportError:
                        return  # it is gone, and ran nothing for us
                    told = answer.json()
                    with lock:
                        seen.append((answer.status_code, told.get("status") or json.dumps(told)))
                    if answer.status_code != 200:
                        return

        crowd = [threading.Thread(target=call) for _ in range(12)]
        for one in crowd:
            one.start()
        until(lambda: len(seen) > 4)
        stop(live)
        for one in crowd:
            one.join()
        over.set()
        records = live.app.state.audit
        assert records.pending == 0 or records.flush(5)
    assert {code for code, _ in seen} <= {200, 503}
    assert sum(code == 503 for code, _ in seen) >= 6
    assert sum(code == 200 for code, _ in seen) == len(live.box.jobs)
