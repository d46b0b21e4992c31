"""What holds of any path, glob and writable place: it stays where it may be, or it is refused by its field's name."""

from __future__ import annotations

import contextlib
import posixpath
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import plans
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import Config, InputFile, Job, JobRefused, policy
from sandbox.guest import collect
from sandbox.model import Plan, SkipReason
from sandbox.places import SYSTEM, WORKSPACE

_PARTS = st.sampled_from(
    ["", ".", "..", "...", "~", " ", "a", "b", "a.", ".a", "\\", "..\\x", "%2e%2e", "\u2025", "\uff0e\uff0e", "\u2215",
     "\0", "\n", "\udc80", "é", "e\u0301", "C:", "*", "**", "?", "[!a]", "[", "]", "[z-a]", "[a-", "a" * 255, "a" * 256,
     "workspace", "etc", "usr", "proc", "opt", "python", "dev", "shm", "tmp", "run", "job", "mnt", "data", "lib64"]
) | st.text(max_size=4)  # fmt: skip
PATHS = st.lists(_PARTS, max_size=6).map("/".join) | st.lists(_PARTS, max_size=6).map(
    lambda parts: "/" + "/".join(parts)
)


def _plan(**asked: object) -> Plan | None:
    """Plan a job that asks for this; None where it is refused, which must be by that field."""
    (field,) = asked
    with contextlib.suppress(JobRefused):
        return policy.plan(Job(code="", **asked), plans.HOST, Config())  # type: ignore[arg-type]
    with pytest.raises(JobRefused) as refused:
        policy.plan(Job(code="", **asked), plans.HOST, Config())  # type: ignore[arg-type]
    assert refused.value.field.partition(".")[0] == field
    return None


@given(st.lists(PATHS, min_size=1, max_size=3))
def files_stay_in_the_workspace(paths: list[str]) -> None:
    """No file laid in leads out, by whatever name, nor takes a place twice or below a file."""
    plan = _plan(files=tuple(InputFile(path, b"") for path in paths))
    if plan is None:
        return
    ends = [posixpath.normpath(posixpath.join(WORKSPACE, file.path)) for file in plan.files]
    assert all(end.startswith(f"{WORKSPACE}/") for end in ends)
    assert len(set(ends)) == len(ends)
    assert not {str(above) for end in ends for above in PurePosixPath(end).parents} & set(ends)
    assert not any("\0" in end for end in ends)


@given(PATHS)
def writable_places_are_not_the_systems(path: str) -> None:
    """No place lies over or under what is the system's, and each has but one way to be written."""
    plan = _plan(writable_paths=(path,))
    if plan is None:
        return
    for place in plan.writable:
        for target in place.targets:
            assert posixpath.normpath(target) == target
            assert target.startswith("/")
            for system in SYSTEM:
                assert target != system
                assert not target.startswith(f"{system}/")
                assert not system.startswith(f"{target}/")


@given(st.lists(PATHS, min_size=1, max_size=3))
def globs_collect_only_what_is_below(globs: list[str]) -> None:
    """Any glob is refused or understood by what collects, which gives files of the workspace, each once."""
    plan = _plan(collect=tuple(globs))
    if plan is None:
        return
    sent: list[tuple[str, bytes]] = []
    with _workspace() as folder:
        skipped = collect.collect(folder, list(plan.collect), 100, 1 << 20, lambda *each: sent.append(each))
    paths = [path for path, _ in sent]
    assert set(paths) <= {"a", "b/a", "b/.a"}
    assert len(set(paths)) == len(paths)
    assert {content for _, content in sent} <= {b"inside"}
    assert {reason for _, reason in skipped} <= {str(each) for each in SkipReason}


@contextlib.contextmanager
def _workspace() -> Iterator[str]:
    """Give a folder with three files, a link to a secret one, and a link to the folder above it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "workspace")
        (folder / "b").mkdir(parents=True)
        for path in ("a", "b/a", "b/.a"):
            (folder / path).write_bytes(b"inside")
        Path(name, "secret").write_bytes(b"outside")
        (folder / "[").symlink_to("../secret")
        (folder / "etc").symlink_to("..")
        yield str(folder)


PROPERTIES = (files_stay_in_the_workspace, writable_places_are_not_the_systems, globs_collect_only_what_is_below)
