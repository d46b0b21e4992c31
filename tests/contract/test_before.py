"""What a caller of the engine does at the last moment before a guest runs."""

from __future__ import annotations

import time

import pytest

from sandbox import Job, Launcher, Sandbox

LAUNCHERS = (Launcher.AUTO, Launcher.COLD)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_nothing_of_the_guest_runs_before_it_is_done(warm_box: Sandbox, launcher: Launcher) -> None:
    """However long it takes; and it is not on the guest's time."""
    done: list[float] = []

    def before() -> None:
        time.sleep(0.3)
        done.append(time.monotonic())

    result = warm_box.run(Job(code="import time; print(time.monotonic())", launcher=launcher), before=before)
    assert result.launcher is (Launcher.WARM if launcher is Launcher.AUTO else launcher)
    assert float(result.stdout) >= done[0]
    assert len(done) == 1
    assert result.usage.wall_seconds < 0.3


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_where_it_fails_nothing_is_run(warm_box: Sandbox, launcher: Launcher) -> None:
    """Its exception is the caller's own, the run is not begun anew elsewhere, and the next one is well."""
    asked: list[int] = []

    def before() -> None:
        asked.append(1)
        raise LookupError("not on record")

    with pytest.raises(LookupError, match="not on record"):
        warm_box.run(Job(code="print(1)", launcher=launcher), before=before)
    assert asked == [1]
    assert warm_box.run(Job(code="print(1)", launcher=launcher)).stdout == "1\n"
