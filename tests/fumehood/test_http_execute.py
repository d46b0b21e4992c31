"""``POST /v1/execute`` and the cancelling of a run, over a scripted engine."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from doubles import RUNTIMES, result
from serving import Live, serving

from analyzers.isolate import Pool
from fumehood.settings import Settings
from sandbox import (
    InputFile,
    Job,
    Launcher,
    LayerMissing,
    Limits,
    OnOutputLimit,
    OutputFile,
    OutputKeep,
    SetupError,
    SkippedFile,
    SkipReason,
    Status,
)

THE_ANSWER = {
    "id", "status", "exit_code", "signal", "stdout", "stderr", "stdout_bytes", "stderr_bytes", "stdout_truncated",
    "stderr_truncated", "files", "files_skipped", "usage", "limits_hit", "launcher", "runtime", "layers", "analysis",
}  # fmt: skip


def test_a_limit_left_out_is_that_of_the_language(live: Live) -> None:
    """By any of its names; what is asked for is as it is."""
    live.execute(code="x", language="sh", limits={"cpus": 2})
    live.execute(code="x", language="bash", limits={"wall_seconds": 9})
    assert [job.limits for job in live.box.jobs] == [Limits(wall_seconds=5, cpus=2), Limits(wall_seconds=9)]


def test_code_alone_is_enough(live: Live) -> None:
    """Everything but the code has the contract's default."""
    answer = live.execute(code="print(40+2)")
    assert answer.status_code == 200
    assert live.box.jobs == [
        Job(
            code="print(40+2)",
            language="python",
            limits=Limits(
                wall_seconds=30,
                cpu_seconds=60,
                memory_bytes=536870912,
                processes=64,
                output_bytes=100000,
                disk_bytes=268435456,
                inodes=8192,
                open_files=256,
                cpus=1.0,
            ),
            output_keep=OutputKeep.HEAD,
            on_output_limit=OnOutputLimit.TRUNCATE,
            writable_paths=("/tmp",),
            launcher=Launcher.AUTO,
        )
    ]
    told = answer.json()
    assert told.keys() == THE_ANSWER
    assert len(told["id"]) == 32
    assert told["usage"].pop("queue_seconds") < 1
    assert told["usage"] == {
        "wall_seconds": 0.004,
        "cpu_seconds": 0.002,
        "peak_memory_bytes": 9_000_000,
        "peak_processes": 1,
    }
    del told["id"], told["usage"]
    assert told == {
        "status": "ok", "exit_code": 0, "signal": None, "stdout": "42\n", "stderr": "", "stdout_bytes": 3,
        "stderr_bytes": 0, "stdout_truncated": False, "stderr_truncated": False, "files": [], "files_skipped": [],
        "limits_hit": [], "launcher": "cold", "runtime": "python 3.11.7", "layers": ["user", "pid"], "analysis": None,
    }  # fmt: skip


def test_the_whole_request_reaches_the_engine(live: Live) -> None:
    """Each field of the contract arrives, its bytes decoded."""
    answer = live.execute(
        id="mine-1",
        language="bash",
        code="cat",
        stdin="/w==",
        stdin_encoding="base64",
        args=["a", ""],
        env={"A": "b"},
        files=[
            {"path": "in/x", "content": "AAE=", "encoding": "base64"},
            {"path": "y", "content": "é", "encoding": "utf-8"},
        ],
        collect=["out/**"],
        limits={"wall_seconds": 5, "cpus": 0.5},
        output_keep="head_tail",
        on_output_limit="kill",
        network={"kind": "none"},
        writable_paths=["/tmp", "/srv/data"],
        analysis={"mode": "off", "block_at": "low"},
        launcher="cold",
    )
    assert answer.json()["id"] == "mine-1"
    assert live.box.jobs == [
        Job(
            code="cat",
            language="bash",
            stdin=b"\xff",
            args=("a", ""),
            env={"A": "b"},
            files=(InputFile("in/x", b"\0\1"), InputFile("y", "é".encode())),
            collect=("out/**",),
            limits=Limits(wall_seconds=5, cpus=0.5),
            output_keep=OutputKeep.HEAD_TAIL,
            on_output_limit=OnOutputLimit.KILL,
            writable_paths=("/tmp", "/srv/data"),
            launcher=Launcher.COLD,
        )
    ]


