"""Supervision of a scripted child: what no real guest can be made to do at a chosen moment."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from plans import PLAN, reading

from sandbox import waiting
from sandbox.errors import SetupError
from sandbox.guest import wire
from sandbox.meter import Reading
from sandbox.model import Cause, Child, Launcher, OnOutputLimit, OutputKeep, Plan
from sandbox.starter import readable
from sandbox.supervise import Cancel, _Kept, _Watchman, supervise


class Numbers:
    """A meter that reads what it is told to."""

    kind = "cgroup:v2"
    poll_seconds: float | None = None

    def __init__(self) -> None:
        self.now = reading()

    def doors(self) -> tuple[FileIO, ...]:
        """Give nothing."""
        return ()

    def add(self, pid: int) -> None:
        """Do nothing."""

    def read(self) -> Reading:
        """Look."""
        return self.now

    def kill(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


@dataclass
class Stage:
    """A child and the other ends of what it holds."""

    child: Child
    init: socket.socket
    stdout: FileIO
    stderr: FileIO
    stdin: FileIO
    meter: Numbers

    def say(self, *messages: dict[str, Any]) -> None:
        """Speak as init does."""
        self.init.sendall(b"".join(map(wire.encode, messages)))


OVER = {"over": {"status": 0, "cpu_seconds": 0.0, "max_rss_bytes": 0}}
DONE = {"done": {"skipped": [], "disk_full": False}}


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Give a child whose main process is one of ours that sleeps."""
    with ExitStack() as scope:
        near, far = socket.socketpair()
        scope.enter_context(near)
        scope.enter_context(far)
        near.settimeout(0)
        ends = {}
        for name in ("stdin", "stdout", "stderr"):
            reader, writer = (scope.enter_context(FileIO(fd, mode)) for fd, mode in zip(os.pipe(), "rw", strict=True))
            ends[name] = (writer, reader) if name == "stdin" else (reader, writer)
            os.set_blocking(ends[name][0].fileno(), False)
        pid = os.posix_spawn("/bin/sleep", ["sleep", "60"], {})
        guest = os.pidfd_open(pid)
        scope.callback(os.waitpid, pid, 0)
        scope.callback(os.kill, pid, 9)
        scope.callback(os.close, guest)
        meter = Numbers()
        child = Child(
            control=near,
            messages=wire.Reader(1 << 20),
            said=(),
            guest=guest,
            stdin=ends["stdin"][0],
            stdout=ends["stdout"][0],
            stderr=ends["stderr"][0],
            started=time.monotonic(),
            meter=meter,
            layers=(),
            launcher=Launcher.COLD,
        )
        yield Stage(child, far, ends["stdout"][1], ends["stderr"][1], ends["stdin"][1], meter)


def test_output_and_the_end_may_be_seen_in_one_look(stage: Stage) -> None:
    """Whatever order the kernel lists them in: nothing that was written before the end is lost, and nothing breaks."""
    stage.stdout.write(b"out")
    stage.stderr.write(b"err")
    stage.say(OVER, DONE)
    end = supervise(stage.child, PLAN)
    assert (end.stdout.head, end.stderr.head, end.wait_status, end.cause) == (b"out", b"err", 0, None)


@pytest.mark.parametrize(("poll_seconds", "seconds"), [(None, 0.1), (0.05, 0.7)], ids=["counted", "watched"])
def test_what_was_spent_since_a_watchs_last_look_is_counted(
    stage: Stage, poll_seconds: float | None, seconds: float
) -> None:
    """The main process's own account stands in for what nobody saw; a kernel that counts is believed alone."""
    stage.meter.poll_seconds = poll_seconds
    stage.meter.now = reading(cpu_seconds=0.1)
    stage.say({"over": {"status": 0, "cpu_seconds": 0.7, "max_rss_bytes": 0}}, DONE)
    assert supervise(stage.child, PLAN).reading.cpu_seconds == seconds


