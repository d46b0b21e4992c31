"""How a run ends: every status of the contract, its exit code, its signal, and the limits it hit."""

from __future__ import annotations

import re
import shlex
import time

import pytest
from cases import Case, Weaker, bash, ended, error, failed, python, signaled
from faces import Runner, Running
from here import PACE

from sandbox import Cancel, Job, Limits, OnOutputLimit, Sandbox, Status

MIB = 1 << 20
NO_FORK_COUNT = "no kernel count says that RLIMIT_NPROC refused a fork"
NO_OOM_COUNT = "memory that RLIMIT_DATA refuses is an exception in the guest, and no kernel count says so"
SPIN = "while True: pass"
HOG = "x = []\nwhile True: x.append(b'x' * (1 << 20))"
FULL = "f = open('x', 'wb', 0)\nwhile True: f.write(bytes(1 << 20))"
FORKS = "import os, time\nprint('in', flush=True)\nfor _ in range(40):\n    if os.fork() == 0: time.sleep(9)"
THREAD = "threading.Thread(target=time.sleep, args=[9], daemon=True).start()"
FILES = "for n in range(99): open(str(n), 'w').close()"
DELAYS = (0.3, 1.0, 5.0, 20.0)  # as long as it takes a guest to have printed
IN = {"stdout": "in\n"}

