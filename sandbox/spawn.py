"""Plan -> Child: take a child that waits, cold or warm, and give it the job. A scope: leaving it means dead and gone.

::

    service --(as root: a uid of its own)--> bwrap --(its namespaces)--> init, pid 1 --fork--> the guest
       │  control socket: sandbox.guest.wire                              │                     │
       ├──────────────────────────────────────────────────────────────────┘                     │
       └── stdin, stdout, stderr pipes; gate ───────────────────────────────────────────────────┘
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from typing import Any

from sandbox.errors import SetupError
from sandbox.guest import wire
from sandbox.model import Child, Plan
from sandbox.waiting import Staging, Waiting, set_out


@contextlib.contextmanager
def spawn(
    plan: Plan, waiting: Waiting, staging: Staging, dispose: Callable[[contextlib.ExitStack], None]
) -> Iterator[Child]:
    """Give a Child for ``plan``, its guest at the gate, made of a child that waits or will.

    ``dispose`` takes care of its end, now or a moment later. Raises SetupError naming the step, or LayerMissing when a
    required layer did not come to hold.
    """
    try:
        with contextlib.ExitStack() as scope:
            pipes = _pipes(scope, waiting.uid)
            _send_job(plan, waiting, pipes)
            waiting.meter.limit(plan.meter_limits)
            if waiting.guest < 0:
                staging.settle(waiting)
            set_out(waiting)
            stdin, stdout, stderr, gate = pipes.ours
            yield Child(
                control=waiting.control,
                messages=waiting.messages.reader,
                guest=waiting.guest,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                gate=gate,
                meter=waiting.meter,
                layers=plan.layers,
                launcher=waiting.launcher,
            )
    finally:
        dispose(waiting.scope)


def _send_job(plan: Plan, waiting: Waiting, pipes: _Pipes) -> None:
    """Send init its part of the job, the other process its own, and let go of our copies of what is handed over."""
    handed = (*pipes.theirs, *waiting.meter.doors())
    try:
        wire.send_down(waiting.guest_link, _orders(plan), [each.fileno() for each in handed])
        wire.send_down(waiting.control, _job(plan))
    except OSError as error:
        raise SetupError("send the job", error.errno or 0, waiting.complaint()) from error
    finally:
        for each in handed:
            each.close()


def _orders(plan: Plan) -> dict[str, Any]:
    return {
        "source_name": plan.runtime.source_name,
        "command": list(plan.runtime.command) or None,
        "args": list(plan.args),
        "env": dict(plan.env),
        "rlimits": [list(pair) for pair in plan.rlimits],
    }


def _job(plan: Plan) -> dict[str, Any]:
    return {
        "affinity": None if plan.affinity is None else list(plan.affinity),
        "writable": [[place.mode, list(place.targets)] for place in plan.writable],
        "disk_bytes": plan.limits.disk_bytes,
        "inodes": plan.limits.inodes,
        "files": [[file.path, file.content] for file in plan.files],
        "source_name": plan.runtime.source_name,
        "code": plan.code,
        "collect": list(plan.collect),
        "files_out": plan.files_out,
        "files_out_bytes": plan.files_out_bytes,
    }


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
