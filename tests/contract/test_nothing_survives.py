"""What a run leaves behind on the host: nothing, at any ending, and not even when the service itself is killed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from here import METERS
from patience import within

from sandbox import Cancel, Config, Job, JobRefused, Limits, OnOutputLimit, Sandbox, SetupError, Status, claim
from sandbox.confine import cgroup
from sandbox.model import Host

ROOT = Path(__file__).resolve().parents[2]
SOON_SECONDS = 5.0  # a second at most on a machine that does nothing else
MARK = "86421.97531"  # a number of seconds that nobody else sleeps


def sleepers() -> list[int]:
    """Give the living processes of any guest of these tests."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if MARK.encode() in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found


def processes_of(config: Config) -> list[int]:
    """Give the living processes that run under a guest's uid of this configuration."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = dict(line.split(":\t", 1) for line in (entry / "status").read_text().splitlines() if ":\t" in line)
            uid = int(fields["Uid"].split()[0])
            if config.uid_base <= uid < config.uid_base + config.slots and fields["State"][0] not in "ZX":
                found.append(int(entry.name))
    return found


def owned(pid: int) -> set[str]:
    """Give the names under which a process owns what it made: it holds each such folder open."""
    links = [entry.readlink() for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.is_dir()]
    return {link.name.removeprefix("stage-") for link in links if re.fullmatch(rf"(stage-)?{claim.NAME}", link.name)}


def groups(owners: set[str]) -> list[str]:
    """Give the control groups of these owners, and their marks."""
    hierarchy = cgroup.locate()
    if isinstance(hierarchy, cgroup.Unavailable):
        return []
    return [
        name
        for parent in hierarchy.parents
        if Path(parent).is_dir()
        for name in (each.name for each in Path(parent).iterdir())
        if name.partition(".")[0] in owners
    ]


def descriptors() -> list[int]:
    """Give our open descriptors, but for TCP: the engine has none, and a server in this process closes idle ones."""
    tcp = {line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]}
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # what listed them
            if entry.readlink().name.strip("socket:[]") not in tcp:
                found.append(int(entry.name))
    return sorted(found)


def traces(box: Sandbox) -> dict[str, Any]:
    """Give everything that a run could leave on the host."""
    assert box.config.state_dir is not None
    return {
        "processes": processes_of(box.config) if box.host.as_root else [],
        "sleepers": sleepers(),
        "groups": groups(owned(os.getpid())),
        "mounts": Path("/proc/self/mountinfo").read_text(),
        "files": sorted(str(path) for path in box.config.state_dir.rglob("*") if path.parent.name != "slots"),
        "descriptors": descriptors(),
        "threads": threading.active_count(),
        "children": [
            child for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split() if _is_guests(child)
        ],
    }


def quiet(box: Sandbox) -> dict[str, Any]:
    """Give the same when what earlier runs held has been taken down: that comes after their answers."""
    seen = traces(box)
    while True:
        time.sleep(0.2)
        now = traces(box)
        if now == seen:
            return now
        seen = now


def _is_guests(pid: str) -> bool:
    with contextlib.suppress(OSError):
        return b"bwrap" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


BREEDS = f"""
import os, signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)
subprocess.Popen(['sleep', '{MARK}'])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execlp('sleep', 'sleep', '{MARK}')
    os._exit(0)
