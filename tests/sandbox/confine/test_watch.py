"""The watch over a process tree, on real processes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from sandbox.confine.watch import Watch
from sandbox.errors import SetupError
from sandbox.meter import MeterLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MIB = 1 << 20
LIMITS = MeterLimits(memory_bytes=1024 * MIB, processes=32, cpus=1.0)

SPIN = """
import os, time
def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""
SERVE = """
import os
guest = os.fork()
if guest:
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    print("init over", flush=True)
    input()
    os._exit(0)
"""


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Give a starter of Python code that waits for a line first; what it starts does not outlive the test."""
    started: list[subprocess.Popen[str]] = []

    def starter(code: str, *before: str) -> subprocess.Popen[str]:
        argv = [*before, sys.executable, "-I", "-S", "-c", code]
        started.append(subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield starter
    for process in started:
        for descendant in _descendants(process.pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                descendant.kill()
        process.kill()
        process.communicate()


def _descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _guest_of(process: subprocess.Popen[str]) -> int:
    """Wait for the tree unshare -> init -> guest and return the guest's pid."""
    for _ in range(400):
        tree = _descendants(process.pid)
        if len(tree) == 2:
            return tree[1].pid
        time.sleep(0.005)
    pytest.fail("the guest did not come")


def test_the_time_of_children_that_were_waited_for_is_counted_once(start: Callable[..., subprocess.Popen[str]]) -> None:
    """It moves from the child's account to the parent's; the sum over looks neither loses nor doubles it."""
    process = start(
        SPIN + "input()\nfor _ in range(3):\n    if os.fork() == 0: spin(0.1); os._exit(0)\n    os.wait()\n"
        "print('done', flush=True); input()"
    )
    watch = Watch(LIMITS)
    watch.add(process.pid)
    _go(process)
    for _ in range(12):
        watch.read()
        time.sleep(0.02)
    assert _line(process) == "done"
    assert 0.24 <= watch.read().cpu_seconds <= 0.45
    watch.kill()
    process.wait()
    assert 0.24 <= watch.read().cpu_seconds <= 0.45
    assert watch.read().processes == 0


def test_the_time_of_children_that_nobody_waits_for_is_kept(start: Callable[..., subprocess.Popen[str]]) -> None:
    """Who ignores SIGCHLD is never charged with its children; what the watch saw of them stays."""
    process = start(
        SPIN + "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\ninput()\n"
        "if os.fork() == 0: spin(0.2); print('done', flush=True); time.sleep(0.15); os._exit(0)\n"
        "input()"
    )
    watch = Watch(LIMITS)
    watch.add(process.pid)
    _go(process)
    assert _line(process) == "done"
    assert watch.read().processes == 2
    time.sleep(0.2)
    seen = watch.read()
    assert seen.processes == 1
    assert 0.17 <= seen.cpu_seconds <= 0.4


def test_what_was_spent_before_the_watch_is_not_counted(start: Callable[..., subprocess.Popen[str]]) -> None:
    """A warm child has a past of its own."""
    process = start(SPIN + "spin(0.2); print('ready', flush=True); input()")
    assert _line(process) == "ready"
    watch = Watch(LIMITS)
    watch.add(process.pid)
    assert watch.read().cpu_seconds <= 0.03


def test_tasks_and_peaks_are_counted(start: Callable[..., subprocess.Popen[str]]) -> None:
    """A thread is a task; a peak outlives what made it."""
    process = start("""
import os, threading, time
input()
if os.fork() == 0:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    x = bytearray(64 << 20)
    print("up", flush=True)
    time.sleep(60)
os.wait()
print("down", flush=True)
input()
""")
    watch = Watch(LIMITS)
    watch.add(process.pid)
    _go(process)
    assert _line(process) == "up"
    seen = watch.read()
    assert seen.processes == 3
    assert 64 * MIB < seen.memory_bytes < 128 * MIB
    _descendants(process.pid)[0].kill()
    assert _line(process) == "down"
    seen = watch.read()
    assert (seen.processes, seen.peak_processes) == (1, 3)
    assert seen.memory_bytes < 32 * MIB < 64 * MIB < (seen.peak_memory_bytes or 0)


LEADERLESS = """
import ctypes, threading, time
def work():
    x = bytearray(64 << 20)
    time.sleep(0.1)
    print("up", flush=True)
    time.sleep(60)
threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_whose_main_thread_has_ended_is_seen_and_killed(start: Callable[..., subprocess.Popen[str]]) -> None:
    """It looks dead and empty; its other threads hold its memory and go on."""
    process = start(f"import os, time\nif os.fork() == 0:\n    exec({LEADERLESS!r})\ntime.sleep(60)")
    assert _line(process) == "up"
    watch = Watch(LIMITS, root_pid=process.pid)
    child = _descendants(process.pid)[0]
    watch.add(child.pid)
    assert child.status() == psutil.STATUS_ZOMBIE
    assert watch.read().memory_bytes > 64 * MIB
    watch.kill()
    assert (
        watch.read().memory_bytes < MIB
    )  # sockets of this machine may hold a few bytes: the test has no net of its own
    assert child.num_threads() <= 1


def test_what_waits_in_sockets_is_seen(start: Callable[..., subprocess.Popen[str]]) -> None:
    """Of TCP and of UDP, also in connections that nobody has accepted, and in this network namespace alone."""
    process = start(
        """
