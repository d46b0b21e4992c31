"""Resource limits of the guest: the small print under the meter, and its stand-in where the meter is only a watch.

Sources: getrlimit(2) of man-pages 6.9 and, for limits counted per user, ``kernel/ucount.c`` of Linux 6.18. All but
NPROC, MSGQUEUE and SIGPENDING bind one process at a time, so they never replace a bound over the whole run.
"""

from __future__ import annotations

import math
import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.model import Limits

_CPU_GRACE_SECONDS = 2
_MEMLOCK_BYTES = 64 << 10
_PENDING_SIGNALS = 1024


def rlimits(limits: Limits, meter_kind: str) -> tuple[tuple[int, int], ...]:
    """Return ``(resource number, value)`` pairs; init sets each as soft and hard limit before any guest code.

    ``meter_kind`` is :attr:`sandbox.meter.Meter.kind`; with ``watch`` memory and tasks are bounded here too.

    - FSIZE (bytes of one file): the kernel answers with SIGXFSZ, which ends a program that knows nothing of it;
      Python ignores that signal and sees EFBIG. Neither proves anything, a guest can raise both by itself. So the
      verdict stays ``signaled`` or ``error``, and ``disk_limit`` is left to the evidence of a full disk.
    - CPU (seconds of one process) is a backstop behind the supervisor, who counts the whole run: with soft and hard
      limit equal the kernel sends SIGKILL at once and never SIGXCPU.
    - DATA rather than AS: numpy and others reserve address space far beyond what they use.
    - NPROC counts the tasks of one user in one user namespace since Linux 5.14. A run has its own, so the count is
      the run's: its init and ``processes`` more. Before 5.14 it counts the user's tasks on the whole host. It never
      binds the kernel's own root (uid 0 outside, whatever it is called inside) nor CAP_SYS_RESOURCE or CAP_SYS_ADMIN
      of the first user namespace.
    - CORE is not among them: init sets it before the filters, which refuse it to the guest.
    - RTPRIO and NICE are 0 since a real-time task would escape the cpu quota.
    """
    always = (
        (resource.RLIMIT_CPU, math.ceil(limits.cpu_seconds) + _CPU_GRACE_SECONDS),
        (resource.RLIMIT_FSIZE, limits.disk_bytes),
        (resource.RLIMIT_MEMLOCK, _MEMLOCK_BYTES),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_NICE, 0),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_RTPRIO, 0),
        (resource.RLIMIT_SIGPENDING, _PENDING_SIGNALS),
    )
    if meter_kind != "watch":
        return always
    return (
        *always,
        (resource.RLIMIT_DATA, limits.memory_bytes),
        (resource.RLIMIT_NPROC, limits.processes + 1),
    )