ORDINARY = (
    python("nothing", ""),
    bash("nothing", ""),
    python("prints", "print(40+2)", stdout="42\n"),
    bash("prints", "echo $((40+2))", stdout="42\n"),
    bash("false", "false", **error()),
    bash("pipeline", "set -o pipefail; yes | head -1", stdout="y\n", **error(141)),
    bash("unknown", "nosuch", stderr="/run/job/main.sh: line 1: nosuch: command not found\n", **error(127)),
    python("exit-137", "import sys; sys.exit(137)", **error(137)),
    bash("exit-139", "exit 139", **error(139)),
    python("os-exit", "import os; print('x', end=''); os._exit(7)", stdout="x", **error(7)),
    bash("a-child-dies", "bash -c 'kill -9 $$'; echo $?", stdout="137\n", stderr=None),
    python("raises", "1/0", stderr=re.compile(r"^ZeroDivisionError: division by zero\n\Z", re.MULTILINE), **error()),
)
SIGNALS = (
    *(
        python(
            f"{name}", f"import os, signal, time\nos.kill(os.getpid(), signal.{name})\ntime.sleep(9)", **signaled(name)
        )
        for name in ("SIGSEGV", "SIGKILL", "SIGTERM", "SIGABRT", "SIGHUP", "SIGUSR1", "SIGBUS", "SIGSYS", "SIGXCPU")
    ),
    *(
        bash(f"{name}", f"kill -{name.removeprefix('SIG')} $$; sleep 9", **signaled(name))
        for name in ("SIGSEGV", "SIGKILL", "SIGTERM", "SIGABRT", "SIGPIPE", "SIGINT")
    ),
    python("real-time", "import os; os.kill(os.getpid(), 36)", **signaled("SIGRTMIN+2")),
    python("null-pointer", "print('in')\nimport ctypes; ctypes.string_at(0)", **IN, **signaled("SIGSEGV")),
    python("abort", "import os; print('in'); os.abort()", **IN, **signaled("SIGABRT")),
    python("init-cannot-be-killed", "import os\nos.kill(1, 9); os.kill(1, 15); print('in')", **IN),
)
TIME = (
    *(
        make("wall", code, limits={"wall_seconds": 0.3}, **IN, **ended(Status.TIMEOUT, "wall"))
        for make, code in (
            (python, "import time; print('in'); time.sleep(9)"),
            (bash, "echo in; sleep 9"),
            (
                python,
                "import signal, time\nsignal.pthread_sigmask(0, signal.valid_signals())\nprint('in'); time.sleep(9)",
            ),
        )
    ),
    python("cpu", f"print('in')\n{SPIN}", limits={"cpu_seconds": 0.2}, **IN, **ended(Status.CPU_LIMIT, "cpu")),
    bash("cpu", "echo in; while :; do :; done", limits={"cpu_seconds": 0.2}, **IN, **ended(Status.CPU_LIMIT, "cpu")),
    python(
        "cpu-of-all-processes",
        f"import os\nos.fork(); os.fork()\n{SPIN}",
        limits={"cpu_seconds": 0.5},
        **ended(Status.CPU_LIMIT, "cpu"),
    ),
    python(
        "cpu-of-processes-that-are-gone",
        "import os\nwhile True:\n  if os.fork() == 0: os._exit(len(range(9)[:sum(range(10**6)) % 9]))\n  os.wait()",
        limits={"cpu_seconds": 0.5},
        **ended(Status.CPU_LIMIT, "cpu"),
    ),
    python(
        "sleep-costs-no-cpu",
        "import time; print('in'); time.sleep(0.6)",
        limits={"cpu_seconds": 0.3},
        **IN,
    ),
)
MEMORY = (
    python(
        "memory",
        f"print('in')\n{HOG}",
        limits={"memory_bytes": 48 * MIB},
        stderr=None,
        **IN,
        **ended(Status.MEMORY_LIMIT, "memory"),
        watch=Weaker("the guest's MemoryError ends it", {"exit_code": 1, "signal": None}, at_times=True),
    ),
    bash(
        "memory",
        "echo in; x=$(tr '\\0' x < /dev/zero)",
        limits={"memory_bytes": 48 * MIB},
        stderr=None,
        **IN,
        **ended(Status.MEMORY_LIMIT, "memory"),
        watch=Weaker("bash says that it cannot allocate, and exits", {"exit_code": 2, "signal": None}, at_times=True),
    ),
    python(
        "memory-of-files",
        "print('in')\nf = open('/dev/shm/x', 'wb', 0)\nfor _ in range(96): f.write(bytes(1 << 20))",
        limits={"memory_bytes": 48 * MIB},
        stderr=None,
        **IN,
        **ended(Status.MEMORY_LIMIT, "memory"),
        watch=Weaker(
            "memory that no process has mapped is not seen",
            {"status": Status.OK, "exit_code": 0, "signal": None, "limits_hit": ()},
        ),
    ),
    # Of bash, because a watch adds parent and child up, and a child that is bounded by itself must stay below the sum.
    bash(
        "memory-of-a-child-survived",
        f"{{ python3 -c {shlex.quote(HOG)}; }} 2> /dev/null || echo True",
        limits={"memory_bytes": 64 * MIB},
        stdout="True\n",
        limits_hit=("memory",),
        watch=Weaker(NO_OOM_COUNT, {"limits_hit": ()}),
    ),
    python("memory-refused-at-once", "try: bytearray(1 << 50)\nexcept MemoryError: print('no')", stdout="no\n"),
    python("memory-enough", "x = bytearray(100 << 20); print(len(x))", stdout="104857600\n"),
)
PROCESSES = (
    python(
        "processes",
        FORKS,
        limits={"processes": 8},
        **IN,
        stderr=re.compile("BlockingIOError: .*Resource temporarily unavailable"),
        **failed(Status.PROCESS_LIMIT, "processes"),
        watch=Weaker(NO_FORK_COUNT, {"status": Status.ERROR, "limits_hit": ()}),
    ),
    bash(
        "processes",
        "echo in; exec sh -c 'while :; do sleep 9 & done'",  # bash itself would try again for 15 seconds
        limits={"processes": 8},
        **IN,
        stderr=re.compile("Cannot fork"),
        **failed(Status.PROCESS_LIMIT, "processes", code=2),
        watch=Weaker(NO_FORK_COUNT, {"status": Status.ERROR, "limits_hit": ()}),
    ),
    python(
        "threads-are-tasks",
        f"import threading, time\nwhile True: {THREAD}",
        limits={"processes": 8},
        stderr=re.compile("can't start new thread"),
        **failed(Status.PROCESS_LIMIT, "processes"),
        watch=Weaker(NO_FORK_COUNT, {"status": Status.ERROR, "limits_hit": ()}),
    ),
    python(
        "processes-survived",
        "import os,time\nprint('in')\ntry:\n  while True:\n   os.fork() or time.sleep(9)\nexcept OSError: print('out')",
        limits={"processes": 8},
        stdout="in\nout\n",
        limits_hit=("processes",),
        watch=Weaker(NO_FORK_COUNT, {"limits_hit": ()}),
    ),
    python(
        "one-process",
        "import os\ntry: os.fork()\nexcept OSError: print('no')",
        limits={"processes": 1},
        stdout="no\n",
        limits_hit=("processes",),
        watch=Weaker(NO_FORK_COUNT, {"limits_hit": ()}),
    ),
    python(
        "all-the-processes-it-may",
        "import os, time\nfor _ in range(7):\n    if os.fork() == 0: time.sleep(9)\nprint('in')",
        limits={"processes": 8},
        **IN,
    ),
)
DISK = (
    python(
        "disk",
        f"print('in')\n{FULL}",
        limits={"disk_bytes": MIB},
        **IN,
        stderr=re.compile("OSError: .*(No space left on device|File too large)"),
        **failed(Status.DISK_LIMIT, "disk"),
    ),
    bash(
        "disk",
        "echo in; cat /dev/zero > x",
        limits={"disk_bytes": MIB},
        **IN,
        stderr=None,
        status=Status.DISK_LIMIT,
        exit_code=153,
        limits_hit=("disk",),
    ),
    python(
        "disk-in-two-files",
        "print('in')\nfor n in '12': open(n, 'wb').write(bytes(700 << 10))",
        limits={"disk_bytes": MIB},
        **IN,
        stderr=re.compile("No space left"),
        **failed(Status.DISK_LIMIT, "disk"),
    ),
    python(
        "disk-survived",
        f"try:\n {FULL.replace(chr(10), chr(10) + ' ')}\nexcept OSError: print('out')",
        limits={"disk_bytes": MIB},
        stdout="out\n",
        limits_hit=("disk",),
    ),
    python(
        "inodes", FILES, limits={"inodes": 16}, stderr=re.compile("No space left"), **failed(Status.DISK_LIMIT, "disk")
    ),
    bash(
        "inodes",
        "for n in {1..99}; do : > $n || exit 3; done",
        limits={"inodes": 16},
        stderr=re.compile("No space left"),
        **failed(Status.DISK_LIMIT, "disk", code=3),
    ),
    python(
        "disk-freed-again-leaves-no-trace",
        f"import os\ntry:\n {FULL.replace(chr(10), chr(10) + ' ')}\nexcept OSError: os.unlink('x'); 1/0",
        limits={"disk_bytes": MIB},
        stderr=None,
        **error(),
    ),
    python(
        "open-files",
        "x = [open('/dev/null') for _ in range(99)]",
        limits={"open_files": 32},
        stderr=re.compile("Too many open files"),
        **error(),
    ),
)
OUTPUT = (
    python("output-cut", "print('x' * 50)", limits={"output_bytes": 10}, stdout="x" * 10, limits_hit=("output",)),
    python("output-that-just-fits", "print('x' * 9)", limits={"output_bytes": 10}, stdout="x" * 9 + "\n"),
    python(
        "output-kill",
        "while True: print('x' * 99)",
        limits={"output_bytes": 10},
        options={"on_output_limit": OnOutputLimit.KILL},
        stdout="x" * 10,
        **ended(Status.OUTPUT_LIMIT, "output"),
    ),
    bash(
        "output-kill",
        "yes >&2",
        limits={"output_bytes": 10},
        options={"on_output_limit": OnOutputLimit.KILL},
        stderr="y\n" * 5,
        **ended(Status.OUTPUT_LIMIT, "output"),
    ),
    python(
        "output-kill-not-reached",
        "print('x' * 9)",
        limits={"output_bytes": 10},
        options={"on_output_limit": OnOutputLimit.KILL},
        stdout="x" * 9 + "\n",
    ),
)


