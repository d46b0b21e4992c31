"""The verdict: which status wins, which limits are named, and what is left of a cut stream."""

from __future__ import annotations

import itertools
import signal
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from plans import PLAN, reading

from sandbox.collect import judge
from sandbox.model import Cause, Exit, Launcher, Result, Status, Stream

NOTHING = Stream(head=b"", tail=b"", total_bytes=0)
CUT = Stream(head=b"x", tail=b"", total_bytes=9)
END = Exit(
    wait_status=0,
    cause=None,
    also_due=frozenset(),
    started=100.0,
    wall_seconds=1.0,
    stdout=NOTHING,
    stderr=NOTHING,
    reading=reading(),
    max_rss_bytes=1 << 20,
    disk_full=False,
    files=(),
    files_skipped=(),
    layers=("user", "cgroup:v2"),
    launcher=Launcher.COLD,
)
EXIT_3 = 3 << 8
KILLED = int(signal.SIGKILL)
SEGFAULT = int(signal.SIGSEGV) | 0x80  # with a core
OOM = {"reading": reading(oom_kills=1)}
FORKS = {"reading": reading(forks_refused=1)}
FULL = {"disk_full": True}
BY_US = {"wait_status": KILLED}
BOTH = ("wall", "cpu")
EVERY = ("memory", "processes", "disk", "output")
ALL = {"reading": reading(oom_kills=1, forks_refused=1), "disk_full": True, "stdout": CUT}


def judged(**facts: Any) -> Result:
    """Judge a run of which these facts are known."""
    return judge(replace(END, **facts), PLAN)


@pytest.mark.parametrize(
    ("facts", "status", "exit_code", "death", "hits"),
    [
        # ended by itself
        ({}, Status.OK, 0, None, ()),
        ({"wait_status": EXIT_3}, Status.ERROR, 3, None, ()),
        ({"wait_status": 255 << 8}, Status.ERROR, 255, None, ()),
        ({"wait_status": SEGFAULT}, Status.SIGNALED, None, "SIGSEGV", ()),
        ({"wait_status": KILLED}, Status.SIGNALED, None, "SIGKILL", ()),
        ({"wait_status": 40}, Status.SIGNALED, None, "SIGRTMIN+6", ()),
        ({"wait_status": 33}, Status.SIGNALED, None, "SIG33", ()),
        # a limit that was hit is named, and explains a failure but not a success
        (OOM, Status.OK, 0, None, ("memory",)),
        (FORKS, Status.OK, 0, None, ("processes",)),
        (FULL, Status.OK, 0, None, ("disk",)),
        ({"stdout": CUT}, Status.OK, 0, None, ("output",)),
        ({"stderr": CUT}, Status.OK, 0, None, ("output",)),
        ({**OOM, "wait_status": KILLED}, Status.MEMORY_LIMIT, None, "SIGKILL", ("memory",)),
        ({**OOM, "wait_status": EXIT_3}, Status.MEMORY_LIMIT, 3, None, ("memory",)),
        ({**FORKS, "wait_status": EXIT_3}, Status.PROCESS_LIMIT, 3, None, ("processes",)),
        ({**FULL, "wait_status": EXIT_3}, Status.DISK_LIMIT, 3, None, ("disk",)),
        ({"stdout": CUT, "wait_status": EXIT_3}, Status.ERROR, 3, None, ("output",)),
        # memory before processes before disk
        ({**ALL, "wait_status": EXIT_3}, Status.MEMORY_LIMIT, 3, None, EVERY),
        ({**FORKS, **FULL, "wait_status": EXIT_3}, Status.PROCESS_LIMIT, 3, None, ("processes", "disk")),
        # ended by us: the cause is the status, whatever else was hit and however the guest then went
        ({"wait_status": KILLED, "cause": Cause.WALL}, Status.TIMEOUT, None, "SIGKILL", ("wall",)),
        ({"wait_status": KILLED, "cause": Cause.CPU}, Status.CPU_LIMIT, None, "SIGKILL", ("cpu",)),
        ({"wait_status": KILLED, "cause": Cause.MEMORY}, Status.MEMORY_LIMIT, None, "SIGKILL", ("memory",)),
        ({"wait_status": KILLED, "cause": Cause.PROCESSES}, Status.PROCESS_LIMIT, None, "SIGKILL", ("processes",)),
        ({"wait_status": KILLED, "cause": Cause.OUTPUT}, Status.OUTPUT_LIMIT, None, "SIGKILL", ("output",)),
        ({"wait_status": KILLED, "cause": Cause.CANCELLED}, Status.CANCELLED, None, "SIGKILL", ()),
        ({"wait_status": 0, "cause": Cause.WALL}, Status.TIMEOUT, None, None, ("wall",)),
        ({"wait_status": EXIT_3, "cause": Cause.CANCELLED}, Status.CANCELLED, None, None, ()),
        ({"wait_status": None, "cause": Cause.WALL}, Status.TIMEOUT, None, "SIGKILL", ("wall",)),
        ({**ALL, "wait_status": KILLED, "cause": Cause.CANCELLED}, Status.CANCELLED, None, "SIGKILL", EVERY),
        # both deadlines due is a timeout, whichever was seen first
        ({**BY_US, "cause": Cause.CPU, "also_due": {Cause.WALL}}, Status.TIMEOUT, None, "SIGKILL", BOTH),
        ({**BY_US, "cause": Cause.WALL, "also_due": {Cause.CPU}}, Status.TIMEOUT, None, "SIGKILL", BOTH),
        ({**BY_US, "cause": Cause.CPU, "also_due": {Cause.CPU}}, Status.CPU_LIMIT, None, "SIGKILL", ("cpu",)),
        # a deadline that passed while something else ended the run is named and changes nothing
        ({**BY_US, "cause": Cause.CANCELLED, "also_due": {Cause.WALL}}, Status.CANCELLED, None, "SIGKILL", ("wall",)),
        ({"wait_status": 0, "also_due": {Cause.CPU}}, Status.OK, 0, None, ("cpu",)),
    ],
)  # fmt: skip
def test_the_facts_decide(
    facts: dict[str, Any], status: Status, exit_code: int | None, death: str | None, hits: tuple[str, ...]
) -> None:
    """Each line is one run, and the one thing that may be said of it."""
    result = judged(**facts)
    assert (result.status, result.exit_code, result.signal, result.limits_hit) == (status, exit_code, death, hits)


