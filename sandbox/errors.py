"""What the engine raises when *we* fail; a guest's failure is a :class:`~sandbox.model.Result`, never one of these.

::

    SandboxError
    ├── JobRefused          the job asks for what may not be had          (the caller's fault: 422 or 501)
    │   ├── OverCeiling     a limit above its ceiling or below its floor
    │   └── NotBuilt        a policy this version cannot enforce yet
    ├── LayerMissing        this machine cannot hold a required layer     (the operator's: 503)
    └── SetupError          a step between the plan and the guest's first instruction failed (ours: 500)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

_HIGHEST_ERRNO = 4095  # MAX_ERRNO, include/linux/err.h


class SandboxError(Exception):
    """Root of everything this package raises on purpose. Each can be pickled, and so cross to another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


class JobRefused(SandboxError):
    """The job itself is not acceptable; ``field`` is the path of the offending field, such as ``files.0.path``."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class OverCeiling(JobRefused):
    """A limit lies outside what this sandbox allows; the text says the bound."""


class NotBuilt(JobRefused):
    """The job asks for a policy that this version refuses rather than weakens."""


class LayerMissing(SandboxError):
    """A wall that must stand cannot be built here; ``layer`` is its name in ``Result.layers``, ``remedy`` mends it."""

    def __init__(self, layer: str, reason: str, remedy: str = "") -> None:
        super().__init__(f"{layer}: {reason}" + (f" ({remedy})" if remedy else ""))
        self.layer = layer
        self.reason = reason
        self.remedy = remedy


class SetupError(SandboxError):
    """A step of building the sandbox failed; ``step`` names it, ``errno`` is the kernel's word or 0."""

    def __init__(self, step: str, errno: int = 0, detail: str = "") -> None:
        words = [step]
        if errno:
            words.append(os.strerror(errno))
        if detail:
            words.append(detail)
        super().__init__(": ".join(words))
        self.step = step
        self.errno = errno
        self.detail = detail

    @classmethod
    def told(cls, failed: Mapping[str, Any]) -> SetupError:
        """Give init's word on a failed step (``failed`` of :mod:`sandbox.guest.wire`) as an exception."""
        try:
            errno = int(failed["errno"])
            return cls(str(failed["step"]), errno if 0 <= errno <= _HIGHEST_ERRNO else 0, str(failed["detail"]))
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            return cls("init", 0, f"what it said of a failure makes no sense: {error}")


def _again(kind: type[SandboxError], args: tuple[Any, ...], fields: Mapping[str, Any]) -> SandboxError:
    """Give an exception as it was; its ``__init__`` takes other words than those it made of them."""
    made = kind.__new__(kind, *args)
    made.__dict__.update(fields)
    return made
