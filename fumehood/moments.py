"""Moments as a person types them: ``2026-05-01``, ``2026-05-01T12:00:00Z``, or how far off: ``90d``, ``12h``."""

from __future__ import annotations

import datetime as dt
import re

_DISTANCE = re.compile(r"(\d{1,9})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def from_now(text: str, now: dt.datetime) -> dt.datetime:
    """A moment to come, or the one that is written. Raises ValueError."""
    distance = _distance(text)
    return _written(text) if distance is None else now + distance


def ago(text: str, now: dt.datetime) -> dt.datetime:
    """A moment gone by, or the one that is written. Raises ValueError."""
    distance = _distance(text)
    return _written(text) if distance is None else now - distance


def _distance(text: str) -> dt.timedelta | None:
    found = _DISTANCE.fullmatch(text)
    return dt.timedelta(seconds=int(found[1]) * _SECONDS[found[2]]) if found else None


def _written(text: str) -> dt.datetime:
    """ISO 8601; without a zone it is UTC's."""
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        msg = f"not a moment: {text!r}; give one like 2026-05-01T12:00:00Z, or 90d, 12h, 30m"
        raise ValueError(msg) from None
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)