def test_files_come_back_as_text_where_they_are_text(live: Live) -> None:
    """Content is UTF-8 where it decodes, else base64, and ``bytes`` counts the file's own."""
    live.box.script = lambda _: result(
        files=(
            OutputFile(path="a.txt", content="é\n".encode(), sha256="1"),
            OutputFile(path="b", content=b"\xff\0", sha256="2"),
        ),
        files_skipped=(SkippedFile(path="p", reason=SkipReason.SYMLINK),),
    )
    told = live.execute(code="1").json()
    assert told["files"] == [
        {"path": "a.txt", "bytes": 3, "content": "é\n", "encoding": "utf-8", "sha256": "1"},
        {"path": "b", "bytes": 2, "content": base64.b64encode(b"\xff\0").decode(), "encoding": "base64", "sha256": "2"},
    ]
    assert told["files_skipped"] == [{"path": "p", "reason": "symlink"}]


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.BLOCKED])
def test_whatever_the_guest_did_is_200(live: Live, status: Status) -> None:
    """A guest's failure is a status, never an HTTP error."""
    live.box.script = lambda _: result(status)
    answer = live.execute(code="1")
    assert (answer.status_code, answer.json()["status"]) == (200, status.value)


@pytest.mark.parametrize(
    ("request_", "paths"),
    [
        ({}, ["code"]),
        ({"code": 1}, ["code"]),
        ({"code": None}, ["code"]),
        ({"code": "x", "timeout": 3}, ["timeout"]),
        ({"code": "x", "limits": {"wallSeconds": 3}}, ["limits.wallSeconds"]),
        ({"code": "x", "limits": {"wall_seconds": "30"}}, ["limits.wall_seconds"]),
        ({"code": "x", "limits": {"processes": True}}, ["limits.processes"]),
        ({"code": "x", "limits": {"memory_bytes": 1.5}}, ["limits.memory_bytes"]),
        ({"code": "x", "limits": None}, ["limits"]),
        ({"code": "x", "files": [{"path": "a", "content": "", "mode": 3}]}, ["files.0.mode"]),
        ({"code": "x", "files": [{"path": "a", "content": "", "encoding": "hex"}]}, ["files.0.encoding"]),
        ({"code": "x", "files": [{"path": "a", "content": "%", "encoding": "base64"}]}, ["files.0.content"]),
        ({"code": "x", "stdin": "%", "stdin_encoding": "base64"}, ["stdin"]),
        ({"code": "x", "stdin": "é", "stdin_encoding": "base64"}, ["stdin"]),
        ({"code": "x\0"}, ["code"]),
        ({"code": "x", "args": ["ok", "\0"]}, ["args.1"]),
        ({"code": "x", "env": {"A": "\0"}}, ["env.A"]),
        ({"code": "x", "env": {"A=B": "c"}}, ["env.A=B"]),
        ({"code": "x", "env": {"A": 1}}, ["env.A"]),
        ({"code": "x", "env": ["A=1"]}, ["env"]),
        ({"code": "x", "args": "a b"}, ["args"]),
        ({"code": "x", "id": "../other"}, ["id"]),
        ({"code": "x", "id": ""}, ["id"]),
        ({"code": "x", "launcher": "warm"}, ["launcher"]),
        ({"code": "x", "network": {"kind": "host"}}, ["network.kind"]),
        ({"code": "x", "network": {"hosts": ["a"]}}, ["network.hosts"]),
        ({"code": "x", "analysis": {"mode": "on"}}, ["analysis.mode"]),
        ({"code": "x", "language": "perl"}, ["language"]),
        ({"a": 1, "b": 2, "code": "x"}, ["a", "b"]),
    ],
)
def test_a_wrong_request_is_422_naming_the_field(live: Live, request_: dict[str, Any], paths: list[str]) -> None:
    """Every wrong field is named by its path, and nothing is run."""
    assert live.problem(live.execute(**request_)) == (422, "invalid-request", paths)
    assert live.box.jobs == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"x"',
        '{"code": "\\ud800"}',
        '{"code": "\\udc00x"}',
        '{"code": "x", "limits": {"wall_seconds": NaN}}',
        '{"code": "x", "limits": {"wall_seconds": 1e999}}',
        "[" * 100_000,
        '{"code":' * 1000,
        '{"code": "x", "limits": {"memory_bytes": ' + "9" * 10_000 + "}}",
    ],
)
def test_a_body_that_is_no_such_object_is_422(live: Live, text: str) -> None:
    """Broken JSON, lone surrogates, numbers that are none and hostile nesting are refused alike."""
    answer = live.client.post("/v1/execute", content=text, headers={"Content-Type": "application/json"})
    status, slug, _ = live.problem(answer)
    assert (status, slug) == (422, "invalid-request")


