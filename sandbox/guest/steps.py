"""Naming the step that failed."""

from __future__ import annotations

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
            raise StepError(self._name, error.errno or 0, str(error.strerror or error)) from error
        if isinstance(error, Exception) and not isinstance(error, StepError):
            raise StepError(self._name, 0, f"{type(error).__name__}: {error}") from error
