"""What bounds a group, and what is read of it, on the real kernel this runs on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from living import MIB, PLENTY, Child
from spenders import SPIN

from sandbox.errors import SetupError
from sandbox.meter import MeterLimits


def bounds(group: Any) -> dict[str, str]:
    """Read what bounds a group, from whichever files this kernel has for it."""
    names = "memory.limit_in_bytes memory.memsw.limit_in_bytes memory.kmem.tcp.limit_in_bytes pids.max"
    names += " cpu.cfs_quota_us cpu.cfs_period_us memory.max memory.swap.max cpu.max"
    return {
        name: path.read_text()
        for folder in group._directories
        for name in names.split()
        if (path := Path(folder, name)).exists()
    }


def test_limits_that_change_are_as_if_they_had_been_set_at_once(create: Callable[..., Any]) -> None:
    """Raised or lowered, one or all, a throttle put on and taken off again; what stays need not be written."""
    wide = MeterLimits(memory_bytes=128 * MIB, processes=8, cpus=64.0)
    narrow = MeterLimits(memory_bytes=64 * MIB, processes=4, cpus=0.25)
    between = MeterLimits(memory_bytes=64 * MIB, processes=8, cpus=0.5)
    expected = {limits: bounds(create(limits)) for limits in (wide, narrow, between)}
    assert len({tuple(each.items()) for each in expected.values()}) == 3
    group = create(wide)
    for limits in (narrow, wide, between, narrow, between, wide, wide):
        group.limit(limits)
        assert bounds(group) == expected[limits]


def test_after_a_refused_limit_everything_is_written_again(
    create: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a failure left is not known."""
    group = create(PLENTY)
    before = bounds(group)
    with monkeypatch.context() as patch:
        patch.setattr(type(group), "change", lambda *_: (_ for _ in ()).throw(SetupError("cgroup", 5, "")))
        with pytest.raises(SetupError):
            group.limit(MeterLimits(memory_bytes=64 * MIB, processes=4, cpus=0.25))
    for folder in group._directories:
        if Path(folder, "pids.max").exists():
            Path(folder, "pids.max").write_text("7")
    group.limit(PLENTY)
    assert bounds(group) == before


def test_numbers_are_read_through_what_was_opened_before(
    create: Callable[..., Any], start: Callable[[str], Child]
) -> None:
    """They are those of the moment, and a group that is gone still reads as its last look."""
    group = create()
    group.prepare()
    assert set(group._open) <= set(group.read_files())
    assert len(group._open) >= 5
    first = group.read()
    child = start(SPIN)
    group.add(child.pid)
    child.go()
    time.sleep(0.2)
    second = group.read()
    assert second.cpu_seconds > first.cpu_seconds
    child.process.kill()
    child.end()
    descriptors = list(group._open.values())
    last = group.read()
    group.close()
    assert group.read() == last
    for each in descriptors:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(each)
