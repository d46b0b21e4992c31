"""What an interpreter is before it is forked into runs: init of a cold run does this for itself, a fork server for all.

Whatever is done here a warm run inherits: no page is copied for it, no call made.
"""

from __future__ import annotations

import _signal
import os
import resource
import sys

from . import libc, program
from .steps import Step, forbid_cores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

_PAGES_OF_FILES = ("r-xp", "r--p")
_hidden: list[ModuleType] = []  # out of sys.modules they would be taken down, page by page


def settle(env: dict[str, str]) -> None:
    """Be as a Python program finds its interpreter: signals, limits, environment, and no module of ours to be seen.

    Ours stay at work. Raises StepError.
    """
    with Step("image: signals"):
        for number in range(1, _signal.NSIG):  # what the interpreter changed, or found changed and still believes
            if _signal.getsignal(number) not in (_signal.SIG_DFL, None):
                _signal.signal(number, _signal.SIG_DFL)
        libc.default_signals()
    with Step("image: limits"):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # init needs one a level when walking the workspace
        forbid_cores()
    with Step("image: environment"):
        ours = [name for name in sys.modules if name == __package__ or name.startswith(f"{__package__}.")]
        _hidden.extend(sys.modules.pop(name) for name in ours)
        program.adopt_environment(env)
        program.note_modules()


def carry_pages_over_forks() -> None:
    """Let children inherit the page table entries of what is mapped from files by now: interpreter and C library.

    fork(2) leaves such entries to be faulted in again by each child, some hundred times, unless the mapping has a
    private page (``vma_needs_copy`` in mm/memory.c, Linux 5.8 to 6.18). So one byte of each is written over itself,
    through ``/proc/self/mem``, which needs no write permission on the page. Where that is refused, nothing changes.
    """
    try:
        with open("/proc/self/maps") as file:
            lines = file.read().splitlines()
        memory = os.open("/proc/self/mem", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        for line in lines:
            addresses, permissions, _, _, inode, *_ = line.split()
            if permissions in _PAGES_OF_FILES and inode != "0":
                start = int(addresses.partition("-")[0], 16)
                os.pwrite(memory, os.pread(memory, 1, start), start)
    except OSError:
        pass
    finally:
        os.close(memory)
