"""What init and the process that becomes the guest have in common: naming the step that failed, and no cores."""

from __future__ import annotations

import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class StepError(Exception):
    """A step of ours failed."""

    def __init__(self, step: str, errno: int, detail: str) -> None:
        super().__init__(step)
        self.told: dict[str, Any] = {"failed": {"step": step, "errno": errno, "detail": detail}}


class Step:
    """Names what is being done, so that its failure can be told: leaves as StepError what comes as an Exception."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            where = f"{error.filename}: " if error.filename else ""
            raise StepError(self._name, error.errno or 0, where + str(error.strerror or error)) from error
        if isinstance(error, Exception) and not isinstance(error, StepError):
            raise StepError(self._name, 0, f"{type(error).__name__}: {error}") from error


def forbid_cores() -> None:
    """Let no crash of this process or its descendants be dumped. Raises OSError.

    At 0 the kernel writes no file, but would still start a core handler. At 1 it does neither (coredump_pipe,
    fs/coredump.c of Linux 6.18). The filters refuse any other value to the guest.
    """
    most = 1 if resource.getrlimit(resource.RLIMIT_CORE)[1] else 0
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))
