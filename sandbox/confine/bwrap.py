"""Host facts -> the argv of bwrap, which gives a run its namespaces and an almost empty root, and starts init in it.

Nothing here depends on a job. Every mount point is a name of ours in a root that bwrap makes for this run alone, so no
path that a caller or a guest chose is ever followed (CVE-2026-87766); what the job asks for is built by init, inside.
Options: bwrap(1), version 0.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sandbox.model import Bind

HOST_NAME = "fumehood"
GUEST_ID = 1000
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = (
    ("/proc/self/fd", "fd"),
    ("/proc/self/fd/0", "stdin"),
    ("/proc/self/fd/1", "stdout"),
    ("/proc/self/fd/2", "stderr"),
)


def argv(
    bwrap: str, binds: Iterable[Bind], links: Iterable[tuple[str, str]], new_root: str, command: Iterable[str]
) -> tuple[str, ...]:
    """Give the whole command. ``links`` are (text, path); ``new_root`` is an empty folder where init builds its own.

    All capabilities are over the new namespaces only; init drops them before the guest exists. ``--as-pid-1`` because
    init is the reaper. ``--cap-add`` needs a bwrap that is not setuid, which is the only kind we accept.
    """
    words = [*_namespaces(bwrap), "--cap-add", "ALL", "--setenv", "LANG", "C.UTF-8", *_root(binds, links)]
    words += ["--dir", "/dev/shm"]  # noqa: S108 - where init mounts the run's own
    words += ["--proc", "/proc", "--dir", new_root, "--chdir", "/", "--"]
    return (*words, *command)


def enclosure(
    bwrap: str,
    binds: Iterable[Bind],
    links: Iterable[tuple[str, str]],
    command: Iterable[str],
    *,
    path: str,
    info: int,
    filters: Iterable[int],
) -> tuple[str, ...]:
    """Give the command for a program that has no init of ours: bwrap confines it, and it is pid 1 of its namespace.

    ``path`` is its ``PATH``, ``info`` a descriptor to which bwrap tells the program's pid, ``filters`` hold the seccomp
    filters in the order in which they are loaded. No capability is kept, and the root is made read-only.
    """
    words = [*_namespaces(bwrap), "--setenv", "LANG", "C.UTF-8", "--setenv", "PATH", path, *_root(binds, links)]
    words += ["--proc", "/proc", "--remount-ro", "/", "--chdir", "/", "--info-fd", str(info)]
    for each in filters:
        words += ["--add-seccomp-fd", str(each)]
    return (*words, "--", *command)


def _namespaces(bwrap: str) -> list[str]:
    words = [bwrap, *(f"--unshare-{name}" for name in ("user", "pid", "net", "ipc", "uts", "cgroup"))]
    words += ["--uid", str(GUEST_ID), "--gid", str(GUEST_ID), "--hostname", HOST_NAME]
    return [*words, "--as-pid-1", "--die-with-parent", "--new-session"]


def _root(binds: Iterable[Bind], links: Iterable[tuple[str, str]]) -> list[str]:
    words = []
    for bind in binds:
        words += ["--ro-bind", bind.source, bind.target]
    for text, path in links:
        words += ["--symlink", text, path]
    words += ["--perms", "0755", "--dir", "/dev"]
    for device in _DEVICES:
        words += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    for text, name in _DEVICE_LINKS:
        words += ["--symlink", text, f"/dev/{name}"]
    return words
