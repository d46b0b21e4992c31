"""What killed services leave in control groups, and what is spared because somebody lives."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox import claim
from sandbox.confine import cgroup
from sandbox.confine.cgroup import files
from sandbox.confine.cgroup import group as group_module

_serials = itertools.count()


@pytest.fixture
def hierarchy(need: Callable[[bool, str], None]) -> Iterator[cgroup.Hierarchy]:
    """Give the machine's hierarchy, claimed."""
    found = cgroup.probe()
    need(isinstance(found, cgroup.Hierarchy), "control groups")
    assert isinstance(found, cgroup.Hierarchy)
    with contextlib.closing(found):
        yield found


@pytest.fixture
def left(hierarchy: cgroup.Hierarchy) -> Iterator[Callable[[str], str]]:
    """Give what leaves a group as a killed service does, by name; whatever is still there at the end is removed."""
    names = []

    def leave(name: str) -> str:
        hierarchy.create(name)
        names.append(name)
        return name

    yield leave
    for parent in hierarchy.parents:
        for name in names:
            group_module.remove(f"{parent}/{name}")


def where(hierarchy: cgroup.Hierarchy, name: str) -> list[str]:
    """Give the parents in which a group of that name is still there."""
    return [parent for parent in hierarchy.parents if Path(parent, name).exists()]


def test_what_the_dead_have_left_is_taken(hierarchy: cgroup.Hierarchy, left: Callable[[str], str]) -> None:
    """With every process in it; also where the mark is gone, and only the groups are there."""
    killed, unmarked = claim.fresh_name(), claim.fresh_name()
    those = {left(killed), left(f"{killed}.1"), left(f"{unmarked}.1")}
    with subprocess.Popen(["/bin/sleep", "60"]) as orphan:
        for parent in hierarchy.parents:
            files.write(f"{parent}/{killed}.1/cgroup.procs", str(orphan.pid))
        assert those <= set(hierarchy.sweep())
        assert orphan.wait() == -signal.SIGKILL
    assert [where(hierarchy, name) for name in those] == [[], [], []]


def test_what_lives_and_what_is_named_otherwise_is_spared(
    hierarchy: cgroup.Hierarchy, left: Callable[[str], str]
) -> None:
    """Our own, another's who holds his mark, and whatever else somebody has there."""
    marks = claim.make(hierarchy.parents)
    other = Path(marks[0].path).name
    those = [left(hierarchy.fresh()), left(f"{other}.1"), left(f"other-{os.getpid()}.{next(_serials)}")]
    assert not {*those, other} & set(hierarchy.sweep())
    assert [where(hierarchy, name) for name in those] == [list(hierarchy.parents)] * 3
    for mark in marks:
        mark.release()
    assert {other, f"{other}.1"} <= set(hierarchy.sweep())


def test_who_shares_some_hierarchies_alone_is_spared_in_those(
    hierarchy: cgroup.Hierarchy, left: Callable[[str], str]
) -> None:
    """Of version 1: the mark is in each, so whoever has one of them in common sees there that we live."""
    name = left(hierarchy.fresh())
    for parent in hierarchy.parents:
        assert name not in _Alone((parent,)).sweep()
    assert where(hierarchy, name) == list(hierarchy.parents)


class _Alone(cgroup.Hierarchy):
    """One directory, as somebody sees it who has the others elsewhere."""

    kind = "alone"

    def ensure(self) -> None:
        """Do nothing."""

    def group(self, name: str) -> cgroup.Group:
        """Give none."""
        raise NotImplementedError(name)
