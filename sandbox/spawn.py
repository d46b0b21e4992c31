"""Plan -> Child, cold: bwrap for one run. A scope: leaving it means dead, reaped, and nothing left on the host.

::

    service --(as root: a uid of its own)--> bwrap --(its namespaces)--> init, pid 1 --fork--> the guest
       │  control socket: sandbox.guest.wire                              │                     │
       ├──────────────────────────────────────────────────────────────────┘                     │
       └── stdin, stdout, stderr pipes; gate ───────────────────────────────────────────────────┘

bwrap and init die with the service: each asks for SIGKILL at its parent's death. The kernel ties that to the *thread*
that started bwrap (prctl(2), PR_SET_PDEATHSIG), so all are started from one thread that lives as long as the engine.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import select
import signal
import socket
import subprocess
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from io import FileIO
from typing import TYPE_CHECKING, Any

from sandbox import host
from sandbox.confine import bwrap
from sandbox.confine.uid import started_as
from sandbox.errors import LayerMissing, SetupError
from sandbox.guest import wire
from sandbox.model import Child, Launcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sandbox.meter import Meter, MeterLimits
    from sandbox.model import Host, Plan
    from sandbox.slots import Slots

NEW_ROOT = "/run/newroot"
_SETUP_SECONDS = 15.0
_FAREWELL_SECONDS = 1.0
_REAP_SECONDS = 10.0
_COMPLAINT_SECONDS = 0.1
_DIAGNOSTIC_BYTES = 4096
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


class SpawnThread:
    """Starts processes for everyone, from the one thread whose end may be taken for the service's."""

    def __init__(self) -> None:
        self._orders: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="sandbox-spawn", daemon=True)
        self._thread.start()

    def start(self, argv: Sequence[str], stdin: int, stderr: int, user: Callable[[], Any]) -> subprocess.Popen[bytes]:
        """Start a program with an empty environment and no other descriptor of ours, inside the scope ``user`` gives.

        Raises OSError, and what the scope raises.
        """
        future: Future[subprocess.Popen[bytes]] = Future()

        def work() -> subprocess.Popen[bytes]:
            with user():
                return subprocess.Popen(
                    argv, stdin=stdin, stdout=subprocess.DEVNULL, stderr=stderr, env={}, cwd="/", close_fds=True
                )

        self._orders.put((work, future))
        return future.result()

    def close(self) -> None:
        """End the thread, and by that whatever it started and nobody has waited for."""
        self._orders.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (order := self._orders.get()) is not None:
            work, future = order
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
                future.set_exception(error)


