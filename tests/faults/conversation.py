"""A guest's side that stops at one message of the conversation, so that a test can kill somebody at that very moment.

The moments are those of :mod:`sandbox.guest.wire`: its table is read, so a message that is added there is tested too.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from sandbox import Sandbox, stage
from sandbox.guest import wire

HELD_SECONDS = 20  # longer than any test, shorter than what waits for it forever
_ASLEEP = "hrtimer_nanosleep"  # where the kernel says a sleeper is, proc_pid_wchan(5); nothing of ours sleeps otherwise
_LINE = re.compile(r"^    (host|server|init|become)\s+->\s+(host|server|init|become)\s+(\w+)\s", re.MULTILINE)

# Added to the guest's copy of wire.py: stop where the stage's environment says, until killed or robbed of a child.
_HOLD = f"""
import time as _time
_held_at = ""


def _name_of(value):
    if not isinstance(value, dict):
        return ""
    for name, keys in (("stage", STAGE_KEYS), ("job", JOB_KEYS), ("orders", ORDER_KEYS)):
        if value.keys() == keys:
            return name
    return next(iter(value), "")


def _has_lost_its_child():
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:
        return False


def _hold(value, side):
    global _held_at
    name = _name_of(value)
    if name == "stage":
        _held_at = value["env"].get("HELD_AT", "")
    if name == "serve":
        _held_at = value["serve"]["stage"]["env"].get("HELD_AT", "")
    if _held_at == name + " " + side:
        for _ in range({HELD_SECONDS} * 100):
            if _has_lost_its_child():
                break
            _time.sleep(0.01)
    if _held_at == "failed send" and name == "ready":
        raise OSError(5, "injected")


def _holding(send_it):
    def send(link, *values, descriptors=()):
        for value in values:
            _hold(value, "send")
        send_it(link, *values, descriptors=descriptors)
    return send


def _receive(inbox, receive_it=Inbox.receive):
    value = receive_it(inbox)
    _hold(value, "receive")
    return value


send, send_down, Inbox.receive = _holding(send), _holding(send_down), _receive
"""


@dataclass(frozen=True)
class Moment:
    """A message, and who inside stops at it: before it is sent, or when it has come."""

    message: str
    side: str
    who: str

    def __str__(self) -> str:
        return f"{self.message} {self.side}"


def moments() -> list[Moment]:
    """Give every moment of the conversation, as ``wire`` tells it, at which somebody inside can be stopped."""
    found = []
    for sender, receiver, message in _LINE.findall(wire.__doc__ or ""):
        ends = (("send", sender), ("receive", receiver))
        found += [Moment(message, side, who) for side, who in ends if who != "host"]
    return found


@contextlib.contextmanager
def stopping_guest(folder: Path) -> Iterator[None]:
    """Let engines that start meanwhile have a guest's side that can be stopped; ``folder`` is where it is put."""
    shutil.copytree(Path(stage.__file__).with_name("guest"), folder / "guest")
    with (folder / "guest/wire.py").open("a") as file:
        file.write(_HOLD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "__file__", str(folder / "stage.py"))
        yield


@contextlib.contextmanager
def stopping(box: Sandbox, moment: Moment) -> Iterator[None]:
    """Have who is made meanwhile stop at that moment."""
    env = box._staging.stage["env"]
    env["HELD_AT"] = str(moment)
    try:
        yield
    finally:
        env.pop("HELD_AT", None)


def held(above: int | None = None) -> psutil.Process:
    """Wait for the one below us who is stopped, and give it."""
    deadline = time.monotonic() + HELD_SECONDS / 2
    while time.monotonic() < deadline:
        for each in below(above):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{each.pid}/wchan").read_text() == _ASLEEP:
                    return each
        time.sleep(0.003)
    raise AssertionError("nobody came to that moment")


def below(above: int | None = None) -> list[psutil.Process]:
    """Give all processes that descend from us, or from that one; psutil would read every process there is."""
    found: list[psutil.Process] = []
    waiting = [above or psutil.Process().pid]
    while waiting:
        with contextlib.suppress(OSError, psutil.NoSuchProcess):
            for file in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
                children = [psutil.Process(int(word)) for word in file.read_text().split()]
                found += children
                waiting += [each.pid for each in children]
    return found
