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
_MASKED = ("kallsyms", "kcore", "keys", "key-users", "kmsg", "sched_debug", "timer_list", "slabinfo", "vmallocinfo")
_SCRATCH = "/run/scratch"


def prepare(binds: list[list[str]], links: list[list[str]]) -> None:
    """Make the part that is the same for every run, and enter it.

    ``binds`` [[source in the current root, target]], ``links`` [[text, path]]. Raises OSError.
    """
    libc.mount("tmpfs", NEW_ROOT, "tmpfs", libc.MS_NOSUID | libc.MS_NODEV, "mode=755")
    for origin, target in binds:
        os.makedirs(NEW_ROOT + target, exist_ok=True)
        libc.mount(origin, NEW_ROOT + target, None, libc.MS_BIND | libc.MS_REC)
    for text, path in links:
        os.symlink(text, NEW_ROOT + path)
    _devices()
    _proc()
    libc.enter_root(NEW_ROOT)


def finish(job: dict[str, Any]) -> None:
    """Add what the job decides (:data:`.wire.JOB_KEYS`), and end all writing but in its places. Raises OSError."""
    _writable_places(job)
    _write(JOB_DIRECTORY, job["source_name"], job["code"], 0o444)
    for path, content in job["files"]:
        folder, _, leaf = path.rpartition("/")
        _write(f"{WORKSPACE}/{folder}", leaf, content, 0o644)
    libc.mount(None, "/", None, libc.MS_REMOUNT | libc.MS_BIND | libc.MS_RDONLY | libc.MS_NOSUID | libc.MS_NODEV)


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


def _writable_places(job: dict[str, Any]) -> None:
    """One tmpfs, so that one quota holds over all of it; each place is a directory of it."""
    os.makedirs(_SCRATCH)
    places = job["writable"]
    # The tmpfs's own root, our directories and our links are not the guest's to pay for.
    inodes = job["inodes"] + 1 + len(places) + 2 * len(job["laid_links"])
    options = f"mode=755,size={job['disk_bytes']},nr_inodes={inodes}"
    libc.mount("tmpfs", _SCRATCH, "tmpfs", libc.MS_NOSUID | libc.MS_NODEV, options)
    for number, (mode, targets) in enumerate(places):
        folder = f"{_SCRATCH}/{number}"
        os.mkdir(folder)
        os.chmod(folder, mode)
        for target in targets:
            os.makedirs(target, exist_ok=True)
            libc.mount(folder, target, None, libc.MS_BIND)
    libc.unmount(_SCRATCH, libc.MNT_DETACH)
    os.rmdir(_SCRATCH)
    for path, text in job["laid_links"]:
        os.makedirs(path.rpartition("/")[0], exist_ok=True)
        os.symlink(text, path)


def _write(folder: str, name: str, content: bytes, mode: int) -> None:
    os.makedirs(folder, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(f"{folder}/{name}", flags, mode)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)
