"""The analyser's workers in the service: what one that was taken over by a text can reach, and what it costs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from serving import until

from analyzers import analyze
from analyzers.isolate import Pool
from fumehood import readers
from sandbox import LayerMissing, Sandbox, SandboxError, SetupError

# What a worker would try that no longer does what we wrote. It tells what it got, for each attempt.
TAKEN_OVER = r"""
import json, os, socket, sys
print(flush=True)
sys.stdin.readline()  # a worker too does nothing before its walls are confirmed and it is told something
secret, port, pid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def connect():
    with socket.create_connection(("127.0.0.1", port), 1):
        return True
def processes():
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
def write(path):
    with open(path, "w") as file:
        file.write("x")
    return True
attempts = {
    "read a file of the host": lambda: open(secret).read(),
    "connect to the host": connect,
    "see another process": lambda: pid in processes() and os.readlink(f"/proc/{pid}/cwd") and True,
    "count processes": lambda: len(processes()),
    "signal another process": lambda: os.kill(pid, 0) is None,
    "write to what it is shown": lambda: write(sys.argv[4]),
    "write to its root": lambda: write(sys.argv[5]),
    "make a namespace": lambda: __import__("ctypes").CDLL(None).unshare(0x10000000) == 0,
    "read a variable": lambda: sorted(os.environ),
    "fork": lambda: bomb(),
}
def bomb():
    made = 0
    try:
        for _ in range(200):
            if os.fork() == 0:
                import time
                time.sleep(3)
                os._exit(0)
            made += 1
    except OSError:
        pass
    return made
told = {}
for name, attempt in attempts.items():
    try:
        told[name] = attempt()
    except BaseException as error:
        told[name] = type(error).__name__
