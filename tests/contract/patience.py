"""Waiting for what comes true by itself, or does not."""

from __future__ import annotations

import time
from collections.abc import Callable

from here import PACE


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether the condition holds before so many seconds of this kernel are over; it is asked at least once."""
    deadline = time.monotonic() + seconds * PACE
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return met
