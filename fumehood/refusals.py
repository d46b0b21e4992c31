"""Pacing what is refused: a caller who asks again at once, whatever ``Retry-After`` says, is told no more slowly.

Saying no costs almost as much as hearing a call out. Whoever is refused over and over on many connections would
otherwise take the event loop from all others; answered at a steady pace, he cannot.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_A_SECOND = 10.0
"""How many calls of one caller are refused a second, once he has used up as many at once."""
_LONGEST_SECONDS = 5.0
_MANY = 1024


class Refusals:
    """When each caller was refused last. Belongs to one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}
        """When the caller's next refusal would be told at the steady pace; never further back than a second."""

    async def pace(self, name: str) -> None:
        """Wait until it is time to refuse this caller once more; not at all for one who is seldom refused."""
        await asyncio.sleep(self.delay_seconds(name))

    def delay_seconds(self, name: str) -> float:
        """Count a refusal, and say how long it is to wait."""
        now = self._clock()
        if name not in self._due and len(self._due) >= _MANY:
            self._due = {each: due for each, due in self._due.items() if due > now - 1}
        due = max(self._due.get(name, now - 1), now - 1)
        delay = min(max(due - now, 0.0), _LONGEST_SECONDS)
        self._due[name] = min(due + 1 / _A_SECOND, now + _LONGEST_SECONDS)
        return delay
