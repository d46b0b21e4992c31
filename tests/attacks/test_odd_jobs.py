"""Odd jobs and odd moments: what a caller can ask for never becomes our failure, and what goes wrong has our name."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import resource
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from here import paced

from sandbox import Cancel, Config, InputFile, Job, JobRefused, Limits, Sandbox, SandboxError, Status
from sandbox.config import WarmConfig

HANGS_SECONDS = 10.0


def config() -> Config:
    """Give the engine under test: with cgroups where there are any."""
    runtimes = os.environ.get("FUMEHOOD_TEST_RUNTIMES")
    return Config(
        runtimes_dir=Path(runtimes) if runtimes else None,
        uid_base=2_060_000_000 + os.getpid() % 7_000 * 256,
        slots=256,
        may_lack=frozenset({"cgroup"}),
        warm=WarmConfig(enabled=False),
    )


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    """Give one engine for all."""
    with Sandbox(config()) as made:
        yield made


# What may be refused, but not fail.
ODD: dict[str, dict[str, Any]] = {
    "empty": {"code": ""},
    "empty, bash": {"code": "", "language": "bash"},
    "16 MiB of code": {"code": "#" * (16 << 20)},
    "form feeds and a BOM": {"code": "\ufeff\f\fprint(1)\r\n"},
    "floors": {
        "code": "print(1)",
        "limits": Limits(memory_bytes=16 << 20, processes=1, open_files=16, disk_bytes=4096, inodes=1, cpus=0.01),
    },
    "hardly any time": {"code": "print(1)", "limits": Limits(wall_seconds=1e-9, cpu_seconds=1e-9)},
    "256 files": {"code": "", "files": tuple(InputFile(f"d{n}/f", b"x" * 65536) for n in range(256))},
    "odd variables": {
        "code": "",
        "env": {" ": "", "\n": "\n", "LD_PRELOAD": "/tmp/x", "PYTHONHOME": "/x", "TZ": "x" * 9999},
    },
    "odd variables, bash": {
        "code": "",
        "language": "bash",
        "env": {"é": "ü", "BASH_ENV": "/x", "BASH_FUNC_x%%": "() { :; }"},
    },
    "odd places": {
        "code": "",
        "writable_paths": ("/ö/ü", "/a b,c=d", "/\\040", "/usr2", "/root", "/var/tmp", "/home\n"),
    },
    "odd globs": {
        "code": "open('x', 'w')",
        "collect": ("[", "[]", "[!]", "[z-a]", "[[:x:]]", "*" * 200, "{a,b}", "(?P<x>", "**a**", "\\"),
    },
    "many globs": {"code": "open('a' * 250, 'w')", "collect": tuple("*a" * 120 + f"[!a]{n}" for n in range(64))},
    "long argument": {"code": "", "args": ("x" * ((128 << 10) - 1),)},
    "many arguments": {"code": "", "args": ("a",) * 300_000},
    "many arguments, bash": {"code": "", "language": "bash", "args": ("a",) * 300_000},
    "deep file": {"code": "", "files": (InputFile("/".join("a" * 2000), b""),)},
    "long file name": {"code": "", "files": (InputFile("/".join(["b" * 254] * 16), b""),)},
    "deep place": {"code": "", "writable_paths": ("/" + "/".join("b" * 2000),)},
    "as many arguments and variables as may be, bash": {
        "code": "",
        "language": "bash",
        "args": ("a",) * 98_304,
        "env": {f"{number:04}": "x" * 226 for number in range(4096)},
    },
    "as deep and as long as may be": {
        "code": "open('/'.join(['c' * 239] * 16))",
        "files": (InputFile("/".join("a" * 64), b""), InputFile("/".join(["c" * 239] * 16), b"")),
        "writable_paths": ("/" + "/".join("a" * 64),),
        "collect": ("/".join(["**", "a"] * 32),),
    },
    "long place": {"code": "", "writable_paths": ("/" + "/".join(["d" * 239] * 16),)},
    "places that look alike": {"code": "", "writable_paths": ("/srv/a:b", "/srv/a/b")},
    "deep glob": {
        "code": "",
        "files": (InputFile("/".join("a" * 600), b""),),
        "collect": ("/".join(["**"] * 1300),),
    },
}


@pytest.mark.parametrize("name", ODD)
def test_odd_jobs_run_or_are_refused(box: Sandbox, name: str) -> None:
    """Either the field is named, or the guest runs."""
    with contextlib.suppress(JobRefused):
        box.run(Job(**ODD[name]))


@pytest.mark.parametrize(
    "path",
    ["", "x", "/", "//etc", "/etc", "/tmp/../etc", "/workspace/../x", "/.", "/proc/self", "/run/job", "/usr/x", "/opt",
     "/opt/python/x", "/dev/shm/../x", "/mnt", "/mnt/data/x", "/sys", "/bin", "/lib64/x", "/x\0", "/\udc80", "/run"],
)  # fmt: skip
def test_places_of_the_system_are_refused(box: Sandbox, path: str) -> None:
    """No writable place lies over, under or beside what is the system's, however it is written."""
    with pytest.raises(JobRefused, match="writable_paths"):
        box.vet(Job(code="", writable_paths=(path,)))