def test_bytes_that_are_not_utf8_are_422(live: Live) -> None:
    """A body is UTF-8."""
    answer = live.client.post("/v1/execute", content=b'{"code": "\xff"}', headers={"Content-Type": "application/json"})
    assert live.problem(answer)[:2] == (422, "invalid-request")


def test_over_a_ceiling_is_422_and_says_it(live: Live) -> None:
    """The answer names the limit and its ceiling."""
    answer = live.execute(code="x", limits={"wall_seconds": 301})
    assert live.problem(answer) == (422, "over-ceiling", ["limits.wall_seconds"])
    assert "300" in answer.json()["detail"]


def test_a_default_over_a_lowered_ceiling_becomes_the_ceiling(live: Live) -> None:
    """An operator who lowers a ceiling below a default does not break callers who ask for nothing."""
    live.box.ceilings = Limits(wall_seconds=2, cpus=4)
    live.execute(code="x")
    assert live.box.jobs[0].limits == Limits(wall_seconds=2)


@pytest.mark.parametrize("kind", ["allowlist", "unrestricted"])
def test_a_network_that_is_not_built_is_501(live: Live, kind: str) -> None:
    """It is refused, never quietly weakened or widened."""
    answer = live.execute(code="x", network={"kind": kind})
    assert live.problem(answer) == (501, "not-built", ["network.kind"])


def test_a_missing_layer_is_503_naming_it(live: Live) -> None:
    """The answer names the layer, and what mends it."""

    def script(_: Job) -> Any:
        raise LayerMissing("cgroup", "not writable", "delegate one")

    live.box.script = script
    answer = live.execute(code="x")
    assert live.problem(answer)[:2] == (503, "layer-missing")
    assert answer.json()["layer"] == "cgroup"
    assert answer.json()["remedy"] == "delegate one"


def test_our_own_failure_is_500_naming_the_step(live: Live) -> None:
    """It is never told as the guest's."""

    def script(_: Job) -> Any:
        raise SetupError("pivot_root", 22)

    live.box.script = script
    answer = live.execute(code="x")
    assert live.problem(answer)[:2] == (500, "setup-failed")
    assert (answer.json()["step"], answer.json()["errno"]) == ("pivot_root", 22)


def test_an_unforeseen_failure_is_a_500_problem_without_its_text(live: Live) -> None:
    """The reason is in the log, under the request's id; the next call works."""

    def script(_: Job) -> Any:
        raise RuntimeError("a secret path")

    live.box.script = script
    answer = live.execute(code="x")
    assert live.problem(answer)[:2] == (500, "internal-error")
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"]
    live.box.script = lambda _: result()
    assert live.execute(code="x").status_code == 200


