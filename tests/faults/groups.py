"""Control groups of a test's own: one below which a service makes its, and one that pens the service itself in."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import until

from sandbox import claim
from sandbox.confine import cgroup


def tops() -> list[Path]:
    """Give the folders where this machine's hierarchies are mounted, as far as groups are made in them."""
    found = cgroup.locate("/")
    return [Path(parent).parent for parent in found.parents] if isinstance(found, cgroup.Hierarchy) else []


@contextlib.contextmanager
def parent() -> Iterator[tuple[str, list[Path]]]:
    """Give a name for ``cgroup_parent``, and its folders, which are gone at the end."""
    name = f"fumehood-faults-{claim.fresh_name()}"
    folders = [top / name for top in tops()]
    if not folders:
        pytest.skip("this machine has no control groups")
    try:
        for folder in folders:
            folder.mkdir()
        yield f"/{name}", folders
    finally:
        for folder in folders:
            _remove(folder)


@contextlib.contextmanager
def pen(pid: int) -> Iterator[Path]:
    """Put a process, and what it starts from now on, into a group; give its ``pids.max``."""
    top = next(each for each in tops() if (each / "pids.max").exists() or _counts_pids(each))
    group = top / f"fumehood-pen-{claim.fresh_name()}"
    own = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(str(pid))
        yield group / "pids.max"
    finally:
        (group / "pids.max").write_text("max")
        home = next((top / line.rpartition(":")[2].lstrip("/") for line in own if ":pids:" in line), top)
        while left := (group / "cgroup.procs").read_text().split():
            for each in left:
                with contextlib.suppress(OSError):
                    (home / "cgroup.procs").write_text(each)
        _remove(group)


@contextlib.contextmanager
def frozen(folders: list[Path]) -> Iterator[None]:
    """Let nothing be made, written or removed below these folders: they are mounted over themselves, read-only."""
    with contextlib.ExitStack() as scope:
        for folder in folders:
            subprocess.run(["/bin/mount", "--bind", folder, folder], check=True)
            scope.callback(subprocess.run, ["/bin/umount", "--lazy", folder], check=True)
            until(functools.partial(_is_read_only, folder))
        yield


def _is_read_only(folder: Path) -> bool:
    """Try to make it so: the kernel refuses while somebody has a file below open for writing, if for a moment only."""
    return subprocess.run(["/bin/mount", "-o", "remount,ro,bind", folder], check=False).returncode == 0


def groups_of_runs(folders: list[Path]) -> set[str]:
    """Name the groups of runs there are below the folders; a service's own mark is not one."""
    names: set[str] = set()
    for folder in folders:
        names |= {path.name for path in folder.glob("fumehood/*.*") if path.is_dir()}
    return names


def _counts_pids(top: Path) -> bool:
    return "pids" in str(top) or "pids" in _text(top / "cgroup.controllers")


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text()
    return ""


def _remove(folder: Path) -> None:
    """Remove a group and those below it; what was in it ends a moment after who started it."""
    for _ in range(200):
        for path, _names, _files in os.walk(folder, topdown=False):
            with contextlib.suppress(OSError):
                Path(path).rmdir()
        if not folder.exists():
            return
        time.sleep(0.02)
    folder.rmdir()