def test_what_is_written_after_the_end_is_not_awaited(stage: Stage) -> None:
    """A descendant that holds the other end of the pipe delays nothing."""
    stage.say(OVER, DONE)
    end = supervise(stage.child, PLAN)
    assert not stage.stdout.closed
    assert end.wall_seconds < 1


@pytest.mark.parametrize(
    "messages",
    [
        [DONE],
        [OVER, OVER],
        [{"file": {"path": "x", "content": b""}}],
        [OVER, {"file": {"path": "x"}}],
        [OVER, {"file": {"path": "x", "content": bytes(PLAN.files_out_bytes + 1)}}],
        [OVER, *[{"file": {"path": "x", "content": b""}}] * (PLAN.files_out + 1)],
        [OVER, {"done": {"skipped": [["x", "no such reason"]], "disk_full": False}}],
        [OVER, {"done": {"skipped": [["x"]], "disk_full": False}}],
        [{"over": {"status": "nothing", "cpu_seconds": 0, "max_rss_bytes": 0}}],
        [{"over": {"status": 1 << 40, "cpu_seconds": 0, "max_rss_bytes": 0}}],
        [{"over": {"status": 0, "cpu_seconds": float("nan"), "max_rss_bytes": 0}}],
        [{"over": {"status": 0, "cpu_seconds": 0, "max_rss_bytes": float("inf")}}],
        [{"failed": {"step": "x", "errno": 1 << 40, "detail": ""}}],
        [{"failed": None}],
        [{"ready": {}}],
        [{}],
        [{"over": 1, "done": 2}],
        [[]],
        [None],
        [7],
    ],
    ids=repr,
)
def test_an_init_that_speaks_nonsense_is_our_failure(stage: Stage, messages: list[Any]) -> None:
    """Never a verdict on the guest, and never an exception of another kind."""
    stage.say(*messages)
    with pytest.raises(SetupError):
        supervise(stage.child, PLAN)


def test_bytes_that_are_no_message_are_our_failure(stage: Stage) -> None:
    """A length that nothing we send has ends the run at once."""
    stage.init.sendall(b"\xff\xff\xff\xff")
    with pytest.raises(SetupError):
        supervise(stage.child, PLAN)


def test_a_failed_step_is_told_by_its_name(stage: Stage) -> None:
    """What init says it could not do is what the caller reads."""
    stage.say({"failed": {"step": "guest: exec", "errno": 2, "detail": "bash"}})
    with pytest.raises(SetupError, match="guest: exec: No such file or directory: bash"):
        supervise(stage.child, PLAN)


def test_a_guest_that_we_ended_before_it_had_begun_has_our_cause(stage: Stage) -> None:
    """Init misses it, and says so; but who ended it is no mystery, and no failure of ours."""
    plan = _limited(wall_seconds=0.05)
    failed = {"failed": {"step": "init: the guest has begun", "errno": 104, "detail": ""}}
    with ThreadPoolExecutor(1) as other:
        under_way = other.submit(supervise, stage.child, plan)
        os.waitid(os.P_PIDFD, stage.child.guest, os.WEXITED | os.WNOWAIT)
        stage.say(failed)
        assert (under_way.result().cause, under_way.result().wait_status) == (Cause.WALL, None)


def test_an_init_that_is_gone_is_our_failure(stage: Stage) -> None:
    """Before the guest's end nothing is known of the run, after it not all."""
    stage.init.close()
    with pytest.raises(SetupError, match="without an account"):
        supervise(stage.child, PLAN)


def test_an_init_that_goes_after_the_end_is_our_failure(stage: Stage) -> None:
    """A verdict without the account of the workspace would be half of one."""
    stage.say(OVER)
    stage.init.close()
    with pytest.raises(SetupError, match="without an account"):
        supervise(stage.child, PLAN)


def _limited(**limits: Any) -> Plan:
    return replace(PLAN, limits=replace(PLAN.limits, **limits))