def test_block_mode_runs_nothing_that_has_a_finding(live: Live) -> None:
    """A finding at or above ``block_at``: status blocked, no exit code, and the engine never hears of it."""
    told = live.execute(code="eval(x)", analysis={"mode": "block"}).json()
    assert (told["status"], told["exit_code"], told["launcher"], told["layers"]) == ("blocked", None, None, [])
    assert told["analysis"]["verdict"] == "fail"
    because = "FH101 eval-used in line 1 is high, and the request blocks from high on"
    assert told["analysis"]["blocked_because"] == because
    assert [finding["rule"] for finding in told["analysis"]["findings"]] == ["FH101"]
    assert live.box.jobs == []


def test_block_mode_lets_through_what_is_below(live: Live) -> None:
    """A low finding does not reach ``block_at: high``; the run's answer tells it beside the result."""
    told = live.execute(code="eval(secret)", analysis={"mode": "block"}).json()
    assert (told["status"], told["analysis"]["total"], told["analysis"]["blocked_because"]) == ("ok", 1, None)
    assert (
        live.execute(code="eval(secret)", analysis={"mode": "block", "block_at": "low"}).json()["status"] == "blocked"
    )
    assert len(live.box.jobs) == 1


def test_block_mode_stops_what_could_not_be_read(live: Live) -> None:
    """A guard that lets through what it cannot read would be switched off by unreadable code."""
    told = live.execute(code="???", analysis={"mode": "block"}).json()
    assert told["status"] == "blocked"
    assert told["analysis"]["blocked_because"] == "the analysis is incomplete and does not say why"
    assert live.box.jobs == []


def test_report_mode_tells_and_runs(live: Live) -> None:
    """Findings stand beside the result."""
    told = live.execute(code="eval(x)", analysis={"mode": "report"}).json()
    assert (told["status"], told["analysis"]["total"], told["analysis"]["blocked_because"]) == ("ok", 1, None)
    assert len(live.box.jobs) == 1


def test_what_a_run_does_not_have_is_told_before_it(settings: Settings) -> None:
    """Network, processes, places and packages; for information, so that nothing is blocked for it."""
    code = "import os, requests, helper\nos.system('ls')\nopen('/srv/x', 'w')\n"
    code += "open('/tmp/y', 'w')\nopen('/data/z', 'w')\n"
    asked = {
        "code": code,
        "limits": {"processes": 1},
        "writable_paths": ["/data"],
        "files": [{"path": "helper.py", "content": ""}],
        "analysis": {"mode": "block"},
    }
    with Pool(1) as analyser, serving(settings, analyser=analyser) as real:
        told = real.execute(**asked).json()
        bash = real.client.get("/v1/capabilities").json()
    assert told["status"] == "ok"
    assert bash["analysis"]["languages"]
    said = {one["message"]: one["line"] for one in told["analysis"]["findings"] if one["rule"] in {"FH711", "FH720"}}
    assert said == {
        "requests is not installed where this would run": 1,
        "needs the network, which this run does not have": 1,
        "starts a process, and this run may have one only": 2,
        "writes /srv/x, which this run cannot": 3,
    }
    counts = told["analysis"]["counts"]
    assert sum(counts.values()) == told["analysis"]["total"] == len(told["analysis"]["findings"])


def test_no_analysis_is_made_unasked(live: Live) -> None:
    """Mode ``off`` costs nothing."""
    live.execute(code="eval(x)")
    assert live.analyser.asked == []


@pytest.mark.parametrize("mode", ["report", "block"])
def test_a_language_that_no_analyser_reads_is_422(live: Live, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the operator's own is neither run unread nor silently passed; the answer names the known ones."""
    fortran = replace(RUNTIMES["bash"], name="fortran", aliases=())
    monkeypatch.setattr(live.box, "runtimes", {**RUNTIMES, "fortran": fortran})
    answer = live.execute(code="end", language="fortran", analysis={"mode": mode})
    assert live.problem(answer) == (422, "invalid-request", ["language"])
    assert "python" in answer.json()["detail"]
    assert live.box.jobs == []


def test_an_alias_is_analysed_as_its_language(live: Live) -> None:
    """``py`` is python to the analyser too."""
    assert live.execute(code="eval(x)", language="py", analysis={"mode": "block"}).json()["status"] == "blocked"
