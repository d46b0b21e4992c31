"""The name of a service instance, by which groups left behind by a dead one are told from those of a living one.

An instance is ``<pid>-<start>``; start is field 22 of ``/proc/<pid>/stat`` (clock ticks since boot, proc(5)), so a
pid that the kernel has handed out again does not pass for its former owner. Services that share one configured
parent group must therefore share a pid namespace too.
"""

from __future__ import annotations

import os
import re

_INSTANCE = re.compile(r"([1-9][0-9]*)-([0-9]+)")
_STATE, _START = 0, 19  # counted from the field after the parenthesised command, which may itself hold anything


def instance_name(proc: str = "/proc") -> str:
    """Return our own instance name. Raises OSError where ``/proc`` is not mounted."""
    pid, fields = _stat(f"{proc}/self/stat")
    return f"{pid}-{fields[_START]}"


def instance_alive(instance: str, proc: str = "/proc") -> bool:
    """Say whether the process that ``instance`` names still runs. What cannot be told counts as alive."""
    match = _INSTANCE.fullmatch(instance)
    if match is None:
        return True
    try:
        _pid, fields = _stat(f"{proc}/{match[1]}/stat")
    except (FileNotFoundError, ProcessLookupError):
        return _hidden(int(match[1]))
    except OSError:
        return True
    return fields[_START] == match[2] and fields[_STATE] not in {"Z", "X"}


def _stat(path: str) -> tuple[str, list[str]]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(fd, 4096).decode("utf-8", "replace")
    finally:
        os.close(fd)
    return text.partition(" ")[0], text[text.rindex(")") + 2 :].split()


def _hidden(pid: int) -> bool:
    """Say whether the process is there all the same: ``hidepid=2`` hides the processes of other users."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
