"""The process that becomes the guest. Until the gate opens it runs our code alone, at first with all of init's power.

Until its orders come it may not look at the file system: init exchanges the root under it.

It is forked before there is a job and spends the time until its orders come on a rehearsal: a forked interpreter
copies each page that it writes to, some 15 µs a page, and a small program writes to about two hundred of them. They
are its own before the clock starts.
"""

from __future__ import annotations

import fcntl
import os
import resource
import sys

from . import program, root, wire
from .steps import Step, StepError, lock_down

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from typing import Any, NoReturn

_MOST_ORDER_BYTES = 16 << 20
_STANDARD = 4  # descriptors that always come: stdin, stdout, stderr, gate; doors follow
_HIGHEST_OF_OURS = 64  # no descriptor of ours has a higher number
_REHEARSAL = """
import sys
def work(number):
    return f"{number} {[each for each in range(number)]}"
try:
    print(work(3), file=sys.stdout)
    raise KeyError(1)
except KeyError:
    pass
"""


def main(link: _socket.socket) -> NoReturn:
    """Rehearse, take orders, be confined, wait at the gate, become the program."""
    try:
        with Step("guest: rehearse"):
            exec(compile(_REHEARSAL, "rehearsal", "exec"), {"__name__": "rehearsal"})  # noqa: S102 - our own text
        with Step("guest: orders"):
            orders, descriptors = wire.receive(link, wire.Reader(_MOST_ORDER_BYTES))
            if orders is None:  # init went away
                os._exit(1)
            if orders.keys() != wire.ORDER_KEYS or len(descriptors) != _STANDARD + orders["doors"]:
                raise wire.WireError("these are no orders")
        gate = _confine(orders, descriptors, link)
        wire.send(link, {"set": None})
        if not os.read(gate, 1):  # the host went away
            os._exit(1)
        os.close(gate)
        path = f"{root.JOB_DIRECTORY}/{orders['source_name']}"
        if orders["command"] is not None:
            with Step("guest: exec"):
                program.run_exec(orders["command"], path, orders["args"], orders["env"])
    except StepError as error:
        wire.send(link, error.told)
        os._exit(1)
    link.close()
    sys.path.remove(os.path.dirname(os.path.dirname(__file__)))
    sys.path.insert(0, root.WORKSPACE)
    hidden = tuple(name for name in sys.modules if name == __package__ or name.startswith(f"{__package__}."))
    program.run_python(path, orders["args"], orders["env"], hidden)


def _confine(orders: dict[str, Any], descriptors: list[int], link: _socket.socket) -> int:
    """Do what takes power first, then give it up. Leaves 0, 1, 2, the link and the gate, whose number it gives."""
    with Step("guest: enter the meter"):
        for door in descriptors[_STANDARD:]:
            os.write(door, b"0")
            os.close(door)
    with Step("guest: session"):
        os.setsid()
        os.umask(0o022)
        os.chdir(root.WORKSPACE)
    with Step("guest: descriptors"):
        # By way of high numbers: one that was received may itself be 0, 1 or 2.
        stdin, stdout, stderr, gate = (_above_ours(each) for each in descriptors[:_STANDARD])
        for number, descriptor in enumerate((stdin, stdout, stderr)):
            os.dup2(descriptor, number, inheritable=True)
            os.close(descriptor)
        kept = link.fileno()
        os.closerange(3, kept)
        os.closerange(kept + 1, _HIGHEST_OF_OURS)
    with Step("guest: affinity"):
        if orders["affinity"] is not None:
            os.sched_setaffinity(0, orders["affinity"])
    with Step("guest: limits"):
        for number, value in orders["rlimits"]:
            resource.setrlimit(number, (value, value))
    lock_down("guest", orders["filters"])
    return gate


def _above_ours(descriptor: int) -> int:
    moved: int = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGHEST_OF_OURS)
    os.close(descriptor)
    return moved
