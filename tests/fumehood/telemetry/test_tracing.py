"""Spans, as a collector on loopback receives them."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from doubles import ScriptedBox, result
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from serving import Live, serving, until

from fumehood.settings import Settings
from fumehood.telemetry.settings import TracingSetting
from sandbox import SetupError, Status, Usage

ROOT = Path(__file__).resolve().parents[3]
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRETS = ("canary-code", "canary-output", "canary-query", "canary-env", "canary-error", "canary-key")


class Collector:
    """A small OTLP receiver. It keeps what was posted to ``/v1/traces``."""

    def __init__(self) -> None:
        self.posts: list[bytes] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.answer = 200
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.paths.append(self.path)
                collector.headers.append(dict(self.headers))
                collector.posts.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(collector.answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Take no more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def resources(self) -> list[dict[str, Any]]:
        """Give what was said of the sender, with each batch."""
        return [
            attributes(group.resource)
            for post in self.posts
            for group in ExportTraceServiceRequest.FromString(post).resource_spans
        ]

    @property
    def spans(self) -> list[dict[str, Any]]:
        """Give every span, its ids as hexadecimal and its attributes as a mapping."""
        return [
            {
                "name": span.name,
                "kind": span.kind,
                "trace": span.trace_id.hex(),
                "id": span.span_id.hex(),
                "parent": span.parent_span_id.hex(),
                "start": span.start_time_unix_nano / 1e9,
                "seconds": (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                "failed": span.status.code == 2,
                "said": span.status.message,
                "events": len(span.events),
                "attributes": attributes(span),
            }
            for post in self.posts
            for group in ExportTraceServiceRequest.FromString(post).resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]

    def named(self, name: str) -> dict[str, Any]:
        """Give the only span of that name."""
        (found,) = [span for span in self.spans if span["name"] == name]
        return found


def attributes(message: Any) -> dict[str, Any]:
    """Give OTLP's list of typed values as a mapping."""
    return {one["key"]: next(iter(one["value"].values()), "") for one in MessageToDict(message).get("attributes", [])}


@pytest.fixture
def collector() -> Iterator[Collector]:
    """One for each test."""
    made = Collector()
    yield made
    made.close()


def traced(settings: Settings, endpoint: str, **chosen: Any) -> Settings:
    """Give settings with traces sent there."""
    return settings.model_copy(
        update={"tracing": TracingSetting.model_validate({"endpoint": endpoint, **chosen}), "queue": 40}
    )


def test_a_run_is_a_tree_of_spans(settings: Settings, collector: Collector) -> None:
    """Request over wait, analysis and run; run over spawn and guest, with the times that the engine measured."""
    usage = Usage(wall_seconds=0.2, cpu_seconds=0, peak_memory_bytes=0, peak_processes=1, spawn_seconds=0.1)
    box = ScriptedBox()

    def script(_: object) -> Any:
        time.sleep(0.35)
        return result(Status.TIMEOUT, usage=usage)

    box.script = script
    with serving(traced(settings, collector.endpoint), box=box) as live:
        body = {"code": "x", "id": "run-1", "language": "py", "analysis": {"mode": "report"}}
        answer = live.client.post("/v1/execute", json=body, headers={"X-Request-ID": "mine"})
        assert answer.status_code == 200
    assert set(collector.paths) == {"/v1/traces"}
    assert sorted(span["name"] for span in collector.spans) == [
        "POST /v1/execute",
        "analyze",
        "guest",
        "run",
        "spawn",
        "wait",
    ]
    request, run = collector.named("POST /v1/execute"), collector.named("run")
    assert len({span["trace"] for span in collector.spans}) == 1
    assert request["parent"] == ""
    assert request["kind"] == 2  # SPAN_KIND_SERVER
    for name in ("wait", "analyze", "run"):
        assert collector.named(name)["parent"] == request["id"]
    for name in ("spawn", "guest"):
        assert collector.named(name)["parent"] == run["id"]
    assert request["attributes"].items() >= {
        ("http.request.method", "POST"),
        ("http.route", "/v1/execute"),
        ("http.response.status_code", "200"),
        ("fumehood.request.id", "mine"),
    }
    assert run["attributes"] == {
        "fumehood.run.id": "run-1",
        "fumehood.run.language": "python",
        "fumehood.run.status": "timeout",
        "fumehood.run.launcher": "cold",
    }
    assert collector.named("analyze")["attributes"] == {
        "fumehood.analysis.language": "python",
        "fumehood.analysis.verdict": "pass",
        "fumehood.analysis.origin": "run",
    }
    spawn, guest = collector.named("spawn"), collector.named("guest")
    assert (round(spawn["seconds"], 6), round(guest["seconds"], 6)) == (0.1, 0.2)
    assert run["start"] <= spawn["start"] + 0.01
    assert spawn["start"] + spawn["seconds"] == pytest.approx(guest["start"], abs=0.01)
    assert guest["start"] + guest["seconds"] <= run["start"] + run["seconds"] + 0.01
    (resource,) = collector.resources[:1]
    assert resource["service.name"] == "fumehood"
    assert resource["service.version"]