@pytest.mark.parametrize(
    ("plan", "cause"),
    [
        (_limited(wall_seconds=0.05), Cause.WALL),
        (_limited(cpu_seconds=0.01), Cause.CPU),
    ],
    ids=["wall", "cpu"],
)
def test_a_deadline_kills_the_main_process(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, plan: Plan, cause: Cause
) -> None:
    """If init then says nothing either, the run is given up after a grace, with its cause."""
    monkeypatch.setattr("sandbox.supervise._KILL_GRACE_SECONDS", 0.05)
    stage.meter.now = reading(cpu_seconds=1.0)
    end = supervise(stage.child, plan)
    assert end.cause is cause
    assert end.wait_status is None
    assert os.waitid(os.P_PIDFD, stage.child.guest, os.WEXITED | os.WNOWAIT).si_status == 9  # type: ignore[union-attr]


@pytest.mark.parametrize(("field", "cause"), [("memory_bytes", Cause.MEMORY), ("processes", Cause.PROCESSES)])
def test_a_meter_that_only_looks_is_asked_again_and_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, field: str, cause: Cause
) -> None:
    """What it sees above a bound ends the run; what it sees at the bound does not."""
    monkeypatch.setattr("sandbox.supervise._KILL_GRACE_SECONDS", 0.05)
    stage.meter.poll_seconds = 0.01
    bound = getattr(PLAN.limits, field)
    looks = iter([bound, bound, bound + 1])
    monkeypatch.setattr(stage.meter, "read", lambda: reading(**{field: next(looks, bound + 1)}))
    assert supervise(stage.child, PLAN).cause is cause


