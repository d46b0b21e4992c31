"""The fork server: an interpreter with its imports done, forked into fresh namespaces for every run.

It runs as pid 1 of a bwrap sandbox of its own, with all capabilities over that sandbox's namespaces, single-threaded,
with no secret and no descriptor but its socket: a guest can read all of its memory image. It answers nothing after it
serves; each child's init speaks for itself over the socket that came with the order (:mod:`.wire`).
"""

from __future__ import annotations

import _signal
import _socket
import fcntl
import gc
import os
import sys

from . import image, init, libc, wire
from .steps import Step, StepError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_MOST_BYTES = 1 << 20
_MOST_JOB_BYTES = 128 << 20
_MAP = "1000 1000 1"  # the one user and group there is inside, user_namespaces(7)
_SIOCSIFFLAGS = 0x8914
_IFREQ_BYTES = 40
_IFF_UP_RUNNING = 0x1 | 0x40


def main() -> NoReturn:
    """Import, then fork until the host goes away."""
    control = _socket.socket(fileno=wire.CONTROL_FD)
    libc.die_with_parent(_signal.SIGKILL)
    image.carry_pages_over_forks()
    inbox = wire.Inbox(control, _MOST_BYTES, wire.unpack)
    order = inbox.receive()
    if order is None:
        os._exit(0)
    stage = order["serve"]["stage"]
    for path, text in order["serve"]["links"]:
        os.makedirs(path.rpartition("/")[0], exist_ok=True)
        os.symlink(text, path)
    os.environ.update(order["serve"]["env"])
    imported = [name for name in order["serve"]["imports"] if _imported(name)]
    try:
        image.settle(stage["env"])
    except StepError as error:
        wire.send(control, error.told)
        os._exit(1)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)  # who ends is gone (wait(2)); the host knows how each run went
    gc.collect()
    gc.freeze()
    gc.disable()
    namespaces = {name: os.readlink(f"/proc/self/ns/{name}") for name in init.NAMESPACES}
    modules = sorted({name.partition(".")[0] for name in sys.modules})
    wire.send(control, {"serving": {"imports": imported, "modules": modules, "namespaces": namespaces}})
    while True:
        order = inbox.receive()
        if order is None:
            os._exit(0)
        child, *descriptors = inbox.descriptors()
        try:
            pid = libc.fork_into_namespaces()
        except OSError:  # no room for one more: the host sees this child's socket close, and nothing else ends
            pid = -1
        if pid == 0:
            _become_init(control, child, stage, descriptors)
        for descriptor in (child, *descriptors):
            os.close(descriptor)


def _imported(name: str) -> bool:
    try:
        __import__(name)
    except Exception:  # noqa: BLE001 - a module that cannot be imported here is imported, or not, by the guest
        return False
    return True


def _become_init(control: _socket.socket, child: int, stage: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Be a process like the one that bwrap starts: pid 1, its namespaces in order, the host at the other end."""
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    control.detach()
    os.dup2(1, wire.CONTROL_FD)  # /dev/null
    host = _socket.socket(fileno=child)
    try:
        with Step("init: user and group"):
            for file, text in (("setgroups", "deny"), ("uid_map", _MAP), ("gid_map", _MAP)):
                with open(f"/proc/self/{file}", "w") as mapping:
                    mapping.write(text)
        with Step("init: loopback"):
            any_socket = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
            request = b"lo".ljust(16, b"\0") + _IFF_UP_RUNNING.to_bytes(2, sys.byteorder)
            fcntl.ioctl(any_socket.fileno(), _SIOCSIFFLAGS, request.ljust(_IFREQ_BYTES, b"\0"))
            any_socket.close()
    except StepError as error:
        wire.send(host, error.told)
        os._exit(1)
    init.serve(wire.Inbox(host, _MOST_JOB_BYTES, wire.unpack), stage, descriptors)
