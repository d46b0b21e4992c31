"""Start bwrap, and see it end: the part that a cold run and a fork server have in common.

bwrap and what runs in it die with the service: each asks for SIGKILL at its parent's death. The kernel ties that to the
*thread* that started it (prctl(2), PR_SET_PDEATHSIG), so all are started from one thread that lives as long as the
engine.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import resource
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import psutil

from sandbox.confine.uid import started_as
from sandbox.errors import SetupError

_FAREWELL_SECONDS = 1.0
_REAP_SECONDS = 10.0
_COMPLAINT_SECONDS = 0.1
_TELL_SECONDS = 10.0
_COMPLAINT_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Started:
    """A bwrap that runs: its pid and pidfd, our end of the socket that is its standard input, where it complains."""

    pid: int
    pidfd: int
    control: socket.socket
    diagnostics: int

    def confirm(self) -> None:
        """See that it has not ended. For the moment when what is inside has asked to die with it.

        Before that it could end alone, and what is inside would serve on without it. Raises SetupError.
        """
        if readable(self.pidfd, 0):
            raise SetupError("bwrap ended early", 0, self.complaint())

    def complaint(self) -> str:
        """Give what bwrap, or a dying interpreter in it, wrote about itself, if anything."""
        if not readable(self.diagnostics, _COMPLAINT_SECONDS):
            return ""
        return os.read(self.diagnostics, _COMPLAINT_BYTES).decode("utf-8", "replace").strip()


class Starter:
    """Starts processes for everyone, from the one thread whose end may be taken for the service's."""

    def __init__(self, machine: str) -> None:
        self._machine = machine
        self._lock = threading.Lock()
        self._closed = False
        self._orders: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="sandbox-spawn", daemon=True)
        self._thread.start()

    def start(self, scope: contextlib.ExitStack, argv: Sequence[str], uid: int | None) -> Started:
        """Start bwrap with an empty environment, under ``uid`` if one is given; the scope ends and reaps it.

        Raises SetupError.
        """
        with contextlib.ExitStack() as theirs:
            control, far = socket.socketpair()
            scope.callback(control.close)
            theirs.callback(far.close)
            diagnostics, complaint = os.pipe()
            scope.callback(os.close, diagnostics)
            theirs.callback(os.close, complaint)
            stdin = os.readlink(f"/proc/self/fd/{far.fileno()}")
            user = contextlib.nullcontext if uid is None else functools.partial(started_as, uid, self._machine)
            try:
                process = self._order(argv, far.fileno(), complaint, user)
            except OSError as error:
                raise SetupError("start bwrap", error.errno or 0, argv[0]) from error
        pidfd = _pidfd_of(process)
        scope.callback(_reap, process, pidfd, control, stdin)
        return Started(process.pid, pidfd, control, diagnostics)

    def enclose(
        self,
        scope: contextlib.ExitStack,
        argv: Callable[[int, Sequence[int]], Sequence[str]],
        uid: int | None,
        filters: Sequence[bytes],
    ) -> tuple[subprocess.Popen[bytes], int, int]:
        """Start bwrap with pipes as its standard input and output; give it, its child's pid, and a pidfd of that.

        ``argv`` makes the command of the descriptor for bwrap's word about the child and those that hold the filters.
        No core will be dumped of the child. The scope ends and reaps both. Raises SetupError.
        """
        user = contextlib.nullcontext if uid is None else functools.partial(started_as, uid, self._machine)
        with contextlib.ExitStack() as theirs:
            told, info = os.pipe()
            theirs.callback(os.close, told)
            with contextlib.ExitStack() as handed:
                handed.callback(os.close, info)
                held = [_held(each, handed) for each in filters]
                words = argv(info, held)

                def start() -> subprocess.Popen[bytes]:
                    with user():
                        return subprocess.Popen(
                            words,
                            stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL,
                            env={},
                            cwd="/",
                            pass_fds=(info, *held),
                        )

                try:
                    process: subprocess.Popen[bytes] = self._do(start)
                except OSError as error:
                    raise SetupError("start bwrap", error.errno or 0, words[0]) from error
                assert process.stdin is not None  # noqa: S101 - it is a pipe
                scope.callback(_end, process, os.readlink(f"/proc/self/fd/{process.stdin.fileno()}"))
            child = _told_child(told)

        def forbid_cores() -> None:
            with user():  # else the kernel lets nobody without CAP_SYS_RESOURCE do so
                resource.prlimit(child, resource.RLIMIT_CORE, (0, 0))

        try:
            pidfd = os.pidfd_open(child)
            scope.callback(end_namespace, pidfd)
            self._do(forbid_cores)
        except OSError as error:
            raise SetupError("enclose", error.errno or 0, "the program ended at once") from error
        return process, child, pidfd

    def _order(self, argv: Sequence[str], stdin: int, stderr: int, user: Callable[[], Any]) -> subprocess.Popen[bytes]:
        def work() -> subprocess.Popen[bytes]:
            with user():
                return subprocess.Popen(
                    argv, stdin=stdin, stdout=subprocess.DEVNULL, stderr=stderr, env={}, cwd="/", close_fds=True
                )

        started: subprocess.Popen[bytes] = self._do(work)
        return started

    def _do(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the work gives
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise SetupError("start bwrap", 0, "the engine is closed")
            self._orders.put((work, future))
        return future.result()

    def close(self) -> None:
        """End the thread, and by that whatever it started and nobody has waited for."""
        with self._lock:
            self._closed = True
            self._orders.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (order := self._orders.get()) is not None:
            work, future = order
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
                future.set_exception(error)


def readable(descriptor: int, seconds: float) -> bool:
    """Wait until a descriptor has something to say; a pidfd has when its process is over."""
    waiter = select.poll()  # select(2) takes no descriptor above 1023
    waiter.register(descriptor, select.POLLIN)
    return bool(waiter.poll(seconds * 1000))


def _pidfd_of(process: subprocess.Popen[bytes]) -> int:
    """Give its pidfd; where there is none to be had, it is ended and reaped at once. Raises SetupError."""
    try:
        return os.pidfd_open(process.pid)
    except OSError as error:
        process.kill()
        process.wait()
        raise SetupError("start bwrap", error.errno or 0, "no pidfd") from error


def _reap(process: subprocess.Popen[bytes], pidfd: int, control: socket.socket, stdin: str) -> None:
    """Wait for bwrap, who reaps init and then ends; where it does not, kill it, and by that init.

    Its own end is waited for so that init is not handed to whoever is pid 1 here, who may not reap it.
    """
    with contextlib.suppress(OSError):
        control.shutdown(socket.SHUT_RDWR)  # an init that still waits for its job ends
    try:
        if not readable(pidfd, _FAREWELL_SECONDS):
            process.kill()
        if not readable(pidfd, _REAP_SECONDS):
            raise SetupError("reap bwrap", 0, f"it did not end within {_REAP_SECONDS:g} s of SIGKILL")
    finally:
        os.close(pidfd)
    if process.wait() < 0:
        _end_orphan(stdin)


def _end_orphan(stdin: str) -> None:
    """Kill whoever was left with that standard input, as ``/proc/<pid>/fd`` names it.

    bwrap's child waits for its parent's word, for ever, and asks to die with it only then (bubblewrap 0.8 to 0.11): who
    kills bwrap in that moment leaves the child behind.
    """
    for pid in psutil.pids():
        with contextlib.suppress(OSError):  # it has ended, or is not ours to look at
            if os.readlink(f"/proc/{pid}/fd/0") != stdin:
                continue
            pidfd = os.pidfd_open(pid)
            try:
                if os.readlink(f"/proc/{pid}/fd/0") == stdin:  # and not another process of that number
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            finally:
                os.close(pidfd)


def _held(content: bytes, scope: contextlib.ExitStack) -> int:
    """Give a descriptor from which the content can be read."""
    descriptor = os.memfd_create("seccomp", os.MFD_CLOEXEC)
    scope.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _told_child(told: int) -> int:
    """Read what bwrap says of the child it has made. Raises SetupError."""
    text = b""
    while readable(told, _TELL_SECONDS):
        chunk = os.read(told, _COMPLAINT_BYTES)
        if not chunk:
            break
        text += chunk
    try:
        return int(json.loads(text)["child-pid"])
    except (ValueError, KeyError, TypeError) as error:
        raise SetupError("enclose", 0, "bwrap made no child") from error


def _end(process: subprocess.Popen[bytes], stdin: str) -> None:
    """See bwrap end, who reaps its child first: else the child would be left to whoever is pid 1 here."""
    try:
        process.wait(_FAREWELL_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.returncode < 0:
        _end_orphan(stdin)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def end_namespace(init: int) -> None:
    """Kill the pid 1 of a namespace unless it has ended, wait until it has, and with it every process there.

    ``init`` is its pidfd, which is closed. The kernel lets the init of a pid namespace become a zombie only after all
    others are gone (pid_namespaces(7)). Raises SetupError.
    """
    try:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(init, signal.SIGKILL)
        if not readable(init, _REAP_SECONDS):
            raise SetupError("end the namespace", 0, f"init did not end within {_REAP_SECONDS:g} s of SIGKILL")
    finally:
        os.close(init)
