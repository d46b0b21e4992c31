"""Groups on the real kernel this runs on, whichever cgroup version it has."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from living import MIB, PLENTY, Child, fresh_name
from spenders import BOMB, HOG, SPIN

from sandbox.confine import cgroup
from sandbox.confine.cgroup import files
from sandbox.confine.cgroup import group as group_module
from sandbox.errors import SetupError
from sandbox.meter import MeterLimits

if TYPE_CHECKING:
    from collections.abc import Callable

# Fills the buffers of TCP connections to itself, and says how much they took.
TCP = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
kept, held = [], 0
while held < 200 << 20 and len(kept) < 60:
    near = socket.create_connection(listener.getsockname())
    kept.append((near, listener.accept()[0]))
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 23)
    near.setblocking(False)
    try:
        while True:
            held += near.send(bytes(65536))
    except BlockingIOError:
        pass
print(held >> 20, flush=True)
"""


def left_behind(hierarchy: cgroup.Hierarchy, name: str) -> list[str]:
    """Return the parents in which a group of that name is still there."""
    return [parent for parent in hierarchy.parents if Path(parent, name).exists()]


def test_a_memory_hog_is_killed_and_its_neighbour_is_not(
    create: Callable[..., Any], start: Callable[[str], Child]
) -> None:
    """The kernel kills what exceeds its own group's bound; the count says so in that group alone."""
    tight = create(MeterLimits(memory_bytes=32 * MIB, processes=32, cpus=64.0))
    roomy = create()
    hog, neighbour = start(HOG), start(HOG)
    tight.add(hog.pid)
    roomy.add(neighbour.pid)
    hog.go()
    assert hog.end() == -signal.SIGKILL
    neighbour.go()
    assert neighbour.line() == str(128 * MIB)
    assert neighbour.end() == 0
    assert tight.read().oom_kills == 1
    assert roomy.read().oom_kills == 0
    assert 16 * MIB < tight.read().peak_memory_bytes <= 32 * MIB
    assert 128 * MIB <= roomy.read().peak_memory_bytes < 256 * MIB


def test_what_tcp_buffers_hold_is_bounded(create: Callable[..., Any], start: Callable[[str], Child]) -> None:
    """It is memory: the kernel refuses more of it, or kills, where it would be several times the limit."""
    free, bound = start(TCP), start(TCP)
    group = create(MeterLimits(memory_bytes=12 * MIB, processes=32, cpus=64.0))  # some kernels give nobody more than 26
    group.add(bound.pid)
    for child in (free, bound):
        child.go()
    assert int(free.line()) > 24
    assert int(bound.line() or 0) < 18


def test_a_fork_bomb_stops_at_its_bound_and_is_counted(
    create: Callable[..., Any], start: Callable[[str], Child]
) -> None:
    """The bound counts every task, the first one too; the refusal leaves a count, and killing adds nothing to it."""
    meter = create(MeterLimits(memory_bytes=256 * MIB, processes=6, cpus=64.0))
    bomb = start(BOMB)
    meter.add(bomb.pid)
    bomb.go()
    assert bomb.line() == "5"
    seen = meter.read()
    assert (seen.processes, seen.peak_processes) == (6, 6)
    assert seen.forks_refused >= 1
    meter.kill()
    assert bomb.end() == -signal.SIGKILL
    assert meter.read().forks_refused == seen.forks_refused


def test_kill_outruns_a_process_that_forks_as_fast_as_it_can(
    create: Callable[..., Any], start: Callable[[str], Child]
) -> None:
    """Each child forks and leaves, so that no pid is there for long."""
    meter = create(MeterLimits(memory_bytes=256 * MIB, processes=4096, cpus=64.0))
    chaser = start("import os\nwhile True:\n    if os.fork(): os._exit(0)")
    meter.add(chaser.pid)
    chaser.go()
    chaser.end()
    time.sleep(0.02)
    meter.kill()
    # The kernel's own count may still hold the dead that their new parent has not reaped.
    assert [files.words(f"{directory}/cgroup.procs") for directory in meter._made] == [[] for _ in meter._made]


def test_cpu_time_is_measured(create: Callable[..., Any], start: Callable[[str], Child]) -> None:
    """The group's own clock is read, also after the process that spent the time has gone."""
    meter = create()
    spinner = start(SPIN)
    meter.add(spinner.pid)
    spinner.go()
    assert spinner.end() == 0
    assert 0.18 <= meter.read().cpu_seconds < 2


def test_a_share_of_a_cpu_throttles(create: Callable[..., Any], start: Callable[[str], Child]) -> None:
    """With a fifth of a cpu, 0.2 s of work takes about a second."""
    meter = create(MeterLimits(memory_bytes=256 * MIB, processes=32, cpus=0.2))
    spinner = start(SPIN)
    meter.add(spinner.pid)
    before = time.monotonic()
    spinner.go()
    assert spinner.line() == "spun"
    assert time.monotonic() - before > 0.5


def test_closing_kills_what_is_left_and_leaves_no_group(
    hierarchy: cgroup.Hierarchy, start: Callable[[str], Child]
) -> None:
    """Closing twice is fine, and a closed group still tells its last look."""
    name = fresh_name()
    meter = hierarchy.create(name, PLENTY)
    sleeper = start("import time; time.sleep(60)")
    meter.add(sleeper.pid)
    assert meter.read().processes == 1
    meter.close()
    meter.close()
    assert sleeper.end() == -signal.SIGKILL
    assert left_behind(hierarchy, name) == []
    assert meter.read().processes == 1
    meter.kill()


