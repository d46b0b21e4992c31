"""Guest uids: one run, one uid, on the whole machine."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox.errors import SetupError
from sandbox.slots import PLACE, Slots


def test_no_two_runs_have_one_uid(tmp_path: Path) -> None:
    """From many threads at once, and each comes back for the next."""
    slots = Slots(tmp_path / "slots", 5000, 16)
    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(lambda _: slots.take(), range(16)))
    assert sorted(taken) == list(range(5000, 5016))
    with pytest.raises(SetupError, match="all 16 guest uids"):
        slots.take()
    slots.give(5003)
    assert slots.take() == 5003
    slots.close()


def test_services_side_by_side_share_the_range(tmp_path: Path) -> None:
    """What one holds the other skips, until the first is closed."""
    first, second = Slots(tmp_path, 5000, 2), Slots(tmp_path, 5000, 2)
    assert (first.take(), second.take()) == (5000, 5001)
    for each in (first, second):
        with pytest.raises(SetupError):
            each.take()
    first.close()
    assert second.take() == 5000
    second.close()


def test_a_uid_given_back_is_for_any_service(tmp_path: Path) -> None:
    """An idle service holds none, however many it once had; who waits in another process gets it too."""
    first, second = Slots(tmp_path, 5000, 8), Slots(tmp_path, 5000, 8)
    had = [first.take() for _ in range(8)]
    threading.Timer(0.05, first.give, (had[3],)).start()
    assert second.take() == had[3]
    for uid in had[:3] + had[4:]:
        first.give(uid)
    assert sorted(second.take() for _ in range(7)) == sorted(had[:3] + had[4:])
    first.close()
    second.close()


def test_a_uid_given_back_after_the_close_is_no_matter(tmp_path: Path) -> None:
    """What is torn down last may come after it."""
    slots = Slots(tmp_path, 5000, 1)
    uid = slots.take()
    slots.close()
    slots.give(uid)
    assert slots.take() == uid
    slots.close()


def test_a_dead_services_uids_are_free(tmp_path: Path) -> None:
    """The lock ends with whoever held it, however it ended."""
    pid = os.fork()
    if pid == 0:
        Slots(tmp_path, 5000, 1).take()
        os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    slots = Slots(tmp_path, 5000, 1)
    assert slots.take() == 5000
    slots.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait long for a uid that nobody will give back."""
    monkeypatch.setattr("sandbox.slots._PATIENCE_SECONDS", 0.2)


def test_a_uid_that_is_given_back_in_time_is_waited_for(tmp_path: Path) -> None:
    """A run's end is taken care of after its answer; the next run may come before its uid is back."""
    slots = Slots(tmp_path, 5000, 1)
    uid = slots.take()
    threading.Timer(0.05, slots.give, (uid,)).start()
    assert slots.take() == uid
    slots.close()


def descriptors() -> set[str]:
    """Give the open ones, without that which lists them."""
    return {each.name for each in Path("/proc/self/fd").iterdir() if each.exists()}


def test_closing_leaves_no_descriptor(tmp_path: Path) -> None:
    """Closed twice is closed once, and a lock is not inherited."""
    before = descriptors()
    slots = Slots(tmp_path, 5000, 3)
    slots.take()
    (held,) = descriptors() - before
    assert not os.get_inheritable(int(held))
    slots.close()
    slots.close()
    assert descriptors() == before


def test_the_place_is_the_machines_and_made_where_it_is_not_there(tmp_path: Path) -> None:
    """No service's own folder decides it; where it cannot be made, that is a step of ours with its name."""
    assert str(PLACE) == "/run/fumehood/slots"
    Slots(tmp_path / "not/there/yet", 5000, 1).close()
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="slot"):
        Slots(tmp_path / "file/slots", 5000, 1)


def test_the_folder_is_nobody_elses(tmp_path: Path) -> None:
    """Another user's lock on a slot would deny it to us."""
    Slots(tmp_path / "slots", 5000, 1).close()
    assert (tmp_path / "slots").stat().st_mode & 0o777 == 0o700
