"""What a service that was killed under load leaves goes with it or with the next start; a start says why not."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import serving
from conversation import below
from groups import groups_of_runs, parent
from program import FUMEHOOD, ROOT, environment, program
from test_service_faults import small_disk

UID_BASE = 2_082_000_000


until = functools.partial(serving.until, seconds=10)


@pytest.fixture
def settings(state_dir: Path, need: Callable[[bool, str], None]) -> Iterator[tuple[dict[str, str], list[Path]]]:
    """Give the settings of two services after one another, and where their groups are."""
    need(os.geteuid() == 0, "root, to make control groups")
    with parent() as (name, groups):
        yield (
            {
                "data_dir": str(state_dir / "data"),
                "cgroup_parent": name,
                "uid_base": str(UID_BASE),
                "concurrency": "4",
                "warm__preloads": '{"bare": []}',
                "warm__depth": "2",
            },
            groups,
        )


def stages(state_dir: Path) -> list[str]:
    """Name the folders of engines."""
    return [path.name for path in state_dir.glob("stage-*")]


def test_a_start_clears_what_a_kill_left(state_dir: Path, settings: tuple[dict[str, str], list[Path]]) -> None:
    """Processes die with the service; its folders and control groups go when the next one starts."""
    given, groups = settings
    with program(state_dir, **given) as running:
        for _ in range(3):
            assert running.client.post("/v1/execute", json={"code": "print(1)"}).status_code == 200
        with subprocess.Popen(
            ["/bin/sh", "-c", f"for _ in 1 2 3; do {RUN.format(address=running.address)} & done; wait"]
        ) as callers:
            until(lambda: len(of_guests()) >= 3)
            family = [process for process in below(running.process.pid) if process.name() != "sh"]
            running.process.send_signal(signal.SIGKILL)
            running.process.wait()
            callers.wait()
    _, alive = psutil.wait_procs(family, timeout=5)
    assert alive == []
    assert of_guests() == []
    left, left_stages = groups_of_runs(groups), stages(state_dir)
    # The control: there was something to clear.
    assert left
    assert len(left_stages) == 1
    with program(state_dir, **given) as running:
        assert running.client.post("/v1/execute", json={"code": "print(1)"}).json()["stdout"] == "1\n"
        assert groups_of_runs(groups) & left == set()
        assert set(stages(state_dir)) & set(left_stages) == set()
        assert running.stop() == 0
    assert groups_of_runs(groups) == set()
    assert stages(state_dir) == []


RUN = (
    "curl -s -o /dev/null -H 'Content-Type: application/json' "
    '-d \'{{"code": "import time; time.sleep(30)"}}\' {address}/v1/execute'
)


def of_guests() -> list[psutil.Process]:
    """Give the processes under the uids of guests that are programs by now: in a session of their own."""
    found = []
    for each in psutil.process_iter(["uids", "status"]):
        uids = each.info["uids"]
        if uids and UID_BASE <= uids.real < UID_BASE + 4096 and each.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(each)
    return found


@pytest.mark.parametrize("full", ["state_dir", "data_dir"])
def test_a_start_on_a_full_disk_ends_in_words(state_dir: Path, full: str, need: Callable[[bool, str], None]) -> None:
    """1 and the reason, and nothing is left that would be in the way of the next start."""
    need(os.geteuid() == 0, "root, to mount a small disk")
    other = state_dir / "other"
    other.mkdir(exist_ok=True)
    with small_disk(state_dir / f"full-{full}") as disk:
        (disk / "filler").write_bytes(b"")
        with (disk / "filler").open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
        folders = {"state_dir": str(other), "data_dir": str(other)} | {full: str(disk)}
        done = subprocess.run(
            [*FUMEHOOD, "serve", "--port", "0"],
            cwd=ROOT,
            env=environment(**folders, uid_base=str(UID_BASE + 8192)),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        assert "No space left on device" in done.stderr or "full" in done.stderr, done.stderr
        assert [path.name for path in disk.glob("stage-*")] == []
