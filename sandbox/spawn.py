"""Plan -> Child: take a child that waits, cold or warm, and give it the job. A scope: leaving it means dead and gone.

::

    service --(as root: a uid of its own)--> bwrap --(its namespaces)--> init, pid 1 --fork--> the guest
       │  control socket: sandbox.guest.wire                              │                     │
       ├──────────────────────────────────────────────────────────────────┘                     │
       └── stdin, stdout, stderr pipes; gate ───────────────────────────────────────────────────┘
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from sandbox.errors import SetupError
from sandbox.guest import wire
from sandbox.model import Child, Plan
from sandbox.waiting import Staging, Waiting, answer


@contextlib.contextmanager
def spawn(
    plan: Plan,
    waiting: Waiting,
    staging: Staging,
    before: Callable[[], None],
    dispose: Callable[[contextlib.ExitStack], None],
) -> Iterator[Child]:
    """Give a Child for ``plan``, its guest under way, made of a child that waits or will.

    ``before`` is called while init gets ready, and the gate is shut until it returns. ``dispose`` takes care of the
    child's end, now or a moment later. Raises SetupError naming the step, LayerMissing when a required layer did not
    come to hold, and what ``before`` raises.
    """
    try:
        stdin, stdout, stderr, gate = waiting.pipes.ours
        _send_job(plan, waiting)
        before()
        waiting.meter.limit(plan.meter_limits)
        if waiting.guest < 0:
            staging.settle(waiting)
        opened = time.monotonic()  # before the write: the guest may run before we do again
        with contextlib.suppress(BrokenPipeError):  # it is gone; init says why
            gate.write(b"g")
        gate.close()
        started = max(opened, float(answer(waiting, "ready")))
        waiting.control.settimeout(0)
        waiting.meter.prepare()  # the guest has a processor by now, and init needs none
        yield Child(
            control=waiting.control,
            messages=waiting.messages.reader,
            said=tuple(waiting.messages.came()),
            guest=waiting.guest,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            started=started,
            meter=waiting.meter,
            layers=plan.layers,
            launcher=waiting.launcher,
        )
    finally:
        dispose(waiting.scope)


def _send_job(plan: Plan, waiting: Waiting) -> None:
    """Send init its part of the job, and the process that becomes the guest its own."""
    try:
        wire.send_down(waiting.control, _job(plan))
        wire.send_down(waiting.guest_link, _orders(plan))
    except OSError as error:
        raise SetupError("send the job", error.errno or 0, waiting.started.complaint()) from error


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