def test_slow_looks_leave_time_for_the_rest(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where looking takes longer than the pause between looks, output is still read: half of the time is not looked."""
    monkeypatch.setattr("sandbox.supervise._KILL_GRACE_SECONDS", 0.05)
    stage.meter.poll_seconds = 0.01
    spans = []

    def slowly() -> Reading:
        began = time.monotonic()
        time.sleep(0.05)
        spans.append((began, time.monotonic()))
        return reading()

    monkeypatch.setattr(stage.meter, "read", slowly)
    supervise(stage.child, _limited(wall_seconds=0.5))
    pauses = [later[0] - earlier[1] for earlier, later in itertools.pairwise(spans[:-2])]
    assert len(pauses) >= 2
    assert min(pauses) >= 0.04


def test_a_run_whose_connections_hold_too_much_is_ended(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a control group counts memory, what waits unaccepted is looked at besides, in the run's own network."""
    pids = []

    def unaccepted(pid: int, most_bytes: int) -> int:
        pids.append(pid)
        return most_bytes + (len(pids) > 1)

    monkeypatch.setattr("sandbox.confine.connections.unaccepted_bytes", unaccepted)
    monkeypatch.setattr("sandbox.supervise._CONNECTIONS_SECONDS", 0.01)
    monkeypatch.setattr("sandbox.supervise._KILL_GRACE_SECONDS", 0.05)
    end = supervise(stage.child, replace(PLAN, limits=replace(PLAN.limits, wall_seconds=5)))
    assert end.cause is Cause.MEMORY
    assert pids == [waiting.pid_of(stage.child.guest)] * 2


def test_a_watch_that_reads_too_much_does_not_end_a_run_early(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more CPU time can be spent than the run has lasted, times its processors: then, and not before, it is over."""
    monkeypatch.setattr("sandbox.supervise._KILL_GRACE_SECONDS", 0.05)
    stage.meter.poll_seconds = 0.01
    stage.meter.now = reading(cpu_seconds=9.0)
    end = supervise(stage.child, replace(_limited(cpu_seconds=0.4), cpu_rate=2.0))
    assert end.cause is Cause.CPU
    assert 0.2 <= end.wall_seconds < 0.4


def test_a_flood_ends_a_run_that_may_write_what_it_likes(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's own ceiling counts both streams together."""
    monkeypatch.setattr("sandbox.supervise._KILL_GRACE_SECONDS", 0.05)
    stage.stdout.write(bytes(600))
    stage.stderr.write(bytes(600))
    end = supervise(stage.child, replace(_limited(output_bytes=10), flood_bytes=1000))
    assert end.cause is Cause.OUTPUT
    assert end.stdout.total_bytes + end.stderr.total_bytes == 1200


def test_who_writes_byte_by_byte_is_not_read_byte_by_byte(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading costs us about what writing costs the guest; so after a while we wait for more to come together."""
    reads = []
    real = _Watchman._read
    monkeypatch.setattr(
        _Watchman, "_read", lambda self, stream, most: (reads.append(most), real(self, stream, most))[1]
    )
    monkeypatch.setattr("sandbox.supervise._KILL_GRACE_SECONDS", 0.05)
    code = "import os\nfor _ in range(50_000): os.write(1, b'x')"
    with subprocess.Popen([sys.executable, "-c", code], stdout=stage.stdout):
        end = supervise(stage.child, _limited(wall_seconds=2.0))
    assert end.stdout.total_bytes == 50_000
    assert len(reads) < 5_000


def test_a_kill_on_output_keeps_the_first_bytes(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte over the limit of one stream is enough, and a stream at its limit is not."""
    monkeypatch.setattr("sandbox.supervise._KILL_GRACE_SECONDS", 0.05)
    stage.stdout.write(b"0123456789")
    stage.stderr.write(b"0123456789x")
    end = supervise(stage.child, replace(_limited(output_bytes=10), on_output_limit=OnOutputLimit.KILL))
    assert end.cause is Cause.OUTPUT
    assert (end.stdout.truncated, end.stderr.truncated) == (False, True)
    assert end.stderr.head == b"0123456789"


def test_a_cancel_said_twice_is_one(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said before the run it ends it as soon as it could begin."""
    monkeypatch.setattr("sandbox.supervise._KILL_GRACE_SECONDS", 0.05)
    cancel = Cancel()
    cancel.set()
    cancel.set()
    assert cancel.is_set()
    assert supervise(stage.child, PLAN, cancel).cause is Cause.CANCELLED


def test_a_cancel_holds_a_descriptor_only_while_a_run_listens(stage: Stage) -> None:
    """However many wait for their turn; one wish reaches all that listen, and whoever does later."""

    def held() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = held()
    wishes = [Cancel() for _ in range(100)]
    assert held() == before
    stage.say(OVER, DONE)
    supervise(stage.child, PLAN, wishes[0])
    assert held() <= before
    with wishes[0].listening() as one, wishes[0].listening() as other:
        assert not readable(one, 0)
        wishes[0].set()
        assert readable(one, 0)
        assert readable(other, 0)
        with wishes[0].listening() as later:
            assert readable(later, 0)
    assert held() <= before


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 7, 10, 11, 12, 100])
@pytest.mark.parametrize("chunk", [1, 3, 5, 11, 50])
@pytest.mark.parametrize("keep", list(OutputKeep))
def test_what_is_kept_does_not_depend_on_how_it_came(limit: int, chunk: int, keep: OutputKeep) -> None:
    """Head and tail are the true first and last bytes, however the stream was cut into reads."""
    data = bytes(range(11)) * 3
    kept = _Kept(limit, keep)
    for at in range(0, len(data), chunk):
        kept.take(data[at : at + chunk])
    stream = kept.stream()
    head = limit if keep is OutputKeep.HEAD else limit - limit // 2
    tail = min(limit - head, max(0, len(data) - head))
    assert stream.head == data[:head]
    assert stream.tail == data[len(data) - tail :]
    assert stream.total_bytes == len(data)
    assert stream.truncated == (len(data) > limit)


def test_keeping_costs_constant_memory() -> None:
    """The tail never grows beyond twice what it keeps and the read that came last."""
    kept = _Kept(1000, OutputKeep.HEAD_TAIL)
    for _ in range(1000):
        kept.take(bytes(700))
        assert len(kept._head) + len(kept._tail) <= 500 + 1000 + 700
