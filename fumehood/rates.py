"""How often: a token bucket for each key, and the fields that tell its state.

The fields are those of draft-ietf-httpapi-ratelimit-headers-10: ``RateLimit-Policy`` says what is allowed (``q``
runs in ``w`` seconds), ``RateLimit`` how many are left (``r``) and in how many seconds all of them are again (``t``).
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from fumehood.problems import Kind, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from fumehood.auth import Caller

_WINDOW_SECONDS = 60
_NAME = "runs"
_MOST_IDLE = 1024
"""From so many buckets on, those that are full are forgotten: a full one is what a new one would be."""


class _Bucket:
    """``most`` tokens, refilled evenly over a window."""

    def __init__(self, most: int, now: float) -> None:
        self.most = most
        self._tokens = float(most)
        self._at = now

    def fill(self, most: int, now: float) -> float:
        """The tokens at this moment; ``most`` may have been changed since."""
        self._tokens = min(self._tokens + max(now - self._at, 0.0) * most / _WINDOW_SECONDS, float(most))
        self.most, self._at = most, now
        return self._tokens

    def take(self, count: int) -> None:
        self._tokens -= count

    def seconds_until(self, tokens: float) -> float:
        return max(tokens - self._tokens, 0.0) * _WINDOW_SECONDS / self.most


class Rates:
    """The buckets of all keys that have a rate. Belongs to one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def take(self, caller: Caller, count: int = 1) -> None:
        """Count runs against the caller's rate. None of them is counted where there is no room for all.

        Raises:
            Problem: 429 with ``Retry-After``, or 422 for more than the rate can ever have room for.
        """
        bucket = self._bucket(caller)
        if bucket is None or count <= 0:
            return
        if count > bucket.most:
            raise Problem(Kind.OVER_CEILING, f"this key may start {bucket.most} runs a minute, and these are {count}")
        if bucket.fill(bucket.most, self._clock()) < count:
            seconds = max(math.ceil(bucket.seconds_until(count)), 1)
            raise Problem(
                Kind.RATE_LIMITED,
                f"this key may start {bucket.most} runs a minute",
                headers={"Retry-After": str(seconds)},
            )
        bucket.take(count)

    def headers(self, caller: Caller) -> list[tuple[bytes, bytes]]:
        """The fields for an answer to this caller; none where its key has no rate."""
        bucket = self._bucket(caller)
        if bucket is None:
            return []
        left = math.floor(bucket.fill(bucket.most, self._clock()))
        full = math.ceil(bucket.seconds_until(bucket.most))
        return [
            (b"ratelimit-policy", f'"{_NAME}";q={bucket.most};w={_WINDOW_SECONDS}'.encode()),
            (b"ratelimit", f'"{_NAME}";r={left};t={full}'.encode()),
        ]

    def _bucket(self, caller: Caller) -> _Bucket | None:
        most = caller.grants.rate_per_minute
        if most is None:
            return None
        now = self._clock()
        bucket = self._buckets.get(caller.name)
        if bucket is None:
            if len(self._buckets) >= _MOST_IDLE:
                self._buckets = {
                    name: each for name, each in self._buckets.items() if each.fill(each.most, now) < each.most
                }
            bucket = self._buckets[caller.name] = _Bucket(most, now)
        else:
            bucket.fill(most, now)
        return bucket