def test_a_traceparent_is_continued(settings: Settings, collector: Collector) -> None:
    """W3C: the caller's trace, its span as the parent; and its word on whether to trace at all."""
    with serving(traced(settings, collector.endpoint, sample_ratio=0)) as live:
        for flags in ("01", "00"):
            headers = {"traceparent": f"00-{TRACE}-{PARENT}-{flags}"}
            live.client.post("/v1/analyze", json={"code": "x"}, headers=headers)
        live.client.post("/v1/analyze", json={"code": "x"}, headers={"traceparent": "00-nonsense"})
        live.client.post("/v1/analyze", json={"code": "x"})
    assert {span["trace"] for span in collector.spans} == {TRACE}
    request = collector.named("POST /v1/analyze")
    assert request["parent"] == PARENT
    assert {collector.named("analyze")["parent"], collector.named("wait")["parent"]} == {request["id"]}


def test_spans_of_many_requests_are_not_mixed_up(settings: Settings, collector: Collector) -> None:
    """Threads of slots serve one request after the other; each span stays in its own trace."""
    with serving(traced(settings, collector.endpoint)) as live, ThreadPoolExecutor(8) as callers:

        def call(number: int) -> None:
            headers = {"traceparent": f"00-{number:032x}-{PARENT}-01"}
            live.client.post("/v1/execute", json={"code": "x", "id": f"run-{number}"}, headers=headers)

        list(callers.map(call, range(1, 31)))
    runs = {span["attributes"]["fumehood.run.id"]: span["trace"] for span in collector.spans if span["name"] == "run"}
    assert runs == {f"run-{number}": f"{number:032x}" for number in range(1, 31)}


def test_a_batch_is_one_trace(settings: Settings, collector: Collector) -> None:
    """However its runs are spread over slots."""
    with serving(traced(settings, collector.endpoint)) as live:
        live.client.post("/v1/execute/batch", json={"runs": [{"code": "1"}] * 5})
    assert len({span["trace"] for span in collector.spans}) == 1
    assert [span["name"] for span in collector.spans].count("run") == 5


def test_a_failure_of_ours_marks_its_span(settings: Settings, collector: Collector) -> None:
    """A guest's failure does not: it is a result."""

    def script(job: Any) -> Any:
        if job.code == "setup":
            raise SetupError("fork", 11, "no more processes")
        return result(Status.SIGNALED)

    box = ScriptedBox()
    box.script = script
    with serving(traced(settings, collector.endpoint), box=box) as live:
        live.execute(code="setup", id="bad")
        live.execute(code="crash", id="good")
    failed = {
        span["attributes"]["fumehood.run.id"]: span["failed"] for span in collector.spans if span["name"] == "run"
    }
    assert failed == {"bad": True, "good": False}
    codes = {
        span["attributes"]["http.response.status_code"] for span in collector.spans if span["name"].startswith("POST")
    }
    assert codes == {"500", "200"}


