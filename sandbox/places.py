"""The folders that every guest has, and whose they are: what is the system's, and what is the run's to write."""

from __future__ import annotations

from sandbox.model import WritablePlace

SYSTEM = tuple(
    f"/{name}"
    for name in (
        "bin",
        "boot",
        "dev",
        "etc",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "opt/python",
        "proc",
        "run",
        "sbin",
        "sys",
        "usr",
    )
)
"""Places inside whose content is the system's or ours."""
WORKSPACE = "/workspace"
_STICKY = 0o1777
STANDING_PLACES = (
    WritablePlace(mode=0o755, targets=(WORKSPACE, "/mnt/data")),
    WritablePlace(mode=_STICKY, targets=("/tmp",)),  # noqa: S108 - inside the guest
    WritablePlace(mode=_STICKY, targets=("/dev/shm",)),  # noqa: S108 - inside the guest
)
"""Writable in every run, whatever its job asks for."""
STANDING_TARGETS = tuple(target for place in STANDING_PLACES for target in place.targets)
