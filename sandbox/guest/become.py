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
from .steps import Step, StepError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import mmap
    from typing import Any, NoReturn

_MOST_BYTES = 16 << 20
_DESCRIPTORS = 5  # link to the host, stdin, stdout, stderr, gate; doors follow
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


def main(link: _socket.socket, stage: dict[str, Any], descriptors: list[int], last_word: mmap.mmap) -> NoReturn:
    """Be confined, get ready, take orders, wait for init's word and at the gate, become the program."""
    try:
        host, standard, gate, doors = _be_confined(stage, descriptors)
        wire.send(link, {"set": None})
        inbox = wire.Inbox(link, _MOST_BYTES, wire.unpack)
        orders_box = wire.Inbox(host, _MOST_BYTES, wire.unpack)
        _get_ready(inbox, last_word, has_time=not orders_box.has_word())
        _take_descriptors((link.fileno(), host.fileno()), standard, doors)
        orders = _take_orders(orders_box)
        if inbox.receive() is None or not os.read(gate, 1):  # init or the host went away
            os._exit(1)
        with Step("guest: begin"):
            wire.send(link, {"begun": None})
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
    program.run_python(path, orders["args"], last_word)


def _be_confined(stage: dict[str, Any], descriptors: list[int]) -> tuple[_socket.socket, list[int], int, list[int]]:
    """Give up what init left of our power: nothing that comes later needs any.

    Gives the link to the host, the three standard descriptors, the gate, and the doors of the meter.
    """
    with Step("guest: descriptors that came"):
        host, *standard, gate = (_above_ours(each) for each in descriptors[:_DESCRIPTORS])
    with Step("guest: drop capabilities"):
        libc.drop_capabilities()
    with Step("guest: seccomp"):
        for each in stage["filters"]:
            libc.load_filter(each)
    return _socket.socket(fileno=host), standard, gate, descriptors[_DESCRIPTORS:]


def _get_ready(inbox: wire.Inbox, last_word: mmap.mmap, *, has_time: bool) -> None:
    """Be as a Python program is, rehearse if there is time, and where init has made the root, stand in it."""
    with Step("guest: settle in"):
        program.take_signals()
        sys.path.insert(0, root.WORKSPACE)
        numpy_random = sys.modules.get("numpy.random")
        if numpy_random is not None:  # the interpreter's own generators reseed themselves at a fork
            numpy_random.seed()
    with Step("guest: rehearse"):
        if has_time:
            exec(compile(_REHEARSAL, "rehearsal", "exec"), {"__name__": "rehearsal"})  # noqa: S102 - our own text
    with Step("guest: session"):
        if inbox.receive() is None:  # init went away
            os._exit(1)
        os.setsid()
        os.umask(0o022)
        os.chdir(root.WORKSPACE)
    with Step("guest: rehearse the beginning"):
        if has_time:
            _rehearse_orders()
            program.rehearse(last_word)


def _take_descriptors(kept: tuple[int, int], standard: list[int], doors: list[int]) -> None:
    """Enter the meter, and hold nothing but what the guest will, the links, and the gate, which lies above ours."""
    with Step("guest: enter the meter"):
        for door in doors:
            os.write(door, b"0")
    with Step("guest: descriptors"):
        for number, descriptor in enumerate(standard):
            os.dup2(descriptor, number, inheritable=True)
            os.close(descriptor)
        first, second = sorted(kept)
        os.closerange(3, first)
        os.closerange(first + 1, min(second, _HIGHEST_OF_OURS))
        os.closerange(second + 1, _HIGHEST_OF_OURS)


def _take_orders(host: wire.Inbox) -> dict[str, Any]:
    """Take on the job's limits and environment, while init finishes the root; give the orders."""
    with Step("guest: orders"):
        orders: dict[str, Any] | None = host.receive()
        if orders is None:  # a warm child that was not needed
            os._exit(1)
        if orders.keys() != wire.ORDER_KEYS:
            raise wire.WireError("these are no orders")
    _obey(orders)
    return orders


def _obey(orders: dict[str, Any]) -> None:
    with Step("guest: limits"):
        for number, value in orders["rlimits"]:
            resource.setrlimit(number, (value, value))
    if orders["command"] is None:
        with Step("guest: environment"):
            program.adopt_environment(orders["env"])


def _rehearse_orders() -> None:
    """Obey orders that change nothing, and find the words for what follows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)  # the soft limit is as high (image.py)
    orders = {"command": None, "env": dict(os.environ), "rlimits": [[resource.RLIMIT_NOFILE, most]]}
    _obey(wire.unpack(wire.pack(orders)[wire.HEADER_BYTES :]))
    wire.encode({"begun": None})


def _above_ours(descriptor: int) -> int:
    moved: int = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGHEST_OF_OURS)
    os.close(descriptor)
    return moved
