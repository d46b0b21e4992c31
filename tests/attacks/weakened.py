"""The engine with one layer off, for controls: with what stops it taken away, a payload must get through.

Nothing in the product can weaken a run. What is done here is done to this process alone: text is put behind our guest
code, words are taken off bwrap's command line, values are exchanged in the engine. It is harmless by what the payloads
do: at most they reach the test's own canaries.
"""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from sandbox import Config, Sandbox, claim, stage
from sandbox.confine import bwrap, rlimit
from sandbox.meter import Reading
from sandbox.meters import Meters

_ALLOW_ALL = struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)  # BPF_RET SECCOMP_RET_ALLOW
_GUEST = Path(stage.__file__).with_name("guest")

# Neither a fresh /proc nor SIGKILL to everybody is for a run that has no pid namespace of its own.
_NO_PID_NAMESPACE = {
    "root": """
def _proc():
    os.mkdir(NEW_ROOT + "/proc", 0o555)
    libc.mount("/proc", NEW_ROOT + "/proc", None, libc.MS_BIND | libc.MS_REC)
_NETWORK = ()
""",
    "init": "_kill_the_rest = _end_the_rest = lambda: None",
}


class _NoMeter:
    """Bounds nothing, sees nothing, and kills nobody."""

    kind = "none"
    has_doors = False
    poll_seconds = None

    def doors(self) -> tuple[Any, ...]:
        return ()

    def add(self, pid: int) -> None:
        pass

    limit = add

    def read(self) -> Reading:
        return Reading(
            cpu_seconds=0.0,
            memory_bytes=0,
            peak_memory_bytes=0,
            processes=0,
            peak_processes=0,
            oom_kills=0,
            forks_refused=0,
        )

    def kill(self) -> None:
        pass

    prepare = close = kill


@dataclass(frozen=True)
class Weakening:
    """What is done to an engine: text behind modules of the guest's side, words off and onto bwrap's command line."""

    guest: dict[str, str] | None = None
    argv_without: tuple[tuple[str, ...], ...] = ()
    argv_with: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    """Folders of the host that the guest sees where they are, and may write."""
    patches: tuple[tuple[Any, str, Any], ...] = ()
    config: dict[str, Any] | None = None
    open_filters: bool = False


