"""A child that waits for its job: its namespaces made, its root prepared, confined and metered, by either launcher."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from typing import Any

from sandbox import pipes
from sandbox.errors import LayerMissing, SetupError
from sandbox.guest import wire
from sandbox.meter import Meter, MeterLimits
from sandbox.model import Host, Launcher, Limits, WritablePlace
from sandbox.pipes import Pipes
from sandbox.starter import Started, end_namespace, readable

NEW_ROOT = "/run/newroot"
SETUP_SECONDS = 15.0
_PIDFDS = 2
_MESSAGE_SPARE_BYTES = 1 << 20
_SECCOMP_MODE_FILTER = 2
_NAMESPACE_OF_LAYER = {
    "user": "user",
    "pid": "pid",
    "mount": "mnt",
    "net": "net",
    "ipc": "ipc",
    "uts": "uts",
    "cgroupns": "cgroup",
}


@dataclass(slots=True, kw_only=True)
class Waiting:
    """A child before its job. Closing ``scope`` kills and reaps it, and gives back all it holds on the host.

    Until :meth:`Staging.settle` nothing is known of it and ``guest`` is negative; a job may be sent all the same.
    """

    control: socket.socket
    guest_link: socket.socket
    """To the process that becomes the guest."""
    pipes: Pipes
    started: Started
    """The bwrap it is in."""
    messages: wire.Inbox
    guest: int = -1
    """pidfd of the process that becomes the guest."""
    meter: Meter
    uid: int | None
    launcher: Launcher
    outer: Mapping[str, str]
    """The namespaces of the fork server it comes from, which it must not share either; empty for a cold one."""
    scope: contextlib.ExitStack


class Staging:
    """Brings a fresh init to the point where it waits, and believes no layer that the kernel does not confirm."""

    def __init__(
        self,
        host: Host,
        filters: Sequence[bytes],
        init_filter: bytes,
        places: Sequence[WritablePlace],
        env: Mapping[str, str],
        new_meter: Callable[[], Meter],
        standing: Limits,
        files_out_bytes: int,
    ) -> None:
        self._new_meter = new_meter
        self._standing = MeterLimits(
            memory_bytes=standing.memory_bytes, processes=standing.processes, cpus=standing.cpus
        )
        self._most_bytes = files_out_bytes + _MESSAGE_SPARE_BYTES
        self._own_namespaces = namespaces_of("self")
        self.stage: dict[str, Any] = {
            "binds": [[bind.source, bind.target] for bind in host.guest_binds],
            "links": [list(link) for link in host.guest_links],
            "writable": [[place.mode, list(place.targets)] for place in places],
            "quota": [standing.disk_bytes, standing.inodes],
            "laid_links": [list(link) for runtime in host.runtimes.values() for link in runtime.links],
            "filters": list(filters),
            "init_filter": init_filter,
            "env": dict(env),
        }

    def begin(
        self,
        scope: contextlib.ExitStack,
        control: socket.socket,
        deliver: Callable[[Sequence[int]], None],
        started: Started,
        uid: int | None,
        launcher: Launcher,
        outer: Mapping[str, str],
    ) -> Waiting:
        """Let the init at the other end of ``control`` begin; what ``scope`` does at its end goes with the child.

        ``deliver`` brings it the descriptors that belong to the stage. Raises SetupError.
        """
        with contextlib.ExitStack() as handed:
            guest_link, far = socket.socketpair()
            scope.callback(guest_link.close)
            handed.callback(far.close)
            for link in (control, guest_link):
                link.settimeout(SETUP_SECONDS)
            run_pipes = pipes.make(scope, uid)
            meter = self._new_meter()
            scope.callback(meter.close)
            meter.limit(self._standing)  # what a run asks for most often need not be written while it waits
            theirs: tuple[socket.socket | FileIO, ...] = (far, *run_pipes.theirs, *meter.doors())
            for each in theirs[1:]:
                handed.callback(each.close)
            try:
                deliver([each.fileno() for each in theirs])
            except OSError as error:
                raise SetupError("stage", error.errno or 0, started.complaint()) from error
        messages = wire.Inbox(control, self._most_bytes)
        scope.callback(messages.close)
        return Waiting(
            control=control,
            guest_link=guest_link,
            pipes=run_pipes,
            started=started,
            messages=messages,
            meter=meter,
            uid=uid,
            launcher=launcher,
            outer=outer,
            scope=scope.pop_all(),
        )

    def settle(self, child: Waiting) -> None:
        """Wait until it waits, hold every layer against the kernel's word, and put it under a meter without doors.

        Raises SetupError, and LayerMissing when a required layer did not come to hold.
        """
        told = answer(child, "waiting")
        pidfds = child.messages.descriptors()
        if len(pidfds) != _PIDFDS:
            for each in pidfds:
                os.close(each)
            raise SetupError("init", 0, "gave no pidfds")
        child.guest, init = pidfds
        child.scope.callback(os.close, child.guest)
        child.scope.callback(end_namespace, init)
        if readable(child.guest, 0):
            raise SetupError("init", 0, "the process that becomes the guest has ended")
        child.started.confirm()
        self._verify(told, child.outer)
        if not child.meter.has_doors:
            child.meter.add(pid_of(child.guest))

    def _verify(self, told: dict[str, Any], outer: Mapping[str, str]) -> None:
        verify(told, self._own_namespaces, outer)


def namespaces_of(process: int | str) -> dict[str, str]:
    """Give the namespaces that a process has, by the name of each under ``/proc/<pid>/ns``. Raises OSError."""
    return {name: os.readlink(f"/proc/{process}/ns/{name}") for name in _NAMESPACE_OF_LAYER.values()}


def verify(told: Mapping[str, Any], *outside: Mapping[str, str]) -> None:
    """Hold every layer of a process against the kernel's word, which has the form of ``waiting`` in the wire.

    ``outside`` are the namespaces of which it may share none. Raises LayerMissing.
    """
    for layer, name in _NAMESPACE_OF_LAYER.items():
        if told["namespaces"].get(name) in (None, *(each.get(name) for each in outside)):
            raise LayerMissing(layer, "it shares the namespace of the service or of a fork server")
    if told["seccomp"] != _SECCOMP_MODE_FILTER:
        raise LayerMissing("seccomp", f"mode is {told['seccomp']}")
    if told["no_new_privs"] != 1:
        raise LayerMissing("no_new_privs", "is not set")
    if told["capabilities"] != 0:
        raise LayerMissing("user", f"capabilities {told['capabilities']:#x} were kept")


def answer(child: Waiting, word: str) -> Any:  # noqa: ANN401 - what the wire carries
    """Wait for init to say ``word``; give what it says with it. Raises SetupError."""
    try:
        message = child.messages.receive()
    except TimeoutError as error:
        raise SetupError("init", 0, f"no answer within {SETUP_SECONDS:g} s") from error
    except OSError as error:
        raise SetupError("init", error.errno or 0, child.started.complaint()) from error
    except wire.WireError as error:
        raise SetupError("init", 0, str(error)) from error
    if message is None:
        raise SetupError("init ended early", 0, child.started.complaint())
    if not isinstance(message, dict):
        raise SetupError("init", 0, "what it said makes no sense")
    if "failed" in message:
        raise SetupError.told(message["failed"])
    if word in message:
        return message[word]
    raise SetupError("init", 0, "spoke out of turn")


def pid_of(pidfd: int) -> int:
    """The process a pidfd means, in our pid namespace (pidfd_open(2), proc_pid_fdinfo(5))."""
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:  # noqa: PTH123 - hot path
        for line in file:
            name, _, value = line.partition(":")
            if name == "Pid" and int(value) > 0:
                return int(value)
    raise SetupError("find the guest", 0, "its process is gone")
