"""A long-lived program of ours behind the walls of a run: for work on hostile input that is no job.

It speaks over its standard input and output alone. Like a run it has namespaces, an almost empty read-only root, no
network, no capability, both seccomp filters, a uid of its own where we are root, and a meter; unlike a run it has
nothing to write to, and bwrap itself loads the filters, before the program's first instruction.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import signal
import stat
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from sandbox import stage
from sandbox.confine import bwrap
from sandbox.errors import SandboxError, SetupError
from sandbox.meter import Meter, MeterLimits
from sandbox.model import Bind, Host
from sandbox.slots import Slots
from sandbox.starter import Starter
from sandbox.waiting import namespaces_of, verify

_log = logging.getLogger(__name__)


class Enclosed:
    """One such program. It is ended by :meth:`kill` and :meth:`wait`, or with the engine."""

    def __init__(
        self, process: subprocess.Popen[bytes], child: int, pidfd: int, meter: Meter, scope: contextlib.ExitStack
    ) -> None:
        self.stdin: IO[bytes] | None = process.stdin
        self.stdout: IO[bytes] | None = process.stdout
        self.pid = child
        self._process = process
        self._pidfd = pidfd
        self._scope = scope
        self._meter = meter
        self._over = threading.Event()
        self._lock = threading.Lock()

    def watch(self, limits: MeterLimits) -> None:
        """Look every so often, where the meter is one that bounds nothing by itself."""
        if self._meter.poll_seconds is not None:
            threading.Thread(target=self._watch, args=(limits, self._meter.poll_seconds), daemon=True).start()

    def _watch(self, limits: MeterLimits, seconds: float) -> None:
        while not self._over.wait(seconds):
            seen = self._meter.read()
            if seen.memory_bytes > limits.memory_bytes or seen.processes > limits.processes:
                self.kill()

    def poll(self) -> int | None:
        """Give bwrap's exit code; None while it runs."""
        return self._process.poll()

    def kill(self) -> None:
        """End it now, and whatever it started. bwrap reaps it and ends by itself."""
        with self._lock:
            if not self._over.is_set():
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def wait(self) -> int:
        """See that it has ended, and give back what it held on the host."""
        with self._lock:
            self._over.set()
        try:
            self._scope.close()  # which ends it, should it not have ended
        except SandboxError:
            _log.exception("something of an enclosed program that is over could not be taken down")
        return self._process.wait()

    def confirm(self) -> None:
        """Hold every layer against the kernel's word. For the moment after its first sign of life.

        Raises LayerMissing, and SetupError where it has ended.
        """
        try:
            fields = dict(
                line.split(":\t", 1)
                for line in Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines()
                if ":\t" in line
            )
            namespaces = namespaces_of(self.pid)
        except (OSError, ValueError) as error:
            raise SetupError("enclose: confirm", getattr(error, "errno", 0) or 0, str(error)) from error
        if int(fields["PPid"]) != self._process.pid:
            raise SetupError("enclose: confirm", 0, "it has ended")
        capabilities = 0
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            capabilities |= int(fields[name], 16)
        told = {
            "namespaces": namespaces,
            "seccomp": int(fields["Seccomp"]),
            "no_new_privs": int(fields["NoNewPrivs"]),
            "capabilities": capabilities,
        }
        verify(told, namespaces_of("self"))


class Enclosures:
    """Starts them, on the interpreter that guests run on."""

    def __init__(
        self,
        host: Host,
        starter: Starter,
        slots: Slots | None,
        filters: Sequence[bytes],
        new_meter: Callable[[], Meter],
        folder: Path,
    ) -> None:
        self._host = host
        self._starter = starter
        self._slots = slots
        self._filters = tuple(filters)
        self._new_meter = new_meter
        self._folder = folder
        self._lock = threading.Lock()
        self._copies: dict[Path, Path] = {}

    def start(
        self, words: Sequence[str], shown: Mapping[str, Path], *, memory_bytes: int, processes: int, path: str
    ) -> Enclosed:
        """Start the interpreter with these words; see :meth:`sandbox.Sandbox.enclose`."""
        limits = MeterLimits(memory_bytes=memory_bytes, processes=processes, cpus=float(len(self._host.cpu_numbers)))
        binds = [
            *self._host.binds,
            *(Bind(source=str(self._readable(source)), target=target) for target, source in shown.items()),
        ]
        command = (self._host.init[0], *words)
        with contextlib.ExitStack() as scope:
            uid = self._slots.lend(scope) if self._slots else None
            meter = self._new_meter()
            scope.callback(meter.close)
            meter.limit(limits)

            def argv(info: int, filters: Sequence[int]) -> tuple[str, ...]:
                return bwrap.enclosure(
                    self._host.bwrap, binds, self._host.links, command, path=path, info=info, filters=filters
                )

            process, child, pidfd = self._starter.enclose(scope, argv, uid, self._filters)
            meter.add(child)
            enclosed = Enclosed(process, child, pidfd, meter, scope.pop_all())
        enclosed.watch(limits)
        return enclosed

    def _readable(self, source: Path) -> Path:
        """Give the place itself where a guest's uid can read it, else a copy in this engine's folder."""
        if self._slots is None or _is_public(source):
            return source
        with self._lock:
            if source not in self._copies:
                copy = self._folder / "enclosed" / str(len(self._copies)) / source.name
                try:
                    copy.parent.mkdir(parents=True)
                    if source.is_dir():
                        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("tests"))
                    else:
                        shutil.copy(source, copy)
                    stage.open_to_all(self._folder / "enclosed")
                except OSError as error:
                    raise SetupError("enclose: copy", error.errno or 0, str(source)) from error
                self._copies[source] = copy
            return self._copies[source]


def _is_public(path: Path) -> bool:
    """Whether any uid can reach and read it; what lies below is taken to be as it is."""
    return all(each.stat().st_mode & stat.S_IXOTH for each in path.resolve().parents) and bool(
        path.stat().st_mode & stat.S_IROTH
    )