class Cold:
    """Launches each run in a bwrap of its own."""

    def __init__(
        self,
        facts: Host,
        filters: Sequence[bytes],
        thread: SpawnThread,
        slots: Slots | None,
        new_meter: Callable[[MeterLimits], Meter],
    ) -> None:
        self._filters = tuple(filters)
        self._thread = thread
        self._slots = slots
        self._new_meter = new_meter
        self._machine = facts.machine
        self._argv = bwrap.argv(facts.bwrap, facts.binds, facts.links, NEW_ROOT, facts.init)
        self._own_namespaces = {name: os.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACE_OF_LAYER.values()}
        self._root = {
            "binds": [[bind.source, bind.target] for bind in facts.guest_binds],
            "links": [list(link) for link in facts.guest_links],
        }

    def prove(self) -> None:
        """Start what every run starts, without a job. Raises LayerMissing when this system refuses the namespaces."""
        with contextlib.ExitStack() as scope:
            control, diagnostics = self._start(scope, self._take_slot(scope))
            control.shutdown(socket.SHUT_WR)  # init finds no job and ends without a word
            control.settimeout(_SETUP_SECONDS)
            try:
                answered = control.recv(1) != b""
            except OSError:
                answered = True
            complaint = _complaint(diagnostics)
            if answered or complaint:
                raise LayerMissing("user", complaint or "bwrap did not end", host.namespaces_remedy())

    @contextlib.contextmanager
    def spawn(self, plan: Plan) -> Iterator[Child]:
        """Give a Child for ``plan``; the way out kills it, waits for it and removes what it held.

        Raises SetupError naming the step, or LayerMissing when a required layer did not come to hold.
        """
        with contextlib.ExitStack() as scope:
            after_the_end = scope.enter_context(contextlib.ExitStack())  # of every process: it was entered first
            uid = self._take_slot(scope)
            control, diagnostics = self._start(scope, uid)
            # All of this while the interpreter inside starts up.
            meter = self._new_meter(plan.meter_limits)
            after_the_end.callback(meter.close)
            pipes = _pipes(scope, uid)
            yield self._hand_over(scope, plan, meter, control, diagnostics, pipes)

    def _take_slot(self, scope: contextlib.ExitStack) -> int | None:
        if self._slots is None:
            return None
        uid = self._slots.take()
        scope.callback(self._slots.give, uid)
        return uid

    def _start(self, scope: contextlib.ExitStack, uid: int | None) -> tuple[socket.socket, int]:
        """Start bwrap; give our end of the control socket and the pipe where bwrap complains."""
        control, far = socket.socketpair()
        scope.callback(control.close)
        diagnostics, complaint = os.pipe()
        scope.callback(os.close, diagnostics)
        user = contextlib.nullcontext if uid is None else functools.partial(started_as, uid, self._machine)
        try:
            process = self._thread.start(self._argv, far.fileno(), complaint, user)
        except OSError as error:
            raise SetupError("start bwrap", error.errno or 0, self._argv[0]) from error
        finally:
            far.close()
            os.close(complaint)
        scope.callback(_reap, process, control)
        return control, diagnostics

    def _hand_over(
        self,
        scope: contextlib.ExitStack,
        plan: Plan,
        meter: Meter,
        control: socket.socket,
        diagnostics: int,
        pipes: _Pipes,
    ) -> Child:
        control.settimeout(_SETUP_SECONDS)
        messages = wire.Reader(plan.files_out_bytes + _MESSAGE_SPARE_BYTES)
        try:
            doors = meter.doors()
            _send_job(control, {**self._job(plan), "doors": len(doors)}, (*pipes.theirs, *doors))
            ready, guest, init = _receive_ready(control, messages, diagnostics)
        except TimeoutError as error:
            raise SetupError("init", 0, f"no answer within {_SETUP_SECONDS:g} s") from error
        except OSError as error:
            raise SetupError("init", error.errno or 0, _complaint(diagnostics)) from error
        scope.callback(os.close, guest)
        scope.callback(_end_namespace, init)
        self._verify(plan, ready)
        if not doors:
            meter.add(_pid_of(guest))
        control.settimeout(0)
        stdin, stdout, stderr, gate = pipes.ours
        return Child(
            control=control,
            messages=messages,
            guest=guest,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            gate=gate,
            meter=meter,
            layers=plan.layers,
            launcher=Launcher.COLD,
        )

    def _job(self, plan: Plan) -> dict[str, Any]:
        return {
            "root": {
                **self._root,
                "writable": [[place.mode, list(place.targets)] for place in plan.writable],
                "disk_bytes": plan.limits.disk_bytes,
                "inodes": plan.limits.inodes,
                "laid_links": [list(link) for link in plan.runtime.links],
            },
            "files": [[file.path, file.content] for file in plan.files],
            "source_name": plan.runtime.source_name,
            "code": plan.code,
            "command": list(plan.runtime.command) or None,
            "args": list(plan.args),
            "env": dict(plan.env),
            "rlimits": [list(pair) for pair in plan.rlimits],
            "affinity": None if plan.affinity is None else list(plan.affinity),
            "filters": list(self._filters),
            "collect": list(plan.collect),
            "files_out": plan.files_out,
            "files_out_bytes": plan.files_out_bytes,
        }

    def _verify(self, plan: Plan, ready: dict[str, Any]) -> None:
        """Believe no layer that the kernel does not confirm."""
        for layer, name in _NAMESPACE_OF_LAYER.items():
            if layer in plan.layers and ready["namespaces"].get(name) in (None, self._own_namespaces[name]):
                raise LayerMissing(layer, "the run shares the service's namespace")
        if ready["seccomp"] != _SECCOMP_MODE_FILTER:
            raise LayerMissing("seccomp", f"mode is {ready['seccomp']}")
        if ready["no_new_privs"] != 1:
            raise LayerMissing("no_new_privs", "is not set")
        if ready["capabilities"] != 0:
            raise LayerMissing("user", f"capabilities {ready['capabilities']:#x} were kept")


@dataclass(frozen=True, slots=True)
class _Pipes:
    """The four pipes of a run: stdin, stdout, stderr, gate; ``ours`` and the guest's ``theirs`` in that order."""

    ours: tuple[FileIO, FileIO, FileIO, FileIO]
    theirs: tuple[FileIO, FileIO, FileIO, FileIO]


