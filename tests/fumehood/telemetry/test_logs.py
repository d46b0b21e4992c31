"""What a line of the log holds, how it is written, and what is never in it."""

from __future__ import annotations

import base64
import io
import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import structlog
from doubles import ScriptedAnalyser, ScriptedBox, result
from serving import Live, serving, until

from fumehood.settings import Settings
from fumehood.telemetry import logs
from fumehood.telemetry.settings import Log
from sandbox import SetupError

KEY, TOKEN = "KEY-canary-5f3c", "TOKEN-canary-77aa"
RUNS = "fumehood.runs"
REQUEST = "fumehood.access"


class Lines:
    """What was logged since it was made, as the program that reads it sees it."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def configure(self, **chosen: Any) -> Lines:
        """Log here."""
        logs.configure(Log.model_validate({"format": "json", **chosen}), self.stream)
        return self

    @property
    def text(self) -> str:
        """All of it."""
        return self.stream.getvalue()

    def of(self, logger: str) -> list[dict[str, Any]]:
        """Give the lines of one logger, each of which must be one JSON object."""
        return [line for line in map(json.loads, self.text.splitlines()) if line["logger"] == logger]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """Log into memory, and leave logging as it was."""
    root = logging.getLogger()
    named = [logging.getLogger(name) for name in ("fumehood", "sandbox", "analyzers")]
    before = root.handlers[:], root.level, [logger.level for logger in named]
    yield Lines()
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = before[:2]
    for logger, level in zip(named, before[2], strict=True):
        logger.setLevel(level)
    structlog.contextvars.clear_contextvars()


def over(live: Live, lines: Lines, count: int = 1, logger: str = REQUEST) -> list[dict[str, Any]]:
    """Wait until so many lines are there: one may come a moment after its answer."""
    assert live
    until(lambda: len(lines.of(logger)) >= count)
    return lines.of(logger)


def test_a_request_is_one_line(live: Live, lines: Lines) -> None:
    """Who, what, how it went and how long; nothing twice."""
    lines.configure()
    live.client.post("/v1/execute?trace=1", json={"code": "1"}, headers={"X-Request-ID": "mine-1"})
    (told,) = over(live, lines)
    assert told.pop("seconds") < 5
    assert told.pop("timestamp").endswith("Z")
    assert told == {
        "event": "request",
        "level": "info",
        "logger": REQUEST,
        "request_id": "mine-1",
        "method": "POST",
        "path": "/v1/execute",
        "route": "/v1/execute",
        "status": 200,
        "client": "127.0.0.1",
        "caller": "anybody",
    }


def test_a_run_is_one_line_with_what_it_spent(live: Live, lines: Lines) -> None:
    """Under the id of its request, though it is told after the answer; in a batch, each run."""
    lines.configure()
    live.client.post("/v1/execute", json={"code": "1", "id": "run-1"}, headers={"X-Request-ID": "mine-1"})
    (told,) = over(live, lines, logger=RUNS)
    told.pop("timestamp")
    assert told == {
        "event": "run",
        "level": "info",
        "logger": RUNS,
        "request_id": "mine-1",
        "run_id": "run-1",
        "language": "python",
        "status": "ok",
        "launcher": "cold",
        "limits_hit": [],
        "spawn_seconds": 0.003,
        "wall_seconds": 0.004,
        "cpu_seconds": 0.002,
        "peak_memory_bytes": 9_000_000,
    }
    batch = {"runs": [{"code": "1"}, {"code": "eval(1)", "analysis": {"mode": "block"}}, {"code": "1"}]}
    live.client.post("/v1/execute/batch", json=batch, headers={"X-Request-ID": "mine-2"})
    runs = [told for told in over(live, lines, 4, RUNS) if told["request_id"] == "mine-2"]
    assert sorted(told["status"] for told in runs) == ["blocked", "ok", "ok"]


def test_every_line_of_a_request_has_its_id(settings: Settings, lines: Lines) -> None:
    """Also what the engine says from its own thread, many requests at a time."""
    lines.configure()

    class Talking(ScriptedBox):
        def run(self, job: Any, **how: Any) -> Any:
            logging.getLogger("sandbox.run").warning("said by the engine", extra={"saw": job.env["WHO"]})
            return super().run(job, **how)

    def call(number: int) -> None:
        body = {"code": "1", "env": {"WHO": f"id-{number}"}}
        live.client.post("/v1/execute", json=body, headers={"X-Request-ID": f"id-{number}"})

    with serving(settings.model_copy(update={"queue": 40}), box=Talking()) as live:
        with ThreadPoolExecutor(8) as callers:
            list(callers.map(call, range(40)))
        over(live, lines, 40)
    told = lines.of("sandbox.run")
    assert len(told) == 40
    assert [line["request_id"] for line in told] == [line["saw"] for line in told]
    assert all("request_id" in line for name in (REQUEST, RUNS) for line in lines.of(name))


def test_refusals_name_their_problem(live: Live, lines: Lines) -> None:
    """By its type alone: details may quote what was sent."""
    lines.configure()
    live.execute(language="perl", code="1")
    live.client.get("/nowhere")
    live.client.get("/v1/capabilities", headers={"Host": "evil.example"})
    told = over(live, lines, 3)
    assert [(line["status"], line["problem"]) for line in told] == [
        (422, "invalid-request"),
        (404, "not-found"),
        (421, "foreign-host"),
    ]
    assert "perl" not in lines.text
    assert "evil.example" not in lines.text


def test_what_machines_ask_all_the_time_is_quiet_until_it_fails(settings: Settings, lines: Lines) -> None:
    """``/healthz``, ``/readyz`` and ``/metrics`` are told in ``debug`` only; a 5xx always is."""
    lines.configure()
    with serving(settings) as live:
        for path in ("/healthz", "/readyz", "/metrics"):
            live.client.get(path)
        live.client.get("/v1/capabilities")
        assert [line["path"] for line in over(live, lines)] == ["/v1/capabilities"]
        lines.configure(level="debug")
        live.client.get("/healthz")
        assert [(line["path"], line["level"]) for line in over(live, lines, 2)][1] == ("/healthz", "debug")
    lines.configure()
    from sandbox.selfcheck import Finding  # noqa: PLC0415

    lost = Finding(name="x", layer=None, held=False, detail="", remedy="", required=True)
    with serving(settings, probe=lambda: (lost,)) as live:
        live.client.get("/readyz")
        assert (over(live, lines, 3)[2]["status"], over(live, lines, 3)[2]["level"]) == (503, "warning")


def test_requests_can_be_left_out(settings: Settings, lines: Lines) -> None:
    """``log.requests = false``; the rest is told all the same."""
    lines.configure()
    with serving(settings.model_copy(update={"log": Log(requests=False)})) as live:
        live.execute(code="1")
    assert lines.of(REQUEST) == []
    assert len(lines.of(RUNS)) == 1


def test_a_step_that_failed_is_told_with_its_reason(live: Live, lines: Lines) -> None:
    """It is about this machine, and an operator needs it; the request's own line says 500."""
    lines.configure()

    def fail(_: object) -> Any:
        raise SetupError("fork server", 11, "no more processes")

    live.box.script = fail
    live.execute(code="1")
    (told,) = [line for line in lines.of(RUNS) if line["event"] == "run failed"]
    assert (told["level"], "fork server" in told["reason"], "no more processes" in told["reason"]) == (
        "error",
        True,
        True,
    )
    assert told["request_id"] == over(live, lines)[0]["request_id"]
    assert (over(live, lines)[0]["status"], over(live, lines)[0]["problem"]) == (500, "setup-failed")