@pytest.mark.parametrize("case", [*ORDINARY, *SIGNALS, *TIME, *MEMORY, *PROCESSES, *DISK, *OUTPUT], ids=str)
def test_a_run_ends_as_the_contract_says(runner: Runner, case: Case) -> None:
    """Each ending has its own verdict, and what was printed before it is there."""
    case.check(runner.run(case.job))


def test_every_exit_code_is_told(runner: Runner) -> None:
    """All 256 of them, by children of one run, and 0, 1, 2, 126, 127, 128, 254 and 255 by runs of their own."""
    told = runner.run(Job(code='for n in {0..255}; do (exit $n); echo -n "$? "; done', language="bash"))
    assert told.stdout == "".join(f"{number} " for number in range(256))
    for number in (0, 1, 2, 126, 127, 128, 254, 255):
        for job in (Job(code=f"import sys; sys.exit({number})"), Job(code=f"exit {number}", language="bash")):
            result = runner.run(job)
            assert (result.status, result.exit_code) == (Status.ERROR if number else Status.OK, number)


def test_both_deadlines_due_is_a_timeout(runner: Runner) -> None:
    """Wall time comes first where CPU time ran out with it, and both are named."""
    job = Job(code=SPIN, limits=Limits(wall_seconds=0.4, cpu_seconds=0.4))
    result = runner.run(job)
    assert result.status is Status.TIMEOUT  # one thread cannot spend its CPU time before the wall time is up
    assert result.limits_hit in (("wall",), ("wall", "cpu"))


@pytest.mark.parametrize("language", ["python", "bash"])
def test_a_cancelled_run_keeps_what_it_printed(runner: Runner, language: str) -> None:
    """Its end comes at once and not with its wall time."""
    code = {
        "python": "import time\nprint('in')\nprint('e' * 9, end='')\ntime.sleep(60)",
        "bash": "echo in; echo -n eeeeeeeee; sleep 60",
    }
    for delay in DELAYS:
        running = Running(runner, Job(code=code[language], language=language))
        time.sleep(delay)
        start = time.monotonic()
        running.cancel.set()
        result = running.result()
        assert time.monotonic() - start < 5 * PACE
        assert (result.status, result.exit_code, result.signal) == (Status.CANCELLED, None, "SIGKILL")
        assert result.limits_hit == ()
        if result.stdout == "in\neeeeeeeee":
            return
        assert result.stdout in ("", "in\n")  # cancelled too early on a slow machine
    pytest.fail("what was printed was never kept")


def test_a_run_cancelled_before_it_starts_is_cancelled(box: Sandbox) -> None:
    """A wish that is there already ends the run as soon as it could begin."""
    cancel = Cancel()
    cancel.set()
    start = time.monotonic()
    result = box.run(Job(code="import time; time.sleep(60)"), cancel=cancel)
    assert time.monotonic() - start < 2
    assert (result.status, result.exit_code, result.signal) == (Status.CANCELLED, None, "SIGKILL")


def test_a_cancel_after_the_end_changes_nothing(box: Sandbox) -> None:
    """The verdict stands, and the next run with a wish of its own is not ended by it."""
    cancel = Cancel()
    assert box.run(Job(code="print(1)"), cancel=cancel).status is Status.OK
    cancel.set()
    assert box.run(Job(code="print(1)"), cancel=Cancel()).status is Status.OK
