"""The process that becomes the guest. Until the gate opens it runs our code alone, at first with all of init's power.

Until its orders come it may not look at the file system: init exchanges the root under it.

It is forked and confined before the job is known, and spends the time until its orders come on a rehearsal: a forked
interpreter copies each page that it writes to, and a small program writes to about two hundred of them. They are its
own before the clock starts.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import resource
import sys

from . import libc, program, root, wire
from .steps import Step, StepError, lock_down

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_MOST_BYTES = 16 << 20
_DESCRIPTORS = 4  # stdin, stdout, stderr, gate; doors follow
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
    """Be confined, rehearse, take orders, wait at the gate, become the program."""
    try:
        inbox = wire.Inbox(link, _MOST_BYTES, wire.unpack)
        host = _be_confined(link, inbox)
        with Step("guest: rehearse"):
            exec(compile(_REHEARSAL, "rehearsal", "exec"), {"__name__": "rehearsal"})  # noqa: S102 - our own text
        with Step("guest: root"):
            if inbox.receive() is None:  # init went away
                os._exit(1)
        orders, gate = _take_orders(host, link)
        wire.send(host, {"set": None})
        if not os.read(gate, 1):  # the host went away
            os._exit(1)
        os.close(gate)
        host.close()
        path = f"{root.JOB_DIRECTORY}/{orders['source_name']}"
        if orders["command"] is not None:
            with Step("guest: exec"):
                program.run_exec(orders["command"], path, orders["args"], orders["env"])
    except StepError as error:
        wire.send(link, error.told)
        os._exit(1)
    link.close()
    program.run_python(path, orders["args"])


def _be_confined(link: _socket.socket, inbox: wire.Inbox) -> _socket.socket:
    """Give up all power: nothing that comes later needs any. Gives the link to the host."""
    with Step("guest: confine"):
        message = inbox.receive()
        if message is None:  # init went away
            os._exit(1)
        (descriptor,) = inbox.descriptors()
        libc.drop_bounding_set()
    lock_down("guest", message["filters"])
    with Step("guest: settle in"):
        program.settle_in(message["env"], __package__)
        sys.path.insert(0, root.WORKSPACE)
    wire.send(link, {"set": None})
    return _socket.socket(fileno=descriptor)


def _take_orders(host: _socket.socket, link: _socket.socket) -> tuple[dict[str, Any], int]:
    """Make this an ordinary process with the job's descriptors and limits; give the orders and the gate.

    Meanwhile init finishes the root and gives up its own power. The working directory is there already.
    """
    inbox = wire.Inbox(host, _MOST_BYTES, wire.unpack)
    with Step("guest: orders"):
        orders, descriptors = inbox.receive(), inbox.descriptors()
        if orders is None:  # a warm child that was not needed
            os._exit(1)
        if orders.keys() != wire.ORDER_KEYS or len(descriptors) < _DESCRIPTORS:
            raise wire.WireError("these are no orders")
    with Step("guest: enter the meter"):
        for door in descriptors[_DESCRIPTORS:]:
            os.write(door, b"0")
            os.close(door)
    with Step("guest: session"):
        os.setsid()
        os.umask(0o022)
        os.chdir(root.WORKSPACE)
    with Step("guest: descriptors"):
        # By way of high numbers: one that was received may itself be 0, 1 or 2.
        stdin, stdout, stderr, gate = (_above_ours(each) for each in descriptors[:_DESCRIPTORS])
        for number, descriptor in enumerate((stdin, stdout, stderr)):
            os.dup2(descriptor, number, inheritable=True)
            os.close(descriptor)
        first, second = sorted((host.fileno(), link.fileno()))
        os.closerange(3, first)
        os.closerange(first + 1, second)
        os.closerange(second + 1, _HIGHEST_OF_OURS)
    with Step("guest: limits"):
        for number, value in orders["rlimits"]:
            resource.setrlimit(number, (value, value))
    with Step("guest: environment"):
        program.adopt_environment(orders["env"])
    return orders, gate


def _above_ours(descriptor: int) -> int:
    moved: int = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGHEST_OF_OURS)
    os.close(descriptor)
    return moved