def test_an_unforeseen_failure_is_told_with_its_place(live: Live, lines: Lines) -> None:
    """Kind, file and line of it and of what caused it; the text only where the operator asks for everything."""
    lines.configure()

    def fail(job: Any) -> Any:
        try:
            int(job.code)
        except ValueError as error:
            raise KeyError(job.code) from error

    live.box.script = fail
    live.execute(code="CODE-canary")
    (told,) = lines.of("fumehood.guard")
    assert told["event"] == "request failed"
    assert "builtins.ValueError" in told["exception"]
    assert "builtins.KeyError" in told["exception"]
    assert "test_logs.py" in told["exception"]
    assert "in fail" in told["exception"]
    assert "CODE-canary" not in lines.text
    lines.configure(level="debug")
    live.execute(code="CODE-canary")
    assert "CODE-canary" in lines.of("fumehood.guard")[1]["exception"]


CANARIES = {
    "code": "canary_code_1",
    "stdin": "canary-stdin-2",
    "args": "canary-args-3",
    "env": "canary-env-4",
    "file": "canary-file-5",
    "name": "canary-name-6",
    "stdout": "canary-stdout-7",
    "stderr": "canary-stderr-8",
    "collected": "canary-collected-9",
    "query": "canary-query-10",
    "cookie": "canary-cookie-11",
    "wrong key": "canary-key-12",
    "agent": "canary-agent-13",
    "key": KEY,
    "token": TOKEN,
}


def hostile(how: str) -> Any:
    """Give a script that ends a run with the guest's words in whatever it returns or raises."""

    def script(job: Any) -> Any:
        words = f"{job.code} {CANARIES['stdout']}"
        match how:
            case "told":
                return result(stdout=CANARIES["stdout"], stderr=CANARIES["stderr"])
            case "value":
                raise ValueError(words)
            case "key":
                raise KeyError(words)
            case "unicode":
                raise UnicodeDecodeError("utf-8", words.encode(), 0, 1, words)
            case "group":
                raise ExceptionGroup(words, [ValueError(words)])
            case "noted":
                error = RuntimeError("x")
                error.add_note(words)
                raise error
            case "chained":
                try:
                    int(words)
                except ValueError:
                    raise OSError(5, "Input/output error")  # noqa: B904 - its context is what is being tested
            case _:
                return job  # a response that cannot be made: pydantic quotes what it was given

    return script