def test_a_group_below_a_group_goes_with_it(hierarchy: cgroup.Hierarchy) -> None:
    """What somebody made inside does not keep the group alive."""
    name = fresh_name()
    meter = hierarchy.create(name, PLENTY)
    for parent in hierarchy.parents:
        Path(parent, name, "inner").mkdir()
    meter.close()
    assert left_behind(hierarchy, name) == []


@pytest.mark.parametrize("file", ["pids.max", "cpu.", "memory."])
def test_a_group_refused_half_way_leaves_nothing(
    hierarchy: cgroup.Hierarchy, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """Whichever limit the kernel refuses, the error names it and the directories are gone."""
    real = files.write

    def refuse(path: str, text: str) -> None:
        if Path(path).name.startswith(file):
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), path)
        real(path, text)

    monkeypatch.setattr(files, "write", refuse)
    name = fresh_name()
    with pytest.raises(SetupError) as caught:
        hierarchy.create(name, MeterLimits(memory_bytes=MIB, processes=2, cpus=0.5))
    assert caught.value.step.startswith(f"cgroup {file}")
    assert caught.value.errno == errno.ENODEV
    assert left_behind(hierarchy, name) == []


def test_a_directory_refused_leaves_nothing(hierarchy: cgroup.Hierarchy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of several directories fails; the earlier ones are taken away again."""
    real = os.mkdir

    def refuse(path: str, mode: int = 0o777) -> None:
        if path.startswith(hierarchy.parents[-1]):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        real(path, mode)

    monkeypatch.setattr(os, "mkdir", refuse)
    name = fresh_name()
    with pytest.raises(SetupError, match="cgroup mkdir"):
        hierarchy.create(name, PLENTY)
    assert left_behind(hierarchy, name) == []


def test_a_name_already_taken_is_refused_and_its_owner_untouched(hierarchy: cgroup.Hierarchy) -> None:
    """The failed attempt cleans up after itself only."""
    name = fresh_name()
    meter = hierarchy.create(name, PLENTY)
    with pytest.raises(SetupError) as caught:
        hierarchy.create(name, PLENTY)
    assert caught.value.errno == errno.EEXIST
    assert left_behind(hierarchy, name) == list(hierarchy.parents)
    meter.close()


@pytest.mark.parametrize("name", ["..", "", "a/b", ".hidden"])
def test_a_name_that_is_not_one_component_is_refused(hierarchy: cgroup.Hierarchy, name: str) -> None:
    """A group is made below our parent and nowhere else."""
    with pytest.raises(SetupError):
        hierarchy.create(name, PLENTY)


def test_our_own_process_cannot_be_added_by_mistake(create: Callable[..., Any]) -> None:
    """The kernel reads pid 0 as the writer itself; a process that is gone is an error too."""
    with pytest.raises(SetupError):
        create().add(0)
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    with pytest.raises(SetupError) as caught:
        create().add(gone.pid)
    assert caught.value.errno == errno.ESRCH


def test_groups_can_be_made_after_another_instance_took_the_parents_away(hierarchy: cgroup.Hierarchy) -> None:
    """An instance that stops removes empty parents; the next group brings them back."""
    hierarchy.close()
    with contextlib.closing(hierarchy.create(fresh_name(), PLENTY)) as meter:
        assert meter.read().processes == 0


def test_threads_can_make_and_close_groups_at_once(hierarchy: cgroup.Hierarchy) -> None:
    """Nothing is shared between two runs but the parent."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(10):
                hierarchy.create(fresh_name(), PLENTY).close()
        except BaseException as error:  # noqa: BLE001 - carried to the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


MOVE = """
import sys
sys.path[:0] = {path!r}
from sandbox.confine import cgroup
def own():
    with open("/proc/self/cgroup") as stream:
        return stream.read().strip()
before = own()
found, again = cgroup.probe(), cgroup.probe()
print(getattr(found, "reason", ""), getattr(again, "reason", ""), own().replace(before, "BEFORE"), sep="|")
if isinstance(found, cgroup.Hierarchy):
    found.close()
"""


def test_probing_moves_our_process_only_where_v2_demands_it_and_it_is_delegated(
    hierarchy: cgroup.Hierarchy, start: Callable[[str], Child]
) -> None:
    """On v1 nothing moves; a v2 group is refused until it bears systemd's mark, then its process moves to the leaf."""
    prober = MOVE.format(path=sys.path)
    if hierarchy.kind == "cgroup:v1":
        child = start(prober)
        child.go()
        assert child.line() == "||BEFORE"
        return
    service = Path(hierarchy.parents[0]).with_name(f"service{os.getpid()}")
    service.mkdir()
    try:
        for mark, answer in ((b"0", "Delegate=yes"), (b"1", "||BEFORE/supervisor")):
            os.setxattr(service, "user.delegate", mark)
            child = start(prober)
            files.write(f"{service}/cgroup.procs", str(child.pid))
            child.go()
            assert answer in child.line()
            assert child.end() == 0
    finally:
        group_module.remove(str(service))
