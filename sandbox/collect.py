"""Exit -> Result: the only place of the engine that decides a Status. Nothing raises: there is always a verdict."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from sandbox.model import Cause, Result, Status, Usage

if TYPE_CHECKING:
    from sandbox.model import Exit, Plan, Stream

_BY_CAUSE = {
    Cause.WALL: Status.TIMEOUT,
    Cause.CPU: Status.CPU_LIMIT,
    Cause.MEMORY: Status.MEMORY_LIMIT,
    Cause.PROCESSES: Status.PROCESS_LIMIT,
    Cause.OUTPUT: Status.OUTPUT_LIMIT,
    Cause.CANCELLED: Status.CANCELLED,
}
_NEAR = 0.95  # a process that touched this share of its memory and died under RLIMIT_DATA alone died of it


def judge(end: Exit, plan: Plan, *, spawn_seconds: float = 0.0) -> Result:
    """Give the verdict; the order of the questions is the order of precedence."""
    hits = _limits_hit(end, plan)
    stdout, stderr = _text(end.stdout), _text(end.stderr)
    exit_code, death = _ending(end)
    return Result(
        status=_status(end, hits),
        exit_code=exit_code,
        signal=death,
        stdout=stdout,
        stderr=stderr,
        stdout_bytes=end.stdout.total_bytes,
        stderr_bytes=end.stderr.total_bytes,
        stdout_truncated=end.stdout.truncated,
        stderr_truncated=end.stderr.truncated,
        files=end.files,
        files_skipped=end.files_skipped,
        usage=Usage(
            wall_seconds=end.wall_seconds,
            cpu_seconds=end.reading.cpu_seconds,
            peak_memory_bytes=end.reading.peak_memory_bytes or max(end.reading.memory_bytes, end.max_rss_bytes),
            peak_processes=end.reading.peak_processes or max(end.reading.processes, 1),
            spawn_seconds=spawn_seconds,
        ),
        limits_hit=tuple(hits),
        launcher=end.launcher,
        runtime=plan.runtime.version,
        layers=end.layers,
    )


def _limits_hit(end: Exit, plan: Plan) -> list[str]:
    """Name each limit of which there is evidence, in the contract's order; ``docs/limits.md`` says what that misses."""
    causes = set(end.also_due)
    if end.cause is not None:
        causes.add(end.cause)
    watched = "watch" in end.layers
    evidence = {
        "wall": Cause.WALL in causes,
        "cpu": Cause.CPU in causes,
        "memory": Cause.MEMORY in causes
        or end.reading.oom_kills > 0
        or (watched and _failed(end) and end.max_rss_bytes >= _NEAR * plan.limits.memory_bytes),
        "processes": Cause.PROCESSES in causes or end.reading.forks_refused > 0,
        "disk": end.disk_full,
        "output": Cause.OUTPUT in causes or end.stdout.truncated or end.stderr.truncated,
    }
    return [name for name, hit in evidence.items() if hit]


def _failed(end: Exit) -> bool:
    return end.wait_status is None or end.wait_status != 0


def _status(end: Exit, hits: list[str]) -> Status:
    if end.cause is not None:
        both = {Cause.WALL, Cause.CPU}
        if end.cause in both and Cause.WALL in end.also_due | {end.cause}:
            return Status.TIMEOUT
        return _BY_CAUSE[end.cause]
    if not _failed(end):
        return Status.OK
    for name, status in (
        ("memory", Status.MEMORY_LIMIT),
        ("processes", Status.PROCESS_LIMIT),
        ("disk", Status.DISK_LIMIT),
    ):
        if name in hits:
            return status
    return Status.SIGNALED if end.wait_status is None or os.WIFSIGNALED(end.wait_status) else Status.ERROR


def _ending(end: Exit) -> tuple[int | None, str | None]:
    """Give the exit code and the signal's name; no code where we ended the run, whatever it then answered."""
    if end.wait_status is None:
        return None, "SIGKILL"
    if os.WIFSIGNALED(end.wait_status):
        return None, _signal_name(os.WTERMSIG(end.wait_status))
    return (None if end.cause is not None else os.WEXITSTATUS(end.wait_status)), None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal between SIGRTMIN and SIGRTMAX has no name of its own
        # Below SIGRTMIN are the few that the C library keeps for itself (signal(7)); they have no name at all.
        return f"SIGRTMIN+{number - signal.SIGRTMIN}" if number > signal.SIGRTMIN else f"SIG{number}"


def _text(stream: Stream) -> str:
    """Decode what was kept; a cut never leaves a character's remains (RFC 3629: at most 3 bytes of one)."""
    head, tail = stream.head, stream.tail
    if stream.truncated:
        head = _without_partial_end(head)
        tail = _without_partial_start(tail)
        return head.decode("utf-8", "replace") + tail.decode("utf-8", "replace")
    return (head + tail).decode("utf-8", "replace")


_CONTINUATION = bytes(range(0x80, 0xC0))
_LONGEST = 4


def _without_partial_start(data: bytes) -> bytes:
    rest = data[: _LONGEST - 1].lstrip(_CONTINUATION)  # those of one character at most: further ones stand alone
    return rest + data[_LONGEST - 1 :]


def _without_partial_end(data: bytes) -> bytes:
    for back in range(1, min(_LONGEST, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:  # noqa: PLR2004 - ASCII
            return data
        if byte >= 0xC0:  # noqa: PLR2004 - the first byte of a sequence, which says how long it is
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4  # noqa: PLR2004
            return data[:-back] if needed > back else data
    return data