@pytest.mark.parametrize("form", ["json", "console"])
@pytest.mark.parametrize("how", ["told", "value", "key", "unicode", "group", "noted", "chained", "odd"])
def test_no_line_holds_code_output_or_a_secret(settings: Settings, lines: Lines, form: str, how: str) -> None:
    """Whatever a caller sends and wherever it goes wrong; each canary has its own place to leak from."""
    lines.configure(format=form)
    metrics = {"token": TOKEN}
    locked = Settings(**{**dict(settings), "api_key": [KEY], "metrics": metrics})
    box = ScriptedBox()
    box.script = hostile(how)

    class Crashing(ScriptedAnalyser):
        def analyze(self, code: str, language: str, **rest: Any) -> Any:
            if "crash" in code:
                raise ValueError(code)
            return super().analyze(code, language, **rest)

    body = {
        "code": f"{CANARIES['code']} eval",
        "stdin": CANARIES["stdin"],
        "args": [CANARIES["args"]],
        "env": {"SECRET": CANARIES["env"]},
        "files": [{"path": CANARIES["name"], "content": CANARIES["file"]}],
        "analysis": {"mode": "report"},
    }
    encoded = base64.b64encode(CANARIES["file"].encode()).decode()
    headers = {
        "Authorization": f"Bearer {KEY}",
        "Cookie": CANARIES["cookie"],
        "User-Agent": CANARIES["agent"],
        "traceparent": "00-zz",
    }
    query = {"key": CANARIES["query"]}
    with serving(locked, box=box, analyser=Crashing()) as live:
        live.client.headers.update(headers)
        posts: list[tuple[str, Any]] = [
            ("/v1/execute", body),
            ("/v1/execute", {**body, "analysis": {"mode": "block"}}),
            ("/v1/execute", {**body, "language": CANARIES["args"]}),
            ("/v1/execute", {**body, CANARIES["env"]: 1}),
            ("/v1/execute", {**body, "code": f"crash {CANARIES['code']}"}),
            ("/v1/execute/batch", {"runs": [body, body, {"code": 1, CANARIES["env"]: 2}]}),
            ("/v1/execute/batch", {"run": body, "cases": [{"stdin": CANARIES["stdin"]}] * 2}),
            ("/v1/analyze", {"code": f"eval {CANARIES['code']}"}),
            ("/v1/analyze", {"code": f"crash {CANARIES['code']}"}),
        ]
        for path, sent in posts:
            live.client.post(path, params=query, json=sent)
        live.client.post("/v1/execute", content=CANARIES["code"].encode(), headers={"Content-Type": "application/json"})
        live.client.post("/v1/execute", content=CANARIES["code"].encode(), headers={"Content-Type": CANARIES["args"]})
        live.client.get("/nowhere", params=query)
        live.client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, params=query)
        live.client.get("/v1/capabilities", headers={"Authorization": f"Bearer {CANARIES['wrong key']}"})
        live.client.get("/v1/capabilities", headers={"Host": f"{CANARIES['env']}.example"})
        live.client.get("/v1/capabilities", headers={"Origin": f"http://{CANARIES['env']}.example"})
    assert lines.text.count("request_id") >= len(posts)  # it did log
    leaked = {place for place, canary in CANARIES.items() if canary in lines.text}
    assert leaked == set()
    assert encoded not in lines.text


def test_what_a_caller_sends_cannot_write_a_line_of_its_own(live: Live, lines: Lines) -> None:
    """Nor move the cursor of whoever reads the log in a terminal."""
    lines.configure(format="console", level="debug")
    live.client.get("/a%0a2026-01-01%20[error]%1b[2J", headers={"X-Request-ID": "x"})
    until(lambda: "request" in lines.text)
    assert lines.text.count("\n") == 1
    assert "\x1b" not in lines.text
    assert "%0a2026" in lines.text


def test_other_libraries_lines_look_alike(lines: Lines) -> None:
    """From warning on, warnings of Python's own among them; what they say below that is left out."""
    lines.configure()
    logging.getLogger("uvicorn.error").warning("uvicorn %s", "speaks")
    logging.getLogger("uvicorn.error").info("uvicorn chats")
    logging.getLogger("anything").error("another")
    assert [(line["logger"], line["level"], line["event"]) for line in map(json.loads, lines.text.splitlines())] == [
        ("uvicorn.error", "warning", "uvicorn speaks"),
        ("anything", "error", "another"),
    ]


@pytest.mark.parametrize(("level", "told"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_the_level_is_the_least_that_is_told(lines: Lines, level: str, told: int) -> None:
    """For what is ours."""
    lines.configure(level=level)
    for name in ("debug", "info", "warning", "error"):
        getattr(logging.getLogger("sandbox.run"), name)("x")
    assert len(lines.text.splitlines()) == told


def test_a_line_for_people_can_be_read(lines: Lines) -> None:
    """One line, its facts as name=value, and no colours where it is no terminal."""
    lines.configure(format="console")
    logging.getLogger("fumehood.serve").info("serving", extra={"address": "http://127.0.0.1:1"})
    assert "serving" in lines.text
    assert "address=http://127.0.0.1:1" in lines.text
    assert "\x1b" not in lines.text
    assert lines.text.count("\n") == 1