def test_nothing_that_a_caller_or_guest_wrote_is_sent(settings: Settings, collector: Collector) -> None:
    """No query string, no code, no output, no text of an exception; and no span for what machines ask all the time."""

    def script(job: Any) -> Any:
        if "raise" in job.code:
            raise ValueError(f"canary-error {job.code}")
        return result(stdout="canary-output")

    box = ScriptedBox()
    box.script = script
    locked = Settings(**{**dict(traced(settings, collector.endpoint)), "api_key": ["canary-key"]})
    with serving(locked, box=box) as live:
        headers = {"X-API-Key": "canary-key"}
        for code in ("canary-code", "canary-code raise"):
            body = {"code": code, "env": {"X": "canary-env"}, "analysis": {"mode": "report"}}
            live.client.post("/v1/execute?key=canary-query", json=body, headers=headers)
        for path in ("/healthz", "/readyz", "/metrics"):
            live.client.get(path, headers=headers)
    assert len([span for span in collector.spans if span["name"] == "POST /v1/execute"]) == 2
    assert {span["name"] for span in collector.spans} == {
        "POST /v1/execute",
        "wait",
        "run",
        "spawn",
        "guest",
        "analyze",
    }
    sent = b"".join(collector.posts)
    assert [secret for secret in SECRETS if secret.encode() in sent] == []
    assert {(span["said"], span["events"]) for span in collector.spans} == {("", 0)}


def test_the_sdks_own_variables_hold(settings: Settings, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name, and a key for the collector; but no address that our settings do not name."""
    monkeypatch.setenv("OTEL_SERVICE_NAME", "sandboxes")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-collector-key=abc")
    with serving(traced(settings, collector.endpoint)) as live:
        live.execute(code="1")
    assert collector.resources[0]["service.name"] == "sandboxes"
    assert collector.headers[0]["x-collector-key"] == "abc"
    count = len(collector.posts)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    with serving(settings) as live:
        live.execute(code="1")
    assert len(collector.posts) == count


@pytest.mark.parametrize("answer", [None, 503])
def test_a_collector_that_is_down_costs_spans_alone(
    settings: Settings, collector: Collector, answer: int | None
) -> None:
    """Requests are answered, and a stop waits a few seconds for it at most."""
    collector.answer = answer or 200
    endpoint = "http://127.0.0.1:9" if answer is None else collector.endpoint  # 9 is discard: nobody listens
    with serving(traced(settings, endpoint)) as live:
        begun = time.monotonic()
        for _ in range(20):
            assert live.execute(code="1").status_code == 200
        assert time.monotonic() - begun < 5
        stopping = time.monotonic()
    assert time.monotonic() - stopping < 6


def test_a_log_line_names_its_trace(settings: Settings, collector: Collector) -> None:
    """So that one leads to the other."""
    import io  # noqa: PLC0415
    import json  # noqa: PLC0415
    import logging  # noqa: PLC0415

    from fumehood.telemetry import logs  # noqa: PLC0415
    from fumehood.telemetry.settings import Log  # noqa: PLC0415

    root = logging.getLogger()
    before, stream = root.handlers[:], io.StringIO()
    logs.configure(Log.model_validate({"format": "json"}), stream)
    try:
        with serving(traced(settings, collector.endpoint)) as live:
            live.client.post("/v1/execute", json={"code": "1"}, headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
            live_over(live, stream)
    finally:
        root.handlers[:] = before
    lines = {line["event"]: line for line in map(json.loads, stream.getvalue().splitlines())}
    assert lines["request"]["trace_id"] == lines["run"]["trace_id"] == TRACE
    assert lines["run"]["span_id"] == collector.named("run")["id"]
    assert lines["request"]["span_id"] == collector.named("POST /v1/execute")["id"]


def live_over(live: Live, stream: Any) -> None:
    """Wait until the request is told."""
    assert live
    until(lambda: '"request"' in stream.getvalue())


def test_nothing_is_loaded_where_nothing_is_traced() -> None:
    """Neither the SDK, nor the exporter, nor what they need; the control is the same with an endpoint."""
    script = """
import sys
sys.path[:0] = ["tests/fumehood"]
from doubles import ScriptedAnalyser, ScriptedBox
from fumehood.app import create_app
from fumehood.settings import load
import fumehood.commands.serve, fumehood.server, fumehood.telemetry.logs, analyzers.isolate
from fumehood.telemetry.settings import TracingSetting
settings = load(port=0).model_copy(update={"tracing": TracingSetting.model_validate(ENDPOINT)})
create_app(settings, box=ScriptedBox(), analyser=ScriptedAnalyser(), probe=lambda: ())
loaded = ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto", "google.protobuf", "requests")
print([name for name in loaded if name in sys.modules])
"""
    for endpoint, loaded in (({}, 0), ({"endpoint": "http://127.0.0.1:9"}, 5)):
        done = subprocess.run(
            [sys.executable, "-c", script.replace("ENDPOINT", repr(endpoint))],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("'") == 2 * loaded, done.stdout
