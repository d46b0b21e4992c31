"""A guest that has ended is stopped and not yet gone while its answer is on its way: it must not go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import psutil
import pytest
from conversation import below
from serving import until

from sandbox import Config, Job, Sandbox, undertaker

GRACE_SECONDS = 3.0  # so long, here, until the host takes a run down
# A timer that sends SIGCONT after 0.3 s (timer_create(2)), and a handler that goes on for ever.
GOES_ON = """
import ctypes, signal
libc = ctypes.CDLL(None)
event = (ctypes.c_int * 16)(0, 0, signal.SIGCONT, 0)
timer = ctypes.c_void_p()
assert libc.timer_create(1, event, ctypes.byref(timer)) == 0
assert libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 300_000_000), None) == 0
def go_on(*_):
    while True: pass
signal.signal(signal.SIGCONT, go_on)
"""


@pytest.fixture
def box(configured: Callable[..., Config], monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """Give an engine that takes its time to take runs down."""
    with Sandbox(configured()) as made:
        until(lambda: bool(made.warmth[0]["waiting"]))
        monkeypatch.setattr(undertaker, "_GRACE_SECONDS", GRACE_SECONDS)
        yield made
        monkeypatch.undo()


def ended(box: Sandbox, code: str) -> psutil.Process:
    """Run it, and give its main process, which has stopped."""
    assert box.run(Job(code=f"{code}\nprint('end')")).stdout == "end\n"
    server = box.warmth[0]["pid"]
    assert server is not None
    (stopped,) = (each for each in below(server) if each.status() == psutil.STATUS_STOPPED)
    return stopped


def test_who_would_go_on_after_its_end_is_ended(box: Sandbox) -> None:
    """At the very moment, and not when the host comes to it."""
    guest = ended(box, GOES_ON)
    until(lambda: not guest.is_running(), GRACE_SECONDS - 1)


def test_who_has_ended_stays_as_it_is_until_it_is_taken_down(box: Sandbox) -> None:
    """The control: nothing wakes it, and nothing else ends it before."""
    guest = ended(box, "")
    time.sleep(GRACE_SECONDS / 2)
    assert guest.status() == psutil.STATUS_STOPPED
    until(lambda: not guest.is_running(), GRACE_SECONDS + 2)