import fcntl, socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sH22x", b"lo", 0x49))  # SIOCSIFFLAGS: up
listener = socket.create_server(("127.0.0.1", 0), backlog=64)
kept = []
for _ in range(20):
    kept.append(socket.create_connection(listener.getsockname()))
    kept[-1].setblocking(False)
    try:
        while True: kept[-1].send(bytes(1 << 16))
    except BlockingIOError: pass
print("tcp", flush=True)
input()
del kept[:], listener
for _ in range(20):
    kept.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    kept[-1].bind(("127.0.0.1", 0))
    for _ in range(20): s.sendto(bytes(1 << 15), kept[-1].getsockname())
print("udp", flush=True)
time.sleep(60)
""",
        "unshare",
        "-Urn",
    )
    assert _line(process) == "tcp"
    with socket.create_server(("127.0.0.1", 0)):
        watch = Watch(LIMITS)
        watch.add(process.pid)
        resident = psutil.Process(process.pid).memory_info().rss
        assert watch.read().memory_bytes > resident + 3 * MIB
        _go(process)
        assert _line(process) == "udp"
        assert watch.read().memory_bytes > resident + 2 * MIB


def test_pages_shared_after_a_fork_are_no_reason_to_be_over_the_bound(
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    """Four processes that share 48 MiB are under a bound of 100 MiB, as they would be in a cgroup."""
    process = start("""
import os, time
x = bytearray(48 << 20)
for _ in range(3):
    if os.fork() == 0:
        time.sleep(60)
print("up", flush=True)
time.sleep(60)
""")
    assert _line(process) == "up"
    tight, roomy = Watch(MeterLimits(memory_bytes=100 * MIB, processes=9, cpus=1.0)), Watch(LIMITS)
    for watch in (tight, roomy):
        watch.add(process.pid)
    assert tight.read().memory_bytes < 100 * MIB
    assert roomy.read().memory_bytes > 4 * 48 * MIB


def test_a_tree_with_an_init_is_watched_from_it_and_without_it(start: Callable[..., subprocess.Popen[str]]) -> None:
    """A double-forked process goes to the init, yet is counted and killed; the init itself is neither."""
    process = start(
        SERVE
        + """
input()
if os.fork() == 0:
    if os.fork() == 0:
        import time
        print("up", flush=True)
        time.sleep(60)
    os._exit(0)
os._exit(0)
""",
        "unshare",
        "-Urpf",
        "--kill-child",
    )
    watch = Watch(LIMITS)
    watch.add(_guest_of(process))
    _go(process)
    assert _line(process) == "up"
    for _ in range(100):
        if watch.read().processes == 1:
            break
        time.sleep(0.005)
    assert watch.read().processes == 1
    watch.kill()
    assert _line(process) == "init over"
    assert watch.read().processes == 0
    _go(process)
    assert process.wait(timeout=10) == 0
    watch.close()


def test_a_root_can_be_named(start: Callable[..., subprocess.Popen[str]]) -> None:
    """Then it is the one that is left out, whatever it is."""
    process = start("import os\nif os.fork() == 0: input()\nelse: print('up', flush=True); os.wait()")
    assert _line(process) == "up"
    watch = Watch(LIMITS, root_pid=process.pid)
    watch.add(_descendants(process.pid)[0].pid)
    assert watch.read().processes == 1
    watch.kill()
    assert process.wait(timeout=10) == 0


def test_a_tree_that_forks_faster_than_it_is_listed_dies_with_its_init(
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    """Every process forks and leaves at once; the kernel ends the whole pid namespace."""
    process = start(SERVE + "input()\nwhile True:\n    if os.fork(): os._exit(0)\n", "unshare", "-Urpf", "--kill-child")
    watch = Watch(LIMITS)
    watch.add(_guest_of(process))
    _go(process)
    time.sleep(0.02)
    watch.kill()
    # Caught after all, or ended with its init: then there is no last word.
    assert _line(process) in {"init over", ""}
    assert watch.read().processes == 0


def test_a_pid_that_now_belongs_to_somebody_else_is_not_signalled(
    start: Callable[..., subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start time decides, after the pidfd has been opened."""
    process = start("input()")
    watch = Watch(LIMITS)
    watch.add(process.pid)
    opened: list[int] = []
    real = os.pidfd_open

    def reuse(pid: int, flags: int = 0) -> int:
        opened.append(pid)
        monkeypatch.setattr(psutil.Process, "is_running", lambda _self: False)
        return real(pid, flags)

    monkeypatch.setattr(os, "pidfd_open", reuse)
    watch.kill()
    assert opened == [process.pid]
    assert process.poll() is None
    monkeypatch.undo()
    watch.kill()
    assert process.wait(timeout=10) == -signal.SIGKILL


def test_a_process_that_is_gone_cannot_be_added() -> None:
    """That is a step that failed, with its name."""
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    with pytest.raises(SetupError, match="watch add"):
        Watch(LIMITS).add(gone.pid)