@pytest.mark.parametrize("path", ["", "/x", "../x", "a/../b", "a//b", "./a", "a/.", "a\0b", "\udcff", "a" * 256])
def test_paths_out_of_the_workspace_are_refused(box: Sandbox, path: str) -> None:
    """Neither a file laid in nor a glob leads out."""
    with pytest.raises(JobRefused, match=r"files\.0\.path"):
        box.vet(Job(code="", files=(InputFile(path, b""),)))
    with pytest.raises(JobRefused, match=r"collect\.0"):
        box.vet(Job(code="", collect=(path,)))


def test_fifty_at_once(box: Sandbox) -> None:
    """No run fails for its neighbours' sake, and nothing of the service's is lost."""
    with ThreadPoolExecutor(50) as pool:
        jobs = [Job(code=f"print({number})", limits=paced(Limits())) for number in range(100)]
        results = list(pool.map(box.run, jobs))
    assert [(each.status, each.stdout) for each in results] == [(Status.OK, f"{number}\n") for number in range(100)]


def test_cancelled_at_any_moment(box: Sandbox) -> None:
    """Whenever the wish comes, the run is cancelled and nothing is left open."""
    code = "import os\nfor _ in range(5): os.fork()\nwhile True: os.write(1, b'x' * 100)"
    dice = random.Random(4)  # noqa: S311 - moments, not secrets
    box.run(Job(code=""))
    before = len(list(Path("/proc/self/fd").iterdir()))

    def one(seconds: float) -> Status:
        cancel = Cancel()
        timer = threading.Timer(seconds, cancel.set)
        timer.start()
        try:
            return box.run(Job(code=code, stdin=bytes(1 << 20)), cancel=cancel).status
        finally:
            timer.join()

    assert {one(dice.random() * 0.15) for _ in range(60)} == {Status.CANCELLED}
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1


def test_closed_engine_says_so() -> None:
    """Running on a closed engine is an error, not a wait."""
    box = Sandbox(config())
    box.close()
    raised: list[BaseException] = []

    def late() -> None:
        try:
            box.run(Job(code=""))
        except SandboxError as error:
            raised.append(error)

    thread = threading.Thread(target=late, daemon=True)
    thread.start()
    thread.join(HANGS_SECONDS)
    assert raised


def test_without_descriptors_it_is_our_error_and_passes(box: Sandbox) -> None:
    """Too few descriptors: an error with our name, nothing left open, and all is well once there are enough again."""
    gc.collect()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as filled:
        used, highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir()), 0
        while highest < used:  # no gaps below, so that each step of a run is the first to find none
            highest = filled.enter_context(Path("/dev/null").open()).fileno()
        try:
            for spare in range(1, 30):
                resource.setrlimit(resource.RLIMIT_NOFILE, (highest + spare, hard))
                with contextlib.suppress(SandboxError):
                    box.run(Job(code=""))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    gc.collect()  # what is left open warns when it is collected, and a warning fails a test
    assert box.run(Job(code="print(1)")).stdout == "1\n"