open('x', 'w').write('x')
"""
ENDINGS: dict[str, tuple[str, dict[str, Any], Status]] = {
    "ok": ("", {}, Status.OK),
    "error": ("1/0", {}, Status.ERROR),
    "signaled": ("os.kill(os.getpid(), 11)", {}, Status.SIGNALED),
    "timeout": ("signal.pause()", {"wall_seconds": 0.4}, Status.TIMEOUT),
    "cpu": ("while True: pass", {"cpu_seconds": 0.3}, Status.CPU_LIMIT),
    "memory": ("x = []\nwhile True: x.append(b'x' * (1 << 20))", {"memory_bytes": 48 << 20}, Status.MEMORY_LIMIT),
    "processes": ("while True:\n  if os.fork() == 0: signal.pause()", {"processes": 9}, Status.PROCESS_LIMIT),
    "disk": ("open('x', 'wb').write(bytes(2 << 20))", {"disk_bytes": 1 << 20}, Status.DISK_LIMIT),
    "output": ("while True: print('x' * 999)", {"output_bytes": 99}, Status.OUTPUT_LIMIT),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_ending_leaves_anything_on_the_host(box: Sandbox, ending: str) -> None:
    """No process, group, mount, file, descriptor or thread, soon after each kind of verdict."""
    code, limits, status = ENDINGS[ending]
    job = Job(
        code=BREEDS + code,
        collect=("**",),
        limits=Limits(**{"wall_seconds": 10.0, **limits}),
        on_output_limit=OnOutputLimit.KILL if ending == "output" else OnOutputLimit.TRUNCATE,
    )
    before = quiet(box)
    result = box.run(job)
    if not (ending == "processes" and "watch" in result.layers):
        assert result.status is status
    assert within(SOON_SECONDS, lambda: traces(box) == before), {
        k: (v, before[k]) for k, v in traces(box).items() if v != before[k]
    }


def test_a_cancelled_run_leaves_nothing(box: Sandbox) -> None:
    """Whether the wish came before or during it; only the wish's own descriptor is its caller's."""
    box.run(Job(code=""))
    before = quiet(box)
    for delay in (0.0, 0.01, 0.05, 0.3):
        cancel = Cancel()
        timer = threading.Timer(delay, cancel.set)
        timer.start()
        assert box.run(Job(code=BREEDS + "signal.pause()"), cancel=cancel).status is Status.CANCELLED
        timer.join()
        del cancel, timer
    assert within(SOON_SECONDS, lambda: traces(box) == before)


def test_a_refused_job_leaves_nothing(box: Sandbox) -> None:
    """It never got as far as having anything."""
    before = quiet(box)
    with pytest.raises(JobRefused):
        box.run(Job(code="\0"))
    assert traces(box) == before


@pytest.fixture
def broken(box: Sandbox) -> Iterator[Sandbox]:
    """Give an engine whose bash is not where it is said to be."""
    host: Host = box.host
    bash = replace(host.runtimes["bash"], command=("/usr/bin/no-such-bash",))
    box.host = replace(host, runtimes={**host.runtimes, "bash": bash})
    yield box
    box.host = host


def test_our_own_failure_names_the_step_and_leaves_nothing(broken: Sandbox) -> None:
    """A step that fails inside is an exception of ours, never a verdict on the guest."""
    broken.run(Job(code=""))
    before = quiet(broken)
    with pytest.raises(SetupError) as failure:
        broken.run(Job(code="echo x", language="bash"))
    assert (failure.value.step, failure.value.errno) == ("guest: exec", 2)
    assert within(SOON_SECONDS, lambda: traces(broken) == before)


SERVICE = """
import sys
from pathlib import Path
from sandbox import Config, Job, Limits, Sandbox
state, runtimes, uid_base, parent = sys.argv[1:5]
box = Sandbox(Config(
    state_dir=Path(state), runtimes_dir=Path(runtimes) if runtimes else None, uid_base=int(uid_base), slots=8,
    cgroup_parent=parent or None, may_lack=frozenset({"cgroup"}),
))
box.run(Job(code=sys.stdin.read(), limits=Limits(wall_seconds=60)))
"""


@pytest.mark.parametrize("meter", METERS)
@pytest.mark.parametrize(
    "ends",
    ["signal.pause()", "while True: pass", "while True:\n  try: os.fork()\n  except OSError: pass"],
    ids=["idle", "busy", "bomb"],
)
def test_a_killed_service_takes_its_guests_along(
    engine: Callable[[str], Sandbox], config: Config, meter: str, ends: str
) -> None:
    """SIGKILL in the middle of a run: no guest soon after, and the next start removes groups and stage."""
    assert config.state_dir is not None
    parent = "" if meter == "cgroup" else "/fumehood-has-no-such-group"
    engine(meter)
    uid_base = config.uid_base + 1_000_000
    killed = replace(config, uid_base=uid_base, slots=8)
    arguments = [str(config.state_dir), str(config.runtimes_dir or ""), str(uid_base), parent]
    with subprocess.Popen(
        [sys.executable, "-c", SERVICE, *arguments], stdin=subprocess.PIPE, cwd=ROOT, text=True
    ) as service:
        assert service.stdin is not None
        service.stdin.write(BREEDS + ends)
        service.stdin.close()
        deadline = time.monotonic() + 20
        while not sleepers() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert sleepers()
        owners = owned(service.pid)
        (stage,) = [path for path in config.state_dir.iterdir() if path.name.removeprefix("stage-") in owners]
        assert any("." in name for name in groups(owners)) == (meter == "cgroup")
        service.send_signal(signal.SIGKILL)
        service.wait()
    assert within(SOON_SECONDS, lambda: not sleepers() and not (os.geteuid() == 0 and processes_of(killed))), (
        processes_of(killed)
    )
    assert stage.is_dir()
    with Sandbox(replace(killed, cgroup_parent=parent or None)) as next_one:
        assert next_one.run(Job(code="print(1)")).stdout == "1\n"
        assert groups(owners) == []
        assert not stage.exists()


def test_an_engine_gives_back_all_it_held(config: Config, box: Sandbox) -> None:
    """Closed twice or once, it leaves no stage, thread or descriptor."""
    before = quiet(box)
    for _ in range(2):
        with Sandbox(replace(config, cgroup_parent=box.config.cgroup_parent)) as other:
            other.run(Job(code=""))
        other.close()
    after = quiet(box)
    assert json.dumps(after, default=str) == json.dumps(before, default=str)
