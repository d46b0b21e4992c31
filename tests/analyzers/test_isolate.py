from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from analyzers import UnknownLanguageError, analyze, wire
from analyzers.isolate import Pool, PoolClosedError
from analyzers.render import to_dict, to_json

CODE = "import ast\ny = eval(x)\ntry:\n    import pickle\nexcept:\n    pass\npassword = 'hunter2'  # nosec\n"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Two workers, shared by the tests that leave them as they were."""
    with Pool(2, seconds=20) as pool:
        yield pool


def _pid(pool: Pool) -> int:
    return pool._idle[-1]._process.pid


@pytest.mark.parametrize("code", [CODE, CODE.encode(), "if (", b"\xff", "'\ud800'", "", "x\0", "é = eval(x)"])
def test_a_worker_answers_as_the_library_does(pool: Pool, code: str | bytes) -> None:
    """The report from another process is the report from this one."""
    assert pool.analyze(code, filename="a.py") == analyze(code, filename="a.py")


def test_a_worker_is_kept(pool: Pool) -> None:
    """The process that answered is the one that answers next."""
    pool.analyze("x")
    pid = _pid(pool)
    pool.analyze("y")
    assert _pid(pool) == pid


def test_a_worker_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment is empty, its limits are set, and it has no files open but its pipes and /dev/null."""
    monkeypatch.setenv("SECRET", "hunter2")
    with Pool(1) as fresh:
        fresh.analyze("x")
        pid = _pid(fresh)
        proc = Path("/proc") / str(pid)
        assert proc.joinpath("environ").read_bytes() == b""
        targets = [os.readlink(link) for link in proc.joinpath("fd").iterdir()]
        assert all(target.startswith("pipe:") or target == os.devnull for target in targets)
        assert os.readlink(proc / "cwd") == "/"
        limits = proc.joinpath("limits").read_text()
        assert str(1 << 30) in next(line for line in limits.splitlines() if line.startswith("Max address space"))


def test_a_worker_that_dies_costs_one_answer() -> None:
    """A killed worker's answer is incomplete, never clean; the next one comes from a new worker."""
    with Pool(1, seconds=20) as own:
        own.analyze("x")
        pid = _pid(own)
        killer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
        killer.start()
        report = own.analyze("eval(x)\n" * 100_000)
        killer.join()
        assert report.verdict == "incomplete"
        assert (report.findings[0].rule, report.total) == ("FH004", 1)
        assert own.analyze("x").verdict == "pass"
        assert _pid(own) != pid


def test_a_worker_that_died_while_idle_costs_nothing() -> None:
    """An idle worker's death is noticed before it is asked."""
    with Pool(1) as own:
        own.analyze("x")
        os.kill(_pid(own), signal.SIGKILL)
        own._idle[-1]._process.wait()
        assert own.analyze("x").verdict == "pass"


def test_a_late_worker_is_stopped() -> None:
    """At the deadline the worker is killed, the answer is incomplete, and the time was kept."""
    with Pool(1) as own:
        own.analyze("x")
        pid = _pid(own)
        os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        report = own.analyze("x", seconds=0.3)
        assert time.monotonic() - began < 2
        assert report.verdict == "incomplete"
        assert "too long" in report.findings[0].message
        assert not Path(f"/proc/{pid}").exists()
        assert own.analyze("x").verdict == "pass"


def test_text_that_needs_too_much_memory_is_incomplete() -> None:
    """A text whose tree does not fit is answered, not suffered."""
    with Pool(1, seconds=20, memory_bytes=200 << 20) as own:
        assert own.analyze("[" + "1," * 2_000_000 + "]").verdict == "incomplete"
        assert own.analyze("x").verdict == "pass"


@pytest.mark.parametrize(
    "code",
    [
        "(" * 1_000_000,
        "-" * 500_000 + "1",
        "x = a" + ".b" * 200_000,
        "f(" * 150 + ")" * 150,
        "if a:\n pass\n" + "elif a:\n pass\n" * 20_000,
        "'" + '"\\' * 300_000,
        "sk-" * 150_000,
        "x = '" + "-eyJ" * 150_000 + "'",
        "# nosec" * 150_000,
        "a" * 5_000_000,
        "x = '" + "é" * 2_500_000 + "'; eval(x)",
        "\n" * 1_000_000,
        "lambda: " * 100_000 + "1",
    ],
    ids=lambda code: repr(code[:10]),
)
def test_hostile_text_is_answered_in_time(pool: Pool, code: str) -> None:
    """Deep, long and baiting texts get an answer within the time limit, and the pool lives on."""
    began = time.monotonic()
    report = pool.analyze(code, seconds=20)
    assert time.monotonic() - began < 22
    assert report.verdict in {"pass", "fail", "incomplete"}


def test_what_is_asked_reaches_the_worker(pool: Pool) -> None:
    """Comments take findings back unless the author is not trusted."""
    code = "eval(x)  # nosec\n"
    assert pool.analyze(code).suppressed == 1
    assert [one.rule for one in pool.analyze(code, honour_suppressions=False).findings] == ["FH101"]


def test_threads_share_a_pool(pool: Pool) -> None:
    """More threads than workers all get the right answers."""
    codes = [f"password = 'hunter{n}'\neval(x)\n" for n in range(16)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(pool.analyze, codes))
    assert answers == [analyze(code) for code in codes]
    assert len(pool._idle) <= 2


def test_a_full_pool_says_so() -> None:
    """Whoever waits longer for a worker than it may take is told so."""
    with Pool(1) as own:
        own._slots.acquire()
        report = own.analyze("x", seconds=0.1)
        assert (report.verdict, report.findings[0].message) == ("incomplete", "no analyser was free in time")
        own._slots.release()


def test_a_worker_that_cannot_be_started_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the machine can start no process, the answer says so and nothing raises."""
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    with Pool(1) as own:
        report = own.analyze("x")
    assert (report.verdict, report.findings[0].message) == ("incomplete", "the analyser could not be started")


def test_closing_ends_the_workers() -> None:
    """After close no process is left, and the pool refuses."""
    own = Pool(1)
    own.analyze("x")
    pid = _pid(own)
    own.close()
    own.close()
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(PoolClosedError):
        own.analyze("x")


def test_an_unknown_language_is_refused_here(pool: Pool) -> None:
    """The language is judged before a worker is asked."""
    with pytest.raises(UnknownLanguageError):
        pool.analyze("x", "cobol")


def test_a_worker_ends_when_its_caller_does() -> None:
    """A worker whose stdin is closed ends by itself."""
    with Pool(1) as own:
        own.analyze("x")
        process = own._idle[-1]._process
        own._idle[-1]._in.close()
        assert process.wait(5) == 0


@pytest.mark.parametrize(
    "answer", [None, {}, [], {**to_dict(analyze("eval(x)")), "verdict": "fine"}, {**to_dict(analyze("x")), "counts": 1}]
)
def test_an_answer_that_is_no_report_is_refused(answer: object) -> None:
    """What a worker says is believed only if it is a report in every part."""
    with pytest.raises(wire.BrokenFrameError):
        wire.report_from(answer, None)


def test_a_report_survives_the_wire() -> None:
    """A report that is written and read again is the same."""
    report = analyze(CODE, filename="a.py")
    assert wire.report_from(to_dict(report), "a.py") == report
    assert to_json(report)
