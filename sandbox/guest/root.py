"""Build the guest's own root: one that nobody shared before and in which only the writable places can be written.

Nothing of a caller's or a guest's has run when this does, and every mount point is a directory made here in a tmpfs
made here: no link that somebody else placed is ever followed (that is how CVE-2026-87766 works).
"""

from __future__ import annotations

import os

from . import libc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NEW_ROOT = "/run/newroot"
JOB_DIRECTORY = "/run/job"
WORKSPACE = "/workspace"

# World-readable on some kernels, about the whole machine, and of no use to a snippet.
_MASKED = (
    "cmdline",
    "kallsyms",
    "kcore",
    "keys",
    "key-users",
    "kmsg",
    "sched_debug",
    "timer_list",
    "slabinfo",
    "vmallocinfo",
)
# Of the run's own network namespace. What waits in a connection that nobody has accepted is charged to no cgroup.
_NETWORK = (
    ("core/somaxconn", b"64"),
    ("ipv4/tcp_rmem", b"4096 65536 262144"),
    ("ipv4/tcp_wmem", b"4096 16384 262144"),
    ("core/optmem_max", b"4096"),  # options of a socket: kernel memory that no cgroup is charged for
)


def prepare(stage: dict[str, Any]) -> int:
    """Make all that is the same for every run (:data:`.wire.STAGE_KEYS`), and enter it.

    Gives a descriptor of the tmpfs behind all writable places. As a whole it lies at the workspace's path, under the
    first of those places, where no path leads. It is not taken off, for a folder of a tree that is attached nowhere can
    be attached since Linux 6.15 only, and taking a mount off waits for an RCU grace period. Raises OSError.
    """
    libc.mount("tmpfs", NEW_ROOT, "tmpfs", libc.MS_NOSUID | libc.MS_NODEV, "mode=755")
    for origin, target in stage["binds"]:
        os.makedirs(NEW_ROOT + target, exist_ok=True)
        libc.mount(origin, NEW_ROOT + target, None, libc.MS_BIND | libc.MS_REC)
    for text, path in stage["links"]:
        os.symlink(text, NEW_ROOT + path)
    _devices()
    _proc()
    for path, text in _NETWORK:
        if os.path.exists(f"/proc/sys/net/{path}"):  # where it is not a namespace's own, it is not there
            _write(f"/proc/sys/net/{path}", text)
    libc.enter_root(NEW_ROOT)
    os.makedirs(JOB_DIRECTORY)
    os.mkdir(WORKSPACE)
    libc.mount("tmpfs", WORKSPACE, "tmpfs", libc.MS_NOSUID | libc.MS_NODEV, "mode=755")
    scratch = os.open(WORKSPACE, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for number, place in enumerate(stage["writable"]):
        _writable_place(scratch, f"standing-{number}", place)
    for path, text in stage["laid_links"]:
        os.makedirs(path.rpartition("/")[0], exist_ok=True)
        os.symlink(text, path)
    _bound(stage["quota"])
    return scratch


def finish(scratch: int, stage: dict[str, Any], job: dict[str, Any]) -> None:
    """Add what the job decides (:data:`.wire.JOB_KEYS`), and end all writing but in its places. Raises OSError."""
    for number, place in enumerate(job["writable"]):
        _writable_place(scratch, f"own-{number}", place)
    quota = [job["disk_bytes"], job["inodes"]]
    if job["writable"] or quota != stage["quota"]:
        _bound(quota)
    _make(f"{JOB_DIRECTORY}/{job['source_name']}", job["code"], 0o444)
    for path, content in job["files"]:
        os.makedirs(os.path.dirname(f"{WORKSPACE}/{path}"), exist_ok=True)
        _make(f"{WORKSPACE}/{path}", content, 0o644)
    libc.mount(None, "/", None, libc.MS_REMOUNT | libc.MS_BIND | libc.MS_RDONLY | libc.MS_NOSUID | libc.MS_NODEV)


def rehearse() -> None:
    """Do what :func:`finish` does, without effect. Raises OSError."""
    path = f"{JOB_DIRECTORY}/rehearsal"
    _make(path, b"", 0o444)
    os.unlink(path)
    libc.mount(None, "/", None, libc.MS_REMOUNT | libc.MS_BIND | libc.MS_NOSUID | libc.MS_NODEV)


def _bound(quota: list[int]) -> None:
    """Bound what the guest may write: bytes and inodes beside what is there by now, directories and links of ours."""
    disk_bytes, inodes = quota
    space = os.statvfs(WORKSPACE)
    options = f"size={disk_bytes},nr_inodes={inodes + space.f_files - space.f_ffree}"
    libc.mount(None, WORKSPACE, None, libc.MS_REMOUNT | libc.MS_NOSUID | libc.MS_NODEV, options)


def _devices() -> None:
    """Bwrap has filled /dev with the few device nodes and links a program needs; here it ends read-only."""
    folder = NEW_ROOT + "/dev"
    os.mkdir(folder, 0o755)
    libc.mount("/dev", folder, None, libc.MS_BIND | libc.MS_REC)
    libc.mount(None, folder, None, libc.MS_REMOUNT | libc.MS_BIND | libc.MS_RDONLY | libc.MS_NOSUID | libc.MS_NODEV)


def _proc() -> None:
    folder = NEW_ROOT + "/proc"
    os.mkdir(folder, 0o555)
    libc.mount("proc", folder, "proc", libc.MS_RDONLY | libc.MS_NOSUID | libc.MS_NODEV | libc.MS_NOEXEC)
    for name in _MASKED:
        if os.path.exists(f"{folder}/{name}"):
            libc.mount("/dev/null", f"{folder}/{name}", None, libc.MS_BIND)


def _writable_place(scratch: int, folder: str, place: list[Any]) -> None:
    """Make the directory ``folder`` of the one tmpfs whose quota holds over all, and let it appear at its paths."""
    mode, targets = place
    os.mkdir(folder, dir_fd=scratch)
    os.chmod(folder, mode, dir_fd=scratch)
    for target in targets:
        os.makedirs(target, exist_ok=True)
        libc.attach_tree(scratch, folder, target)


def _make(path: str, content: bytes, mode: int) -> None:
    _put(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode), content)


def _write(path: str, content: bytes) -> None:
    _put(os.open(path, os.O_WRONLY | os.O_CLOEXEC), content)


def _put(descriptor: int, content: bytes) -> None:
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)
