"""What keeps code from running: each policy by itself, all of them together, and every way the analyser can fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError
from serving import Live, serving, until

from analyzers import Report, analyze
from analyzers.isolate import Pool
from fumehood.gate import Demand, Gate, gate
from fumehood.policies import AnalysisPolicy
from fumehood.settings import AnalysisSetting, Settings

CONNECTS = "import socket\nsocket.create_connection(('a', 1))\n"
SECRET = "token = 'ghp_" + "a1B2" * 9 + "'\n"


def policy(**decided: Any) -> AnalysisPolicy:
    """Give a policy that blocks."""
    return AnalysisPolicy(mode="block", **decided)


def why(code: str, language: str = "python", **decided: Any) -> str | None:
    """Say why one policy stops this code."""
    return gate([Demand("request", policy(**decided))]).why_blocked(report(code, language))


def report(code: str, language: str = "python") -> Report:
    """Look at the code as the gate does."""
    return analyze(code, language, honour_suppressions=False)


@pytest.mark.parametrize(
    ("code", "decided", "because"),
    [
        ("print(1)", {}, None),
        ("eval(input())", {}, "FH101 eval-used in line 1 is high, and the request blocks from high on"),
        ("eval(input())", {"block_at": None}, None),
        ("try:\n    f()\nexcept:\n    pass\n", {}, None),
        ("try:\n    f()\nexcept:\n    raise\n", {"block_at": "low"}, "blocks from low on"),
        ("try:\n    f()\nexcept:\n    raise\n", {"block": ["E722"]}, "is what the request blocks by E722"),
        ("eval(input())", {"block_at": None, "block": ["CWE-95"]}, "is what the request blocks by CWE-95"),
        ("eval(input())", {"block_at": None, "block": ["FH1"]}, "blocks by FH1"),
        ("eval(input())", {"allow": ["FH101"]}, None),
        ("eval(input())", {"allow": ["eval-used"], "block": ["FH101"]}, None),
        ("eval(input())", {"allow": ["FH1"], "block": ["FH101"]}, "blocks by FH101"),
        ("eval(input())", {"allow": ["FH101"], "block": ["FH101"]}, "blocks by FH101"),
        ("eval(input())", {"allow": ["CWE-798"]}, "blocks from high on"),
        (SECRET, {"block_at": None, "block": ["CWE-798"]}, "blocks by CWE-798"),
        ("eval(input())", {"deny_capabilities": ["dynamic.code"], "allow": ["ALL"]}, "wants dynamic.code (line 1)"),
        (
            "import socket\nsocket.create_connection(('a', 1))\n",
            {"deny_capabilities": ["net.outbound"]},
            "net.outbound",
        ),
        (CONNECTS, {"deny_capabilities": ["net.listen"]}, None),
        ("open('/etc/hosts', 'w')", {"deny_capabilities": ["fs.write:/etc"]}, "fs.write:/etc/hosts (line 1)"),
        ("open('//etc/hosts', 'w')", {"deny_capabilities": ["fs.write:/etc"]}, "denies"),
        ("open('/tmp/../etc/hosts', 'w')", {"deny_capabilities": ["fs.write:/etc/"]}, "denies"),
        ("open('/etcetera', 'w')", {"deny_capabilities": ["fs.write:/etc"]}, None),
        ("open('/etcetera', 'w')", {"deny_capabilities": ["fs.write"]}, "fs.write:/etcetera"),
    ],
)
def test_a_policy_is_by_severity_rule_weakness_and_capability(
    code: str, decided: dict[str, Any], because: str | None
) -> None:
    """Each can block what no other does, and what is allowed by name is let through."""
    told = why(code, **decided)
    assert told is None if because is None else told is not None and because in told


@pytest.mark.parametrize(
    ("code", "gap"),
    [
        ("  x = 1\n  y = 2\n", "repaired"),
        ("\x00", "repaired"),
        ("```python\nx = 1\n```\n", "repaired"),
        ("x = 1\ny = ) (\nz = 2\n", "partial"),
        ("x = " + "-" * 50_000 + "1", "partial"),
        ("??? !!! $$$", "partial"),
    ],
)
def test_whatever_was_not_read_whole_is_blocked(code: str, gap: str) -> None:
    """Unless the policy accepts it by name; another gap that is accepted does not help."""
    others = sorted({"repaired", "partial", "text", "no-answer", "cut-short"} - {gap})
    assert report(code).parse != "full"
    for decided in ({}, {"accept": others}, {"allow": ["ALL"]}, {"block_at": None}):
        told = why(code, **decided)
        assert told is not None
        assert told.startswith(f"{gap}: the code ")
    assert why(code, accept=[gap]) is None


def test_bash_is_judged_likewise() -> None:
    """What tree-sitter did not understand is no less a gap."""
    assert why("echo hello\n", "bash") is None
    told = why("if true; then\n", "bash")
    assert told is not None
    assert told.partition(":")[0] in {"repaired", "partial", "text"}


def test_no_policy_weakens_another() -> None:
    """What one allows or accepts, another still blocks, in whichever order they are asked."""
    lax = Demand("request", policy(block_at=None, allow=["ALL"], accept=["repaired", "partial", "text"]))
    strict = Demand("service", policy())
    off = Demand("request", AnalysisPolicy())
    for demands in ([lax, strict], [strict, lax], [off, strict]):
        for code in ("eval(input())", "x = 1\ny = ) (\n"):
            told = gate(demands).why_blocked(report(code))
            assert told is not None
            assert ("service" in told) is (code[0] == "e")
    assert gate([off, lax]).why_blocked(report("eval(input())")) is None
    assert gate([strict, Demand("request", AnalysisPolicy(mode="report"))]).mode == "block"
    assert gate([off]) == Gate()


def test_findings_that_are_only_counted_block() -> None:
    """A report lists a thousand: a flood of harmless findings must not hide the one that is blocked by its name."""
    code = "assert x\n" * 1200 + "import pickle\n"
    flood = report(code)
    assert flood.total > len(flood.findings)
    assert why(code) is None
    told = why(code, block=["B999"])
    assert told is not None
    assert "not listed" in told
    told = why("eval(x)\n" * 1200, allow=["FH101"])
    assert told is not None
    assert "not listed" in told


@pytest.mark.parametrize(
    "decided",
    [
        {"block": ["FH1O1"]},
        {"block": ["eval-usd"]},
        {"allow": [""]},
        {"block": ["x" * 300]},
        {"block": ["FH101"] * 101},
        {"deny_capabilities": ["net"]},
        {"deny_capabilities": ["net.outbound:/x"]},
        {"deny_capabilities": ["fs.write:etc"]},
        {"deny_capabilities": ["fs.read:/etc"]},
        {"accept": ["full"]},
        {"block_from": "low"},
    ],
)
def test_what_would_decide_nothing_is_refused(decided: dict[str, Any]) -> None:
    """A misspelt name must not be taken for a policy that is kept."""
    with pytest.raises(ValidationError):
        policy(**decided)


def test_policies_over_http(live: Live) -> None:
    """The fields of a request, and the path of a wrong one."""
    told = live.execute(code="eval(secret)", analysis={"mode": "block", "block": ["CWE-95"]}).json()
    assert (told["status"], "CWE-95" in told["analysis"]["blocked_because"]) == ("blocked", True)
    told = live.execute(code="eval(x)", analysis={"mode": "block", "allow": ["FH101"]}).json()
    assert (told["status"], told["analysis"]["blocked_because"]) == ("ok", None)
    told = live.execute(code="eval(x)", analysis={"mode": "block", "block_at": None}).json()
    assert told["status"] == "ok"
    answer = live.execute(code="x", analysis={"mode": "block", "block": ["FH1", "nothing-such"]})
    assert live.problem(answer) == (422, "invalid-request", ["analysis.block.1"])
    answer = live.execute(code="x", analysis={"mode": "block", "block": "FH1"})
    assert live.problem(answer) == (422, "invalid-request", ["analysis.block"])


def test_the_operators_policy_goes_before_every_run() -> None:
    """Whatever the request asks for or leaves out, in batches too; and nothing of it is run."""
    demanded = AnalysisSetting(mode="block", block=("CWE-95",))
    with serving(Settings(port=0, concurrency=1, analysis=demanded)) as live:
        lax = {"mode": "block", "block_at": None, "allow": ["ALL"], "accept": ["partial", "no-answer"]}
        for asked in ({}, {"mode": "off"}, {"mode": "report"}, lax):
            told = live.execute(code="eval(secret)", analysis=asked).json()
            assert told["status"] == "blocked"
            assert "the service blocks by CWE-95" in told["analysis"]["blocked_because"]
            assert live.execute(code="???", analysis=asked).json()["status"] == "blocked"
        batch = {"run": {"code": "eval(secret)"}, "cases": [{"stdin": "1"}, {"stdin": "2"}]}
        told = live.client.post("/v1/execute/batch", json=batch).json()
        assert [one["status"] for one in told["results"]] == ["blocked", "blocked"]
        assert live.box.jobs == []
        assert live.execute(code="1").json()["status"] == "ok"


# Every way the analyser can fail.


class Process(subprocess.Popen[bytes]):
    """A worker that nobody doubts."""

    def confirm(self) -> None:
        """Have nothing against it."""


def worker(script: str) -> Callable[[int], Process]:
    """Give what starts a worker that says it is ready, reads a request, and does as the script says."""
    begin = (
        "import json, os, struct, sys, time\n"
        "def say(message, cut=0):\n"
        "    body = message if isinstance(message, bytes) else json.dumps(message).encode()\n"
        "    os.write(1, struct.pack('>I', len(body) + cut) + body)\n"
        "say({'ready': True})\n"
        "os.read(0, 1 << 20)\n"
    )

    def start(_: int) -> Process:
        words = [sys.executable, "-I", "-c", begin + script]
        return Process(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    return start


CLEAN = {
    "language": "python", "verdict": "pass", "parse": "full", "parse_error": None, "unparsed": [], "total": 0,
    "counts": {"high": 0, "medium": 0, "low": 0, "info": 0}, "suppressed": 0, "capabilities": [],
    "capability_lines": [], "findings": [],
}  # fmt: skip


def says(**changed: Any) -> str:
    """Give the script of a worker that answers with this report."""
    return (
        f"say(json.loads({json.dumps(json.dumps({'report': {**CLEAN, **changed}, 'last': False}))}))\ntime.sleep(9)\n"
    )


NONSENSE = "gave no answer that can be read"
FAILURES = {
    "dies": ("os._exit(1)", "died while reading"),
    "closes its output": ("os.close(1); time.sleep(9)", "died while reading"),
    "cuts its answer short": ("say(b'{', cut=9); os._exit(0)", "died while reading"),
    "hangs": ("time.sleep(60)", "took too long"),
    "says no JSON": ("say(b'<html>')", NONSENSE),
    "says no object": ("say([1])", NONSENSE),
    "says no report": ("say({'report': None})", NONSENSE),
    "promises too much": ("os.write(1, b'\\xff' * 99); time.sleep(9)", NONSENSE),
    "says deep JSON": ("say(b'[' * 100000)", NONSENSE),
    "has another verdict": (says(verdict="fine"), NONSENSE),
    "leaves counts out": (says(counts={}), NONSENSE),
    "counts less than nothing": (says(counts={"high": -1, "medium": 1, "low": 0, "info": 0}), NONSENSE),
    "does not add up": (says(total=3), NONSENSE),
    "read another language": (says(language="text"), NONSENSE),
    "does not say what is missing": (says(verdict="incomplete"), "does not say why"),
    "passes what it read in part": (says(parse="partial"), "partial: the code"),
    "passes lines it did not read": (says(unparsed=[[2, 5]]), "partial: the code was"),
    "counts what it does not list": (
        says(verdict="pass", total=2, counts={"high": 2, "medium": 0, "low": 0, "info": 0}),
        "2 findings are not listed",
    ),
}


def blocked(pool: Any, code: str = "print(1)", language: str = "python") -> str:
    """Run code through a service with this analyser; give why it was blocked. Nothing must have been run."""
    with serving(Settings(port=0, concurrency=1), analyser=pool) as live:
        told = live.execute(code=code, language=language, analysis={"mode": "block"}).json()
        assert (told["status"], told["exit_code"], told["launcher"]) == ("blocked", None, None)
        assert told["analysis"]["verdict"] in {"incomplete", "fail", "pass"}
        assert live.box.jobs == []
        return str(told["analysis"]["blocked_because"])


def test_the_injected_worker_can_pass() -> None:
    """The control: the same worker with an honest answer lets the run through."""
    with Pool(1, start=worker(says())) as pool, serving(Settings(port=0, concurrency=1), analyser=pool) as live:
        told = live.execute(code="print(1)", analysis={"mode": "block"}).json()
        assert (told["status"], told["analysis"]["blocked_because"]) == ("ok", None)


@pytest.mark.parametrize("failure", FAILURES)
def test_a_worker_that_fails_is_a_block(failure: str) -> None:
    """However it fails, the run is blocked and the reason is told."""
    script, because = FAILURES[failure]
    with Pool(1, seconds=1, start=worker(script)) as pool:
        assert because in blocked(pool)


def test_a_failure_may_be_accepted_by_name() -> None:
    """The caller who would rather run unread code says so; it does not stretch to what the service demands."""
    asked = {"mode": "block", "accept": ["no-answer"]}
    with Pool(1, start=worker("os._exit(1)")) as pool:
        with serving(Settings(port=0, concurrency=1), analyser=pool) as live:
            assert live.execute(code="x", analysis=asked).json()["status"] == "ok"
        with serving(Settings(port=0, analysis=AnalysisSetting(mode="block")), analyser=pool) as live:
            assert live.execute(code="x", analysis=asked).json()["status"] == "blocked"


def test_a_killed_worker_is_a_block(analyser: Pool) -> None:
    """The real worker, ended while it reads."""
    analyser.analyze("x")
    pid = analyser._idle[-1]._process.pid  # type: ignore[attr-defined]
    killer = threading.Timer(0.2, os.kill, (pid, signal.SIGKILL))
    killer.start()
    assert "no-answer: the analyser died" in blocked(analyser, "x = f(1, [2, 3])\n" * 40_000)
    killer.join()


def test_a_stopped_worker_is_a_block() -> None:
    """At its deadline."""
    with Pool(1, seconds=0.5) as pool:
        pool.analyze("x", seconds=20)
        os.kill(pool._idle[-1]._process.pid, signal.SIGSTOP)  # type: ignore[attr-defined]
        assert "no-answer: the analyser was stopped: it took too long" in blocked(pool)


@pytest.mark.parametrize(
    ("code", "memory_bytes", "because"),
    [
        ("x = [" + "1," * 400_000 + "]", 200 << 20, ("no-answer", "partial", "text", "cut-short")),
        ("(" * 100_000 + ")" * 100_000, 1 << 30, ("partial", "text", "no-answer")),
        ("x = " + "-" * 50_000 + "1", 1 << 30, ("partial", "text", "no-answer")),
    ],
    ids=["memory", "nesting", "operators"],
)
def test_what_is_over_a_budget_is_a_block(code: str, memory_bytes: int, because: tuple[str, ...]) -> None:
    """Of memory, and of nesting; harmless code, so that nothing else can be the reason."""
    with Pool(1, seconds=20, memory_bytes=memory_bytes) as pool:
        assert blocked(pool, code).startswith(because)


def test_time_that_runs_out_is_a_block() -> None:
    """In the middle of looking: what was seen is told, and is not taken for all."""
    with Pool(1, seconds=20) as pool:
        pool.analyze("x")
        cut = pool.analyze("a = b(c)\n" * 60_000, seconds=0.8)
    told = gate([Demand("request", policy())]).why_blocked(cut)
    assert told is not None
    assert told.startswith(("cut-short", "no-answer"))


def test_a_closed_pool_is_a_block() -> None:
    """And a pool with no free worker, and one that cannot start any."""
    with Pool(1) as pool:
        pass
    assert "no-answer: this pool of analysers is closed" in blocked(pool)

    def refuse(_: int) -> Any:
        raise OSError(12, "no memory")

    with Pool(1, start=refuse) as pool:
        assert "no-answer: the analyser could not be started" in blocked(pool)
    with Pool(1, seconds=0.3, start=worker("time.sleep(60)")) as pool:
        busy = threading.Thread(target=pool.analyze, args=("x",), kwargs={"seconds": 3})
        busy.start()
        until(lambda: pool._slots._value == 0)
        assert "no analyser was free in time" in blocked(pool)
        busy.join()


def test_an_analyser_that_raises_runs_nothing() -> None:
    """What nobody foresaw is our failure, told as such; the code is not run all the same."""

    class Broken:
        def analyze(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("unforeseen")

    with serving(Settings(port=0, concurrency=1), analyser=Broken()) as live:
        answer = live.execute(code="print(1)", analysis={"mode": "block"})
        assert live.problem(answer)[:2] == (500, "internal-error")
        assert live.box.jobs == []


def test_what_the_run_does_not_have_can_block(analyser: Pool) -> None:
    """By its rule: a need for the network where there is none. Without that it is information."""
    code = "import socket\nsocket.create_connection(('example.org', 80))\n"
    with serving(Settings(port=0, concurrency=1), analyser=analyser) as live:
        told = live.execute(code=code, analysis={"mode": "block", "block": ["FH720"]}).json()
        assert told["status"] == "blocked"
        assert "FH720 unmet-capability in line 2" in told["analysis"]["blocked_because"]
        assert live.execute(code=code, analysis={"mode": "block"}).json()["status"] == "ok"
        denied = {"mode": "block", "deny_capabilities": ["net.outbound"]}
        told = live.execute(code=code, analysis=denied).json()
        assert "wants net.outbound (line 2), which the request denies" in told["analysis"]["blocked_because"]
