"""The moment by which an analysis should have answered."""

from __future__ import annotations

import time


class Deadline:
    """A point in time, ``seconds`` from now; None never passes."""

    def __init__(self, seconds: float | None) -> None:
        self._at = None if seconds is None else time.monotonic() + seconds

    def passed(self) -> bool:
        """Whether it is over."""
        return self._at is not None and time.monotonic() >= self._at

    def left(self) -> float:
        """Seconds that remain; infinity where there is no deadline."""
        return float("inf") if self._at is None else max(0.0, self._at - time.monotonic())

    def share(self, part: float) -> Deadline:
        """Return a nearer deadline, for one step of several: after this part of the seconds that remain."""
        return self if self._at is None else Deadline(self.left() * part)