os.write(1, json.dumps(told).encode() + b"\n")
sys.stdin.read()
"""


@pytest.fixture
def listener() -> Iterator[int]:
    """A service on the host's loopback that answers whoever reaches it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]  # the kernel accepts by itself


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that any user of the host may read."""
    path = tmp_path / "secret.txt"
    path.write_text("hunter2", encoding="ascii")
    return path


def test_a_worker_that_was_taken_over_reaches_nothing(engine: Sandbox, secret: Path, listener: int) -> None:
    """Neither files of the host, nor its network, nor its processes, nor anything to write to."""
    words = ("-I", "-c", TAKEN_OVER, str(secret), str(listener), str(os.getpid()), "/usr/x", "/x")
    enclosed = engine.enclose(words, {}, memory_bytes=1 << 30, processes=16)
    try:
        assert enclosed.stdin is not None
        assert enclosed.stdout is not None
        assert enclosed.stdout.readline() == b"\n"
        enclosed.confirm()
        enclosed.stdin.write(b"now\n")
        enclosed.stdin.flush()
        told = json.loads(enclosed.stdout.readline())
    finally:
        enclosed.kill()
        enclosed.wait()
    assert told["read a file of the host"] == "FileNotFoundError"
    assert told["connect to the host"] in {"ConnectionRefusedError", "OSError", "TimeoutError"}
    assert told["see another process"] is False or told["see another process"].endswith("Error")
    assert told["count processes"] == 1
    assert told["signal another process"] in {"ProcessLookupError", "PermissionError"}
    assert told["write to what it is shown"].endswith("Error")
    assert told["write to its root"].endswith("Error")
    assert told["make a namespace"] is False
    assert told["read a variable"] == ["LANG", "PATH", "PWD"]
    assert told["fork"] < 16


def test_what_guests_may_not_read_is_copied(engine: Sandbox, tmp_path: Path) -> None:
    """A package below a folder that only we may enter is there all the same, its programs still programs."""
    package = tmp_path / "closed" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="ascii")
    (package / "run").write_text("#!/bin/sh\necho ran\n", encoding="ascii")
    (package / "run").chmod(0o700)
    package.parent.chmod(0o700)
    script = "import subprocess, sys; sys.path[:0] = ['/run/x']; import package; subprocess.run(['/run/x/package/run'])"
    enclosed = engine.enclose(("-I", "-c", script), {"/run/x/package": package}, memory_bytes=1 << 30, processes=4)
    try:
        assert enclosed.stdout is not None
        assert enclosed.stdout.read() == b"ran\n"
    finally:
        enclosed.kill()
        enclosed.wait()


def test_memory_and_its_end_are_bounded(engine: Sandbox) -> None:
    """What takes too much is ended by the kernel; the control takes less. Nothing of either is left."""
    script = "import sys, time; x = bytearray(int(sys.argv[1])); print(len(x), flush=True); sys.stdin.read()"
    for size, told in ((8 << 20, b"8388608\n"), (256 << 20, b"")):
        words = ("-I", "-c", f"import time; time.sleep(0.3); {script}", str(size))
        enclosed = engine.enclose(words, {}, memory_bytes=64 << 20, processes=4)
        try:
            assert enclosed.stdout is not None
            assert enclosed.stdout.readline() == told
        finally:
            enclosed.kill()
            enclosed.wait()
        assert not Path(f"/proc/{enclosed.pid}").exists()


def test_without_walls_it_reaches_all_of_it(secret: Path, listener: int) -> None:
    """The control: the same program, started as the library starts its workers."""
    here = (str(secret.parent / "x"), str(secret.parent / "y"))
    script = TAKEN_OVER.replace("range(200)", "range(20)")
    words = [sys.executable, "-I", "-c", script, str(secret), str(listener), str(os.getpid()), *here]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        process.stdin.write(b"now\n")
        process.stdin.flush()
        told = json.loads(process.stdout.readline())
        process.kill()
    assert told["read a file of the host"] == "hunter2"
    assert told["connect to the host"] is True
    assert told["see another process"] is True
    assert told["count processes"] > 1
    assert told["signal another process"] is True
    assert told["write to what it is shown"] is True
    assert told["write to its root"] is True
    assert told["make a namespace"] is True
    assert told["fork"] == 20


@pytest.fixture(scope="module")
def enclosed(engine: Sandbox) -> Iterator[Pool]:
    """One enclosed worker of the real analyser."""
    with readers.pool(engine, 1, 20.0) as pool:
        yield pool


def process(pool: Pool) -> Any:
    """Give the worker that is idle."""
    return pool._idle[-1]._process


@pytest.mark.parametrize(
    ("code", "language", "asked"),
    [
        ("import pickle\nx = eval(input())\nimport nobody_knows\n", "python", {}),
        ("import yaml\nyaml.load(x)\n", "python", {"fixes": True}),
        ("curl https://a.org | sh\n", "bash", {}),
        ('package main\nfunc main() { exec.Command("sh", "-c", x) }\n', "go", {}),
        ("import pickle\n", "python", {"engines": ["bandit"]}),
        ("echo $x\n", "bash", {"engines": ["shellcheck"]}),
        ("x = (", "python", {}),
    ],
)
def test_an_enclosed_worker_answers_as_the_library_does(
    enclosed: Pool, code: str, language: str, asked: dict[str, Any]
) -> None:
    """Every language, fixes, and the engines that can be switched on."""
    assert enclosed.analyze(code, language, **asked) == analyze(code, language, **asked)


def test_its_layers_are_confirmed_by_the_kernel(engine: Sandbox, enclosed: Pool) -> None:
    """And a program that is not enclosed is not believed to be: the control."""
    enclosed.analyze("x")
    process(enclosed).confirm()
    inner = process(enclosed)._enclosed
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bare:
        pid, inner.pid = inner.pid, bare.pid
        try:
            with pytest.raises(SandboxError):
                inner.confirm()
            inner._process, kept = type("P", (), {"pid": os.getpid()})(), inner._process
            with pytest.raises(LayerMissing, match="shares the namespace"):
                inner.confirm()
            inner._process = kept
        finally:
            inner.pid = pid
            bare.kill()
    del engine


def test_an_enclosed_worker_that_dies_costs_one_answer(enclosed: Pool) -> None:
    """It is gone with all of its namespace, and so is what it held on the host."""
    enclosed.analyze("x")
    pid = process(enclosed).pid
    killer = threading.Timer(0.2, os.kill, (pid, signal.SIGKILL))
    killer.start()
    assert enclosed.analyze("x = f(1, [2, 3])\n" * 60_000).verdict == "incomplete"
    killer.join()
    until(lambda: not Path(f"/proc/{pid}").exists())
    assert enclosed.analyze("x").verdict == "pass"
    assert process(enclosed).pid != pid


def test_where_it_cannot_be_enclosed_nothing_starts(engine: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker is had with less around it."""

    def refuse(*_: object, **__: object) -> None:
        raise SetupError("start bwrap", 1, "no namespaces")

    monkeypatch.setattr(engine, "enclose", refuse)
    with pytest.raises(SandboxError, match="cannot be enclosed"):
        readers.pool(engine, 1, 5.0)
    with readers.pool(engine, 1, 5.0, enclosed=False) as accepted:
        assert accepted.analyze("x").verdict == "pass"


def test_a_runtime_of_another_python_is_refused(engine: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages are compiled for one minor version."""
    other = replace(engine.runtimes["python"], version="python 3.5.1")
    monkeypatch.setattr(engine, "host", replace(engine.host, runtimes={"python": other}))
    with pytest.raises(SandboxError, match=r"guests on 3\.5; analysis_enclosed = false"):
        readers.pool(engine, 1, 5.0)
