"""The machine's clock is set, forward and back, again and again, under load: no deadline and no verdict follows it."""

from __future__ import annotations

import ast
import functools
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import serving
from program import Program, program

import sandbox
from callers import balance, calling

# Put before the C library: CLOCK_REALTIME is off by as many seconds as the file says. The clock of the machine itself
# is everybody's.
_CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <sys/time.h>
#include <time.h>

static long *offset;

__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("TEST_CLOCK_OFFSET"), O_RDONLY | O_CLOEXEC);
    offset = mmap(0, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) && offset) now->tv_sec += *offset;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (out) *out = exact.tv_sec;
    return exact.tv_sec;
}
"""
DAY_SECONDS = 86_400
WALL_CLOCK = {"time.time", "time.time_ns", "datetime.now", "dt.datetime.now", "datetime.datetime.now", "time.localtime"}


def set_clock(file: Path, seconds: int) -> None:
    """Move the service's clock, without a moment at which the file is empty."""
    with file.open("r+b") as opened:
        opened.write(seconds.to_bytes(8, "little", signed=True))


@pytest.fixture
def clock(state_dir: Path) -> Path:
    """Give the file that says by how much the clock is off."""
    file = state_dir / "offset"
    file.write_bytes(bytes(8))
    return file


@pytest.fixture
def jumping(
    state_dir: Path, clock: Path, monkeypatch: pytest.MonkeyPatch, need: Callable[[bool, str], None]
) -> Iterator[Program]:
    """Give a service whose clock the test sets."""
    compiler = shutil.which("cc")
    need(compiler is not None, "a C compiler")
    assert compiler is not None
    library = state_dir / "clock.so"
    source = state_dir / "clock.c"
    source.write_text(_CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("TEST_CLOCK_OFFSET", str(clock))
    settings = {
        "concurrency": "4",
        "warm__preloads": '{"bare": []}',
        "uid_base": "2081000000",
        "may_lack": '["cgroup"]',
    }
    with program(state_dir, data_dir=str(state_dir / "data"), **settings) as running:
        monkeypatch.delenv("LD_PRELOAD")
        yield running
        assert running.stop() == 0


until = functools.partial(serving.until, seconds=20)


def test_deadlines_and_verdicts_do_not_follow_the_clock(jumping: Program, clock: Path) -> None:
    """Days forward and back: each run ends as it should and when it should, and is recorded once."""
    stop = threading.Event()

    def jump() -> None:
        for number in range(1_000_000):
            set_clock(clock, (0, 3 * DAY_SECONDS, -3 * DAY_SECONDS, 7, -7)[number % 5])
            if stop.wait(0.03):
                return

    jumper = threading.Thread(target=jump)
    jumper.start()
    try:
        with calling(jumping, "clock", vanish=False) as books:
            began = time.monotonic()
            body = {"code": "while True: pass", "limits": {"wall_seconds": 1}, "id": "endless"}
            told = jumping.client.post("/v1/execute", json=body).json()
            took = time.monotonic() - began
    finally:
        stop.set()
        jumper.join()
    set_clock(clock, 0)
    assert told["status"] == "timeout"
    assert 0.9 < told["usage"]["wall_seconds"] < 3
    assert took < 10
    assert {code for code, _ in books.answers.values()} == {200}
    assert len(books.answers) > 10
    balance(jumping, books, until)


def test_the_clock_that_is_set_is_the_services(jumping: Program, clock: Path) -> None:
    """The control of the test above: what the service says of the time does jump."""
    set_clock(clock, 3 * DAY_SECONDS)
    jumping.client.post("/v1/execute", json={"code": "", "id": "later"})
    until(lambda: jumping.client.get("/v1/executions/later").json().get("finished_at") is not None)
    told = jumping.client.get("/v1/executions/later").json()["accepted_at"]
    today = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 3 * DAY_SECONDS))
    assert told.startswith(today)
    set_clock(clock, 0)


def test_the_engine_never_asks_what_time_it_is() -> None:
    """All its deadlines are by the monotonic clock: nothing below ``sandbox`` reads another."""
    read = []
    for path in sorted(Path(sandbox.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in WALL_CLOCK:
                read.append(f"{path}:{node.lineno}")
            if isinstance(node, ast.ImportFrom) and node.module in {"time", "datetime"}:
                read += [f"{path}:{node.lineno}" for name in node.names if name.name in {"time", "time_ns", "datetime"}]
    assert read == []
