"""What watches over the attacks has controls of its own: a touched canary and a leftover of any kind are noticed."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import canaries
import census
import pytest
from engines import Kind
from here import METERS

from sandbox import LayerMissing, Sandbox
from sandbox.model import Launcher

SERIAL = 15  # of the uids: no engine under attack has it


@pytest.fixture(scope="module")
def box(runtimes_dir: Path | None) -> Iterator[Sandbox]:
    """Give an engine that does nothing."""
    with contextlib.ExitStack() as scope:
        state_dir = Path(scope.enter_context(tempfile.TemporaryDirectory(prefix="fumehood-attacks-")))
        config = Kind(METERS[0], Launcher.COLD, SERIAL, runtimes_dir).config(state_dir)
        try:
            yield scope.enter_context(Sandbox(config))
        except LayerMissing as missing:
            pytest.fail(str(missing))


@pytest.fixture
def canary() -> Iterator[canaries.Canary]:
    """Lay one, untouched."""
    with canaries.laid() as laid:
        assert laid.touches() == []
        yield laid


def connect(family: int, address: object) -> None:
    """Connect, and leave."""
    with socket.socket(family) as near:
        near.connect(address)


TOUCHES: dict[str, Callable[[canaries.Canary], object]] = {
    "was read": lambda canary: canary.file.read_bytes(),
    "was changed": lambda canary: canary.file.write_text("x"),
    "folder holds": lambda canary: canary.file.with_name("x").touch(),
    "127.0.0.1": lambda canary: connect(socket.AF_INET, canary.listeners[0].getsockname()),
    "canary": lambda canary: connect(socket.AF_UNIX, canary.listeners[2].getsockname()),
    "socket": lambda canary: connect(socket.AF_UNIX, canary.listeners[3].getsockname()),
}


@pytest.mark.parametrize("word", TOUCHES)
def test_a_touched_canary_is_noticed(canary: canaries.Canary, word: str) -> None:
    """Whoever reads, changes or reaches it; afterwards it rests again."""
    TOUCHES[word](canary)
    assert any(word in touch for touch in canary.touches())


@contextlib.contextmanager
def descriptor(_: Sandbox) -> Iterator[None]:
    """Leave one open."""
    with Path("/dev/null").open():
        yield


@contextlib.contextmanager
def thread(_: Sandbox) -> Iterator[None]:
    """Leave one running."""
    end = threading.Event()
    left = threading.Thread(target=end.wait)
    left.start()
    yield
    end.set()
    left.join()


@contextlib.contextmanager
def file(box: Sandbox) -> Iterator[None]:
    """Leave one where the engine keeps its own."""
    assert box.config.state_dir is not None
    left = box.config.state_dir / "left"
    left.touch()
    yield
    left.unlink()


@contextlib.contextmanager
def guests_file(box: Sandbox) -> Iterator[None]:
    """Leave one of a guest's uid where everybody may write."""
    left = Path(f"/tmp/fumehood-left-{os.getpid()}")
    left.touch()
    os.chown(left, box.config.uid_base, -1)
    yield
    left.unlink()


@contextlib.contextmanager
def process(box: Sandbox) -> Iterator[None]:
    """Leave one of a guest's uid."""
    with subprocess.Popen(["/bin/sleep", "60"], user=box.config.uid_base) as left:
        yield
        left.kill()


@contextlib.contextmanager
def segment(box: Sandbox) -> Iterator[None]:
    """Leave shared memory of a guest's uid."""
    libc = ctypes.CDLL(None)
    left = libc.shmget(0, 4096, 0o1600)
    owner = (ctypes.c_uint32 * 32)(0, box.config.uid_base, 0, 0, 0, 0o600)  # struct shmid_ds begins with ipc_perm
    assert libc.shmctl(left, 1, owner) == 0
    yield
    libc.shmctl(left, 0, None)


@contextlib.contextmanager
def group(box: Sandbox) -> Iterator[None]:
    """Leave a control group."""
    meter = box._staging._new_meter()
    yield
    meter.close()


AS_ROOT = (guests_file, process, segment)


@pytest.mark.parametrize("leave", [descriptor, thread, file, group, *AS_ROOT], ids=lambda leave: leave.__name__)
def test_a_leftover_is_noticed(
    box: Sandbox,
    leave: Callable[[Sandbox], contextlib.AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
    need: Callable[[bool, str], None],
) -> None:
    """Of each kind; and what is gone again is no difference."""
    need(box.host.as_root or leave not in AS_ROOT, "root")
    need(box.host.meter_kind != "watch" or leave is not group, "control groups")
    monkeypatch.setattr(census, "_LOOKS", 2)
    standing = census.take(box)
    with leave(box):
        assert census.difference(box, standing) != ""
    assert census.difference(box, standing) == ""


def test_engines_have_uids_of_their_own() -> None:
    """Or one engine's processes would be taken for another's."""
    configs = [Kind("cgroup", Launcher.COLD, serial, None).config() for serial in range(SERIAL + 1)]
    assert all(later.uid_base - each.uid_base >= each.slots for each, later in itertools.pairwise(configs))