@pytest.mark.parametrize(
    ("facts", "hit"),
    [
        ({"wait_status": EXIT_3, "max_rss_bytes": PLAN.limits.memory_bytes}, True),
        ({"wait_status": EXIT_3, "max_rss_bytes": int(PLAN.limits.memory_bytes * 0.96)}, True),
        ({"wait_status": EXIT_3, "max_rss_bytes": int(PLAN.limits.memory_bytes * 0.94)}, False),
        ({"wait_status": 0, "max_rss_bytes": PLAN.limits.memory_bytes}, False),
        ({"wait_status": EXIT_3, "max_rss_bytes": PLAN.limits.memory_bytes, "layers": ("cgroup:v1",)}, False),
    ],
)
def test_under_a_watch_nearly_all_memory_and_a_failure_is_a_hit(facts: dict[str, Any], hit: bool) -> None:  # noqa: FBT001 - a parameter
    """RLIMIT_DATA leaves no other trace; where a cgroup counts, only its count does."""
    result = judged(**{"layers": ("watch",), **facts})
    assert (result.limits_hit == ("memory",)) is hit
    assert (result.status is Status.MEMORY_LIMIT) is hit


def test_every_cause_has_a_verdict_whatever_the_rest() -> None:
    """Nothing raises, and no combination is a success that was ended or a failure that is called ok."""
    statuses = (None, 0, EXIT_3, KILLED, SEGFAULT)
    causes = (None, *Cause)
    limits = ({}, OOM, FORKS, FULL, ALL)
    for wait_status, cause, more in itertools.product(statuses, causes, limits):
        result = judged(wait_status=wait_status, cause=cause, **more)
        assert (result.status is Status.OK) == (wait_status == 0 and cause is None)
        assert result.status is not Status.BLOCKED
        assert (result.exit_code is None) or (cause is None)
        assert result.exit_code is None or result.signal is None


def test_usage_falls_back_where_the_kernel_keeps_no_peak() -> None:
    """What the last look and the main process's own account say is a lower bound, and better than nothing."""
    usage = judged(reading=reading(cpu_seconds=0.5, peak_memory_bytes=7 << 20, peak_processes=3)).usage
    assert (usage.cpu_seconds, usage.peak_memory_bytes, usage.peak_processes) == (0.5, 7 << 20, 3)
    usage = judged(reading=reading(memory_bytes=1, processes=0)).usage
    assert (usage.wall_seconds, usage.peak_memory_bytes, usage.peak_processes, usage.queue_seconds) == (
        1.0,
        1 << 20,
        1,
        0.0,
    )


def stream(data: bytes, head: int, tail: int) -> Stream:
    """Keep what a stream of that limit would keep."""
    kept = data[:head]
    return Stream(head=kept, tail=data[max(head, len(data) - tail) :] if tail else b"", total_bytes=len(data))


PIECES = st.one_of(
    st.text(alphabet="aé€😀\0\n", min_size=1).map(str.encode),
    st.binary(max_size=6),
    st.sampled_from(
        [b"\x80" * 5, b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf", b"\xff", b"\xf4\x90\x80\x80"]
    ),
)


@given(st.lists(PIECES, max_size=8).map(b"".join), st.integers(0, 12), st.integers(0, 12))
@example("😀".encode(), 1, 0)
@example(b"\xe2\x80\x80\x80\x80", 0, 4)
@example("é".encode() * 3, 1, 3)
def test_what_is_kept_is_the_true_texts_beginning_and_end(data: bytes, head: int, tail: int) -> None:
    """Decoded, head and tail are a prefix and a suffix of the whole decoded, valid or not; a cut invents nothing."""
    whole = data.decode("utf-8", "replace")
    kept = stream(data, head, tail)
    text = judged(stdout=kept).stdout
    if not kept.truncated:
        assert text == whole
        return
    assert any(whole.startswith(text[:cut]) and whole.endswith(text[cut:]) for cut in range(len(text) + 1))
    if not tail:
        assert whole.startswith(text)
    if not head:
        assert whole.endswith(text)


@given(st.text(max_size=20), st.integers(0, 80))
def test_a_cut_costs_at_most_one_character(text: str, limit: int) -> None:
    """Of valid text all whole characters within the limit are there."""
    data = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()
    kept = judged(stdout=stream(data, limit, 0)).stdout
    assert kept.encode() == data[:limit].decode(errors="ignore").encode()
    assert min(limit, len(data)) - len(kept.encode()) < 4
