"""What an interpreter is before it is forked into runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
FORK = """
import json, os, resource, sys
from sandbox.guest import image
def work():
    return [str(each).upper() for each in sorted({3: "a", 1: "b"}.items())], "%s %d" % ("x", 3), {**{"a": 1}}
def faults():
    reading, writing = os.pipe()
    if os.fork() == 0:
        work()
        os.write(writing, str(resource.getrusage(resource.RUSAGE_SELF).ru_minflt).encode())
        os._exit(0)
    os.wait()
    return int(os.read(reading, 20))
work(), faults()
before = faults()
image.carry_pages_over_forks()
print(json.dumps([before, faults(), work()[1]]))
"""
SETTLE = """
import json, os, resource, signal, sys
from sandbox.guest import image, program
image.settle({"LANG": "C.UTF-8", "MARK": "1"})
print(json.dumps({
    "env": dict(os.environ),
    "ours": [name for name in sys.modules if name.startswith("sandbox.guest")],
    "files": resource.getrlimit(resource.RLIMIT_NOFILE),
    "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
    "ignored": [each for each in range(1, 65) if each not in (32, 33) and signal.getsignal(each) == signal.SIG_IGN],
    "ignored by the kernel": open("/proc/self/status").read().partition("SigIgn:")[2].split()[0],
    "at work": program.announced(bytearray(2)),
}))
"""


def said(code: str, **env: str) -> Any:
    """Give what a fresh interpreter prints, started with SIGUSR1 ignored."""

    def ignore() -> None:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=env,
        capture_output=True,
        check=True,
        preexec_fn=ignore,
    )
    return json.loads(done.stdout)


def test_children_inherit_the_page_table_entries_of_files() -> None:
    """A child takes fewer faults than one of the same server before, and the bytes written over are as they were."""
    before, after, _ = said(FORK)
    assert after < before - 20, (before, after)


@pytest.mark.skipif(os.uname().machine not in {"x86_64", "aarch64"}, reason="no other machine is served")
def test_an_interpreter_is_settled_once() -> None:
    """Signals at their default whoever started it, all files it may open, no core, its variables, no module of ours."""
    told = said(SETTLE, SECRET="1", MARK="0")
    assert told["env"] == {"LANG": "C.UTF-8", "MARK": "1"}
    assert told["ours"] == []
    assert told["files"][0] == told["files"][1]
    assert told["core"] <= 1
    assert told["ignored"] == []
    assert int(told["ignored by the kernel"], 16) == 0
    assert told["at work"] is None
