"""A service under load whose machine fails it: each accepted run has one answer and one record."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import serving
from conversation import below
from groups import frozen, groups_of_runs, parent, pen
from program import Program, program

from callers import Books, balance, calling

FAULT_SECONDS = 1.5
UID_BASE = 2_080_000_000


until = functools.partial(serving.until, seconds=20)


@dataclass(frozen=True)
class Served:
    """A service, its control groups, and the folder its records are in."""

    running: Program
    groups: list[Path]
    data: Path

    @property
    def pid(self) -> int:
        """Of the service."""
        return self.running.process.pid


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of 32 MB."""
    folder.mkdir()
    subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", "size=32m,mode=755", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["/bin/umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def served(state_dir: Path, need: Callable[[bool, str], None]) -> Iterator[Served]:
    """Give one service for all faults: what one leaves would show in the next."""
    need(os.geteuid() == 0, "root, to mount and to make control groups")
    with parent() as (name, groups), small_disk(state_dir / "disk") as data:
        with program(
            state_dir,
            data_dir=str(data),
            cgroup_parent=name,
            uid_base=str(UID_BASE),
            concurrency="4",
            warm__preloads='{"bare": []}',
            warm__depth="2",
            shutdown_grace_seconds="5",
            analysis_enclosed="false",  # or its workers would be counted among the runs
        ) as running:
            made = Served(running, groups, data)
            with calling(running, "before"), ThreadPoolExecutor(8) as readers:  # what it opens once, it opens now
                for answer in readers.map(lambda _: running.client.get("/v1/executions"), range(40)):
                    assert answer.status_code == 200
                time.sleep(0.5)
            yield made
            assert running.stop() == 0
        assert groups_of_runs(groups) == set()


@pytest.fixture
def well(served: Served) -> Iterator[Served]:
    """Give it as it is between faults; afterwards it must be as well, and as large, as before."""
    until(lambda: is_warm(served))
    at_rest(served)
    before = open_files(served)
    yield served
    until(lambda: is_warm(served))
    for _ in range(3):
        assert execute(served) == (200, "ok")
    at_rest(served)
    until(lambda: len(groups_of_runs(served.groups)) == 2)
    # What a failed call held goes with the next collection of cycles, which busy services have all the time.
    until(lambda: execute(served) == (200, "ok") and open_files(served) <= before + 2)


def at_rest(served: Served) -> None:
    """Wait until nothing is there but the fork server and the two that wait in it."""
    try:  # bwrap and the server in it, and for each child init and who becomes the guest
        until(lambda: len(of_runs(served)) == 6)
    except AssertionError:
        left = [(each.ppid(), each.pid, each.name(), each.status()) for each in of_runs(served)]
        pytest.fail(f"these do not end, or some are missing: {left}")


def of_runs(served: Served) -> list[psutil.Process]:
    """Give the bwraps and all that is in them; the service has workers of its analyser beside them."""
    found = []
    for each in psutil.Process(served.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [each, *below(each.pid)] if each.name() == "bwrap" else []
    return [each for each in found if each.is_running()]


def is_warm(served: Served) -> bool:
    """Whether its children wait."""
    (bare,) = served.running.client.get("/v1/capabilities").json()["fork_servers"]
    return bool(bare["up"] and bare["waiting"] == 2)


def open_files(served: Served) -> int:
    """Count the descriptors of the service, but for connections."""
    return psutil.Process(served.pid).num_fds() - len(psutil.Process(served.pid).net_connections("tcp"))


def execute(served: Served) -> tuple[int, str]:
    """Run something honest."""
    answer = served.running.client.post("/v1/execute", json={"code": "print(6 * 7)"})
    return answer.status_code, answer.json().get("status", answer.text)


def test_processes_that_are_killed_at_random(well: Served) -> None:
    """Fork servers, bwraps, inits and guests, in the midst of everything."""
    dice = random.Random(1)  # noqa: S311 - victims, not secrets
    killed = 0
    with calling(well.running, "killed") as books:
        end = time.monotonic() + 2 * FAULT_SECONDS
        while time.monotonic() < end:
            found = of_runs(well)
            if found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    dice.choice(found).send_signal(signal.SIGKILL)
                    killed += 1
            time.sleep(0.03)
    assert killed > 10
    # A guest that is killed from outside was killed: that is its verdict, and true.
    books.wrong[:] = [each for each in books.wrong if "'signaled'" not in each]
    assert_served(books)
    balance(well.running, books, until)


def test_no_more_processes(well: Served) -> None:
    """The control group of the service itself is full: runs fail in our name, and pass when there is room again."""
    with calling(well.running, "pids") as books, pen(well.pid) as most:
        for each in of_runs(well):
            with contextlib.suppress(OSError):
                (most.parent / "cgroup.procs").write_text(str(each.pid))
        for spare in (0, 1, 2, 3):
            now = int((most.parent / "pids.current").read_text())
            most.write_text(str(now + spare))
            time.sleep(FAULT_SECONDS / 4)
        assert "max 0" not in (most.parent / "pids.events").read_text()
        most.write_text("max")
        served_well(books)
    assert_served(books)
    balance(well.running, books, until)


def test_no_more_disk(well: Served) -> None:
    """Where a run cannot be put on record it is refused with 503, and never run; what was accepted is recorded."""
    with calling(well.running, "disk") as books:
        served_well(books)
        filler = well.data / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(1 << 16)):
                pass
        with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"x"):
                pass
        time.sleep(FAULT_SECONDS)
        filler.unlink()
        served_well(books)
    assert any(answer == (503, "records-behind") for answer in books.answers.values()), books.answers
    assert_served(books)
    balance(well.running, books, until)


def test_no_group_can_be_made_or_removed(well: Served) -> None:
    """Runs fail in our name; and the groups that could not be removed meanwhile are gone when they can."""
    with calling(well.running, "groups") as books:
        served_well(books)
        with frozen(well.groups):
            time.sleep(FAULT_SECONDS)
        served_well(books)
    assert any(answer == (500, "setup-failed") for answer in books.answers.values()), books.answers
    assert_served(books)
    balance(well.running, books, until)


def served_well(books: Books) -> None:
    """Wait for some more runs that are as they should be."""
    before = books.count(200)
    until(lambda: books.count(200) >= before + 5)


def assert_served(books: Books) -> None:
    """See that there was a load, and that what went wrong has our name."""
    assert books.count(200) > 5
    assert {code for code, _ in books.answers.values()} <= {200, 500, 503}
    assert {told for code, told in books.answers.values() if code == 500} <= {"setup-failed"}, books.answers