def _weakenings(folder: str) -> dict[str, Weakening]:
    """Give all by name; ``folder`` is where the canary lies."""
    return {
        "seccomp": Weakening(open_filters=True),
        "capabilities": Weakening({"libc": "drop_bounding_set = drop_capabilities = lambda: None"}),
        "no-new-privileges": Weakening({"libc": "forbid_new_privileges = lambda: None"}),
        "pid": Weakening(
            _NO_PID_NAMESPACE,
            argv_without=(("--unshare-pid",), ("--as-pid-1",), ("--proc", "/proc")),
            argv_with=("--bind", "/proc", "/proc"),
        ),
        "net": Weakening({"root": "_NETWORK = ()"}, argv_without=(("--unshare-net",),)),
        "ipc": Weakening(argv_without=(("--unshare-ipc",),)),
        "uts": Weakening(argv_without=(("--unshare-uts",), ("--hostname", bwrap.HOST_NAME))),
        "cgroupns": Weakening(argv_without=(("--unshare-cgroup",),)),
        "mount": Weakening(binds=(folder,)),
        "sysfs": Weakening(binds=("/sys",)),
        "devices": Weakening(argv_with=("--dev-bind", "/dev/null", "/dev/mem")),
        "read-only": Weakening(
            {
                "libc": """
_mount_as_told = mount
def mount(source, target, kind, flags, options=None):
    if not (flags & MS_REMOUNT and flags & MS_RDONLY):
        _mount_as_told(source, target, kind, flags & ~MS_RDONLY, options)
"""
            }
        ),
        "masks": Weakening({"root": "_MASKED = ()"}),
        "not-dumpable": Weakening({"libc": "set_dumpable = lambda value: None"}),
        "default-signals": Weakening(
            {
                "init": """
_watch_as_told = _watch
def _watch(*arguments):
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    _watch_as_told(*arguments)
"""
            }
        ),
        "reaping": Weakening(
            {
                "init": """
_fork_as_told, _wait4 = _fork, os.wait4
def _fork(*arguments):
    pid, link = _fork_as_told(*arguments)
    os.wait4 = lambda who, options: _wait4(pid if options else who, options)
    return pid, link
"""
            }
        ),
        "killing": Weakening({"init": "_kill_the_rest = _end_the_rest = lambda: None"}),
        "descriptors": Weakening(
            {
                "become": """
_take_descriptors_as_told = _take_descriptors
def _take_descriptors(kept, *others):
    _take_descriptors_as_told(kept, *others)
    os.set_inheritable(os.dup(kept[0]), True)
"""
            }
        ),
        "links": Weakening(
            {
                "collect": """
def _look(folder, name, path, *, opens):
    try:
        mode = os.stat(name, dir_fd=folder).st_mode
    except OSError:
        return None, "unreadable"
    return None, _NOTHING_BELOW if stat.S_ISDIR(mode) else None if stat.S_ISREG(mode) else "special"
def _read(folder, name, most_bytes):
    try:
        return os.read(os.open(name, os.O_RDONLY, dir_fd=folder), 1 << 20), None
    except OSError:
        return b"", "unreadable"
"""
            }
        ),
        "name-checks": Weakening({"collect": "_why_not = lambda path, mode: None"}),
        "file-limits": Weakening(config={"files_out": 1000, "files_out_bytes": 1 << 26}),
        "core-limit": Weakening({"steps": "forbid_cores = lambda: None"}),
        "rlimits": Weakening(patches=((rlimit, "rlimits", lambda *_: ()),)),
        "socket-quota": Weakening({"root": "_NETWORK = ()"}),
        "flood": Weakening(config={"flood_bytes": 1 << 30}),
        "meter": Weakening(patches=((Meters, "new", lambda _: _NoMeter()),)),
        "random-names": Weakening(patches=((claim, "fresh_name", lambda: f"{os.getpid()}-{os.urandom(4).hex()}"),)),
    }


@contextlib.contextmanager
def weakened(names: str, config: Config, folder: Path) -> Iterator[Sandbox]:
    """Give an engine without the layers of these names, cold alone. Nothing else of this process may run meanwhile."""
    all_of_them = _weakenings(str(folder))
    chosen = [all_of_them[name] for name in names.split(", ")]
    for each in chosen:
        config = replace(config, **(each.config or {}))
    with contextlib.ExitStack() as scope:
        for each in chosen:
            for place, name, value in each.patches:
                scope.enter_context(mock.patch.object(place, name, value))
        scope.enter_context(mock.patch.object(bwrap, "argv", _argv(chosen)))
        with _guest_code(chosen):
            box = scope.enter_context(Sandbox(config))
        staging = box._staging
        scope.enter_context(mock.patch.object(staging, "_verify", return_value=None))
        staging.stage["binds"] += [[path, path] for each in chosen for path in each.binds]
        if any(each.open_filters for each in chosen):
            staging.stage["filters"] = [_ALLOW_ALL]
        yield box


def _argv(chosen: list[Weakening]) -> Any:
    as_told = bwrap.argv

    def argv(*arguments: Any) -> tuple[str, ...]:
        words = list(as_told(*arguments))
        for each in chosen:
            for lost in each.argv_without:
                at = next(n for n in range(len(words)) if tuple(words[n : n + len(lost)]) == lost)
                del words[at : at + len(lost)]
            gained = [*each.argv_with, *(word for path in each.binds for word in ("--bind", path, path))]
            at = words.index("--chdir")
            words[at:at] = gained
        return tuple(words)

    return argv


@contextlib.contextmanager
def _guest_code(chosen: list[Weakening]) -> Iterator[None]:
    """Let the guest's side be bundled from a copy with more text in it."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(stage, "__file__", f"{folder}/stage.py"):
        copy = Path(folder, "guest")
        copy.mkdir()
        for path in _GUEST.glob("*.py"):
            more = [each.guest[path.stem] for each in chosen if each.guest and path.stem in each.guest]
            (copy / path.name).write_text("\n".join((path.read_text(), *more)))
        yield