def _pipes(scope: contextlib.ExitStack, uid: int | None) -> _Pipes:
    """Make the pipes; the scope closes what nobody closed before.

    They belong to the guest's uid, or it could not open them again as /dev/stdout: permissions of the opener count
    there as for any file (pipe(7), proc(5)).
    """
    pairs = []
    for name in ("stdin", "stdout", "stderr", "gate"):
        reader, writer = (
            scope.enter_context(FileIO(descriptor, mode)) for descriptor, mode in zip(os.pipe(), "rw", strict=True)
        )
        near, far = (reader, writer) if name in ("stdout", "stderr") else (writer, reader)
        os.set_blocking(near.fileno(), False)
        if uid is not None:
            os.fchown(far.fileno(), uid, uid)
        pairs.append((near, far))
    stdin, stdout, stderr, gate = pairs
    return _Pipes((stdin[0], stdout[0], stderr[0], gate[0]), (stdin[1], stdout[1], stderr[1], gate[1]))


def _send_job(control: socket.socket, job: dict[str, Any], handed: tuple[FileIO, ...]) -> None:
    """Send the job with the descriptors ``handed`` over, and let go of our copies of them."""
    try:
        wire.send(control, job, [each.fileno() for each in handed])
    finally:
        for each in handed:
            each.close()


def _receive_ready(control: socket.socket, messages: wire.Reader, diagnostics: int) -> tuple[dict[str, Any], int, int]:
    """Wait for the guest to stand at its gate; give what init says, and the pidfds of the guest and of init."""
    try:
        message, descriptors = wire.receive(control, messages)
    except wire.WireError as error:
        raise SetupError("init", 0, str(error)) from error
    if message is not None and "ready" in message and len(descriptors) == _PIDFDS:
        guest, init = descriptors
        return message["ready"], guest, init
    for descriptor in descriptors:
        os.close(descriptor)
    if message is None:
        raise SetupError("bwrap or init ended early", 0, _complaint(diagnostics))
    if "failed" in message:
        raise SetupError.told(message["failed"])
    raise SetupError("init", 0, "spoke out of turn")


def _readable(descriptor: int, seconds: float) -> bool:
    waiter = select.poll()  # select(2) takes no descriptor above 1023
    waiter.register(descriptor, select.POLLIN)
    return bool(waiter.poll(seconds * 1000))


def _complaint(diagnostics: int) -> str:
    """What bwrap (or a dying interpreter) wrote about itself, if anything."""
    if not _readable(diagnostics, _COMPLAINT_SECONDS):
        return ""
    return os.read(diagnostics, _DIAGNOSTIC_BYTES).decode("utf-8", "replace").strip()


def _pid_of(pidfd: int) -> int:
    """The process a pidfd means, in our pid namespace (pidfd_open(2), proc_pid_fdinfo(5))."""
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:  # noqa: PTH123 - hot path
        for line in file:
            name, _, value = line.partition(":")
            if name == "Pid" and int(value) > 0:
                return int(value)
    raise SetupError("find the guest", 0, "its process is gone")


def _end_namespace(init: int) -> None:
    """Kill init unless it has ended, wait until it has, and with it every process of its pid namespace.

    The kernel lets the init of a pid namespace become a zombie only after all others are gone (pid_namespaces(7)).
    """
    try:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(init, signal.SIGKILL)
        if not _readable(init, _REAP_SECONDS):
            raise SetupError("end the namespace", 0, f"init did not end within {_REAP_SECONDS:g} s of SIGKILL")
    finally:
        os.close(init)


def _reap(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    """Wait for bwrap, who reaps init and then ends; where it does not, kill it, and by that init.

    Its own end is waited for so that init is not handed to whoever is pid 1 here, who may not reap it.
    """
    with contextlib.suppress(OSError):
        control.shutdown(socket.SHUT_RDWR)  # an init that still waits for its job ends
    pidfd = os.pidfd_open(process.pid)
    try:
        if not _readable(pidfd, _FAREWELL_SECONDS):
            process.kill()
        if not _readable(pidfd, _REAP_SECONDS):
            raise SetupError("reap bwrap", 0, f"it did not end within {_REAP_SECONDS:g} s of SIGKILL")
    finally:
        os.close(pidfd)
    process.wait()
