"""What a run could leave on the host: processes, groups, mounts, files, descriptors, threads, System V objects."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

from sandbox import Sandbox, claim
from sandbox.confine import cgroup

_LOOKS = 50  # a second of them. Counted, not timed: where the machine starves what ends, it starves these too
_PAUSE_SECONDS = 0.02
_SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/run")  # where a guest's uid could leave something
_SYSTEM_V = ("shm", "sem", "msg")
_STATUS = re.compile(r"Name:\t(.*)\n(?:.*\n)*?State:\t(.).*\n(?:.*\n)*?PPid:\t(\d+)\n(?:.*\n)*?Uid:\t(\d+)")
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Census:
    """Everything at one moment. Two of an engine that does nothing are equal."""

    processes: tuple[str, ...]
    groups: dict[str, int]
    mounts: str
    files: tuple[str, ...]
    descriptors: int
    threads: int
    system_v: tuple[str, ...]

    def beyond(self, other: Census) -> str:
        """Say in what this one differs."""
        told = {each.name: (getattr(self, each.name), getattr(other, each.name)) for each in fields(self)}
        return ", ".join(f"{name}: {now} and not {then}" for name, (now, then) in told.items() if now != then)


def take(box: Sandbox) -> Census:
    """Look at all that is this engine's, or its guests'."""
    uids = range(box.config.uid_base, box.config.uid_base + box.config.slots) if box.host.as_root else range(0)
    assert box.config.state_dir is not None
    return Census(
        processes=tuple(sorted(living(uids).values())),
        groups=_groups(),
        mounts=Path("/proc/self/mountinfo").read_text(),
        files=(*_below(box.config.state_dir), *_files(uids)),
        descriptors=len(list(Path("/proc/self/fd").iterdir())),
        threads=threading.active_count(),
        system_v=tuple(line for kind in _SYSTEM_V for line in _objects(kind, uids)),
    )


def difference(box: Sandbox, standing: Census) -> str:
    """Wait a second at most until nothing differs from what stands between runs; say what still does."""
    for _ in range(_LOOKS):
        now = take(box)
        if now == standing:
            return ""
        time.sleep(_PAUSE_SECONDS)
    return now.beyond(standing)


def living(uids: range) -> dict[int, str]:
    """Give pid and name of the living processes of these uids; without uids, of those below this process."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - once for each payload, of all there are
        with contextlib.suppress(OSError, AttributeError), open(f"/proc/{pid}/status", errors="replace") as file:  # noqa: PTH123
            found[int(pid)] = _Process(*_STATUS.search(file.read()).groups())  # type: ignore[union-attr]
    return {
        pid: each.name
        for pid, each in found.items()
        if each.state not in "ZX" and (int(each.uid) in uids or (not uids and _is_below_us(each, found)))
    }


class _Process(NamedTuple):
    name: str
    state: str
    parent: str
    uid: str


def _is_below_us(process: _Process, all_of_them: dict[int, _Process]) -> bool:
    """Whether this process is among its ancestors: it adopts whose parent is dead (:func:`adopt_orphans`)."""
    while int(process.parent) != os.getpid():
        if int(process.parent) not in all_of_them:
            return False
        process = all_of_them[int(process.parent)]
    return True


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own is dead (prctl(2), PR_SET_CHILD_SUBREAPER).

    Where the service is not root, guests of all engines have one uid: they are told apart by their ancestors.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _groups() -> dict[str, int]:
    """Count the groups of each owner that is in this process, by the hierarchy."""
    hierarchy = cgroup.locate()
    if isinstance(hierarchy, cgroup.Unavailable):
        return {}
    held = set()
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            held.add(entry.readlink().name)
    owners = {name for name in held if re.fullmatch(claim.NAME, name)}
    return dict(
        Counter(
            parent
            for parent in hierarchy.parents
            if Path(parent).is_dir()
            for group in Path(parent).iterdir()
            if group.name.partition(".")[0] in owners
        )
    )


def _below(folder: Path) -> list[str]:
    """Say how many files each folder below it holds."""
    return [f"{path}: {len(names)}" for path, _, names in sorted(os.walk(folder))]


def _files(uids: range) -> list[str]:
    found = []
    for folder in _SHARED:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid in uids:
                        found.append(entry.path)
    return found


def _objects(kind: str, uids: range) -> list[str]:
    """Give the lines of System V objects that one of these uids made or owns."""
    with contextlib.suppress(FileNotFoundError):
        lines = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()
        return [line for line in lines[1:] if any(int(word) in uids for word in line.split())]
    return []
