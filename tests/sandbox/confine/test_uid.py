"""Starting a process as another user from one thread: it keeps nothing of root, and the thread gets root back."""

from __future__ import annotations

import os
import platform
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.confine.uid import started_as
from sandbox.errors import SetupError

UID = 2_147_000_123
MACHINE = platform.machine()


@pytest.fixture(autouse=True)
def _root(need: Callable[[bool, str], None]) -> None:
    need(os.geteuid() == 0, "root")


def credentials(text: str) -> dict[str, list[str]]:
    """Give the credentials of a status file."""
    fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return {name: fields[name].split() for name in ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapAmb")}


def mine() -> dict[str, list[str]]:
    """Give those of the calling thread."""
    return credentials(Path("/proc/thread-self/status").read_text())


def test_what_is_started_is_the_user_and_nothing_else() -> None:
    """All four ids, no group and no capability; and it cannot become root again."""
    with started_as(UID, MACHINE):
        done = subprocess.run(["/bin/cat", "/proc/self/status"], capture_output=True, text=True, check=True)
        back = subprocess.run(
            ["/usr/bin/setpriv", "--reuid=0", "--clear-groups", "true"], capture_output=True, check=False
        )
    got = credentials(done.stdout)
    assert got["Uid"] == got["Gid"] == [str(UID)] * 4
    assert got["Groups"] == []
    assert {got[name][0] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
    assert back.returncode != 0


def test_the_thread_gets_root_back() -> None:
    """As it was before, groups included, also when the block fails or nothing could be started in it."""
    before = mine()
    with started_as(UID, MACHINE):
        assert mine()["Uid"] == [str(UID), str(UID), "0", str(UID)]
    assert mine() == before
    with pytest.raises(FileNotFoundError), started_as(UID, MACHINE):
        subprocess.Popen(["/no/such/program"])
    assert mine() == before
    with pytest.raises(KeyboardInterrupt), started_as(UID, MACHINE):
        raise KeyboardInterrupt
    assert mine() == before


@pytest.mark.parametrize("uid", [0, -1, 2**32 - 1, 2**32])
def test_what_is_no_unprivileged_user_is_refused(uid: int) -> None:
    """Root is none, and to these calls -1 means to change nothing: the block would run as root."""
    before = mine()
    entered = []
    with pytest.raises(SetupError, match="not a guest's uid"), started_as(uid, MACHINE):
        entered.append(mine())
    assert entered == []
    assert mine() == before


def test_no_other_thread_changes() -> None:
    """Credentials are a thread's own, and the service goes on as it was meanwhile."""
    inside, seen = threading.Event(), threading.Event()
    other: list[dict[str, list[str]]] = []

    def look() -> None:
        inside.wait(5)
        other.append(mine())
        seen.set()

    thread = threading.Thread(target=look)
    thread.start()
    with started_as(UID, MACHINE):
        inside.set()
        assert seen.wait(5)
    thread.join()
    assert other[0]["Uid"] == ["0"] * 4
