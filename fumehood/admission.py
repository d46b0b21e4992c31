"""How many at once: a fixed number of slots and, before them, a bounded line for each caller, served in turn.

Within a caller's line it is first come first served, strictly. Between callers the next free slot goes to whoever holds
the fewest, and among equals to whoever was served longest ago: a caller who floods waits behind himself. While several
callers are about, the last free slot is kept from those that hold one already, so that a caller who comes now and then
finds it free and does not wait for the end of a stranger's run.

A slot is a thread. The engine and the analyser block, and the threads of an event loop's default pool are neither as
many as there are slots nor theirs alone.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from fumehood.threads import started

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

Answer = TypeVar("Answer")

_MAX_RETRY_SECONDS = 60
_NEWEST_SHARE = 0.2
"""How much the newest call counts in the average that ``Retry-After`` is guessed from."""
_REST = 2.0
"""How long a patient run's slot rests, in times of what the run took: making and clearing away what it ran in costs two
processors for about as long as the run."""
_LONGEST_REST_SECONDS = 0.05
_MANY_OWNERS = 64
"""From so many callers on, those that are not about any more are forgotten before another is noted."""


class QueueFullError(Exception):
    """The line is full; ``retry_after_seconds`` guesses when there will be room again."""

    def __init__(self, waiting: int, retry_after_seconds: int) -> None:
        super().__init__(f"{waiting} calls are waiting already")
        self.retry_after_seconds = retry_after_seconds


@dataclass(slots=True, eq=False)
class _Owner:
    """One caller's line, and how he stands against the others."""

    most: int
    line: deque[Turn] = field(default_factory=deque)
    running: int = 0
    served: int = 0
    """The number of the last grant that was his."""
    seen: float = float("-inf")
    """When he last came or left a slot."""


class Turn:
    """One call's place: in line, then in a slot, then gone. Made by :meth:`Admission.join`."""

    def __init__(self, admission: Admission, owner: _Owner, *, admitted: bool) -> None:
        self._admission = admission
        self._owner = owner
        self._admitted = admitted
        self.patient = False
        """Whether this owner wants more than one slot while others are about, who are not to wait for what he uses."""
        self._granted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._joined = self._entered = time.monotonic()

    @property
    def queue_seconds(self) -> float:
        """How long this call waited, up to now or until it left the line."""
        return (self._entered if self._granted.done() else time.monotonic()) - self._joined

    async def come(self) -> bool:
        """Wait for the slot. True: it is ours, and :meth:`work` must follow. False: we left the line.

        Raises:
            QueueFullError: the place in line was given to another caller, whose line was shorter than ours.
        """
        try:
            return await self._granted
        except asyncio.CancelledError:
            # The task that waits is being ended. The slot may have been granted in the same moment.
            if self._granted.done() and not self._granted.cancelled() and self._granted.result():
                self._release()
            self._admission._forget(self)  # noqa: SLF001 - a turn and its admission are one mechanism
            raise

    def leave(self) -> None:
        """Give up waiting. Without effect once the slot is held."""
        if not self._granted.done():
            self._admission._forget(self)  # noqa: SLF001
            self._settle(granted=False)

    async def work(self, task: Callable[[], Answer]) -> Answer:
        """Do the task in the slot's thread and give the slot back; the next in turn has it at once.

        Where the awaiting task is ended the thread is not: the slot is given back when the thread really is free.
        The thread has the task's context: its log lines name the request, and its spans belong to it.
        """
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()

        def end(done: Future[Answer]) -> None:
            """On the loop, once for both: to wake it costs as much as either."""
            self._release()
            if not answered.done():
                _copy(done, answered)

        done = self._admission._threads.submit(contextvars.copy_context().run, task)  # noqa: SLF001
        done.add_done_callback(lambda done: loop.call_soon_threadsafe(end, done))
        return await answered

    def _release(self) -> None:
        self._admission._rest(self, time.monotonic() - self._entered)  # noqa: SLF001

    def _settle(self, *, granted: bool) -> None:
        self._entered = time.monotonic()
        self._granted.set_result(granted)

    def _put_out(self, full: QueueFullError) -> None:
        self._entered = time.monotonic()
        self._granted.set_exception(full)
        self._granted.exception()  # its task may be ended before it looks, and that is no fault to be logged


def _copy(done: Future[Answer], answered: asyncio.Future[Answer]) -> None:
    error = done.exception()
    if error is None:
        answered.set_result(done.result())
    else:
        answered.set_exception(error)


class Admission:
    """``slots`` calls at once and ``queue`` in line, over all callers. Belongs to one event loop; not to be shared.

    ``reserve_seconds`` is how long after a caller was last seen the last free slot is kept for him; 0 keeps none.
    """

    def __init__(self, slots: int, queue: int, *, name: str, reserve_seconds: float = 0.0) -> None:
        self._slots = slots
        self._threads = started(slots, name)
        self._queue = queue
        self._reserve_seconds = reserve_seconds if slots > 1 else 0.0
        self._free = slots
        self._waiting = 0
        self._grants = 0
        self._owners: dict[str, _Owner] = {}
        self._mean_seconds = 1.0
        self._later: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """How many are in line."""
        return self._waiting

    @property
    def running(self) -> int:
        """How many hold a slot."""
        return self._slots - self._free

    def join(
        self, owner: str = "", *, most: int | None = None, room: int | None = None, admitted: bool = False
    ) -> Turn:
        """Take a free slot or a place in line.

        Args:
            owner: whose line.
            most: how many slots this owner may hold.
            room: how many of this owner may wait.
            admitted: for the next run of a call that is in already. A full line does not keep it out, and its place is
                behind all others of its owner.

        Raises:
            QueueFullError: the line is full, and no other owner's is longer than this one's would be.
        """
        mine = self._owner(owner)
        mine.most = self._slots if most is None else most
        mine.seen = time.monotonic()
        turn = Turn(self, mine, admitted=admitted)
        if not mine.line and self._may_start(mine):
            self._grant(mine, turn)
            return turn
        if not admitted:
            if room is not None and len(mine.line) >= room:
                raise self._full(len(mine.line), min(mine.most, self._slots))
            if self._waiting >= self._queue and not self._put_out_of_a_longer_line(mine):
                raise self._full(self._waiting, self._slots)
        mine.line.append(turn)
        self._waiting += 1
        return turn

    def close(self) -> None:
        """Wait for the threads. Nobody may join any more."""
        if self._later is not None:
            self._later.cancel()
        self._threads.shutdown(wait=True)

    def _owner(self, name: str) -> _Owner:
        found = self._owners.get(name)
        if found is None:
            if len(self._owners) >= _MANY_OWNERS:
                past = time.monotonic() - self._reserve_seconds
                self._owners = {
                    name: each for name, each in self._owners.items() if each.line or each.running or each.seen > past
                }
            found = self._owners[name] = _Owner(self._slots)
        return found

    def _may_start(self, mine: _Owner) -> bool:
        return self._free > 0 and mine.running < mine.most and not (self._free == 1 and self._is_kept_from(mine))

    def _is_kept_from(self, mine: _Owner) -> bool:
        """Whether the last free slot is kept for a caller that is about and holds none."""
        if not mine.running:
            return False
        left = self._until_alone(mine, idle=True)
        if left <= 0:
            return False
        if self._later is None:  # nothing else may happen until then
            self._later = asyncio.get_running_loop().call_later(left, self._look_again)
        return True

    def _until_alone(self, mine: _Owner, *, idle: bool = False) -> float:
        """In how many seconds no other owner (``idle``: none without a slot) counts as about; 0 or less: none does."""
        if not self._reserve_seconds:
            return 0.0
        others = [
            each.seen
            for each in self._owners.values()
            if each is not mine and each.most and not (idle and each.running)
        ]
        return max(others, default=float("-inf")) + self._reserve_seconds - time.monotonic()

    def _look_again(self) -> None:
        self._later = None
        self._fill()

    def _grant(self, mine: _Owner, turn: Turn) -> None:
        self._free -= 1
        self._grants += 1
        mine.running += 1
        mine.served = self._grants
        turn.patient = (mine.running > 1 or bool(mine.line)) and self._until_alone(mine) > 0
        turn._settle(granted=True)  # noqa: SLF001

    def _rest(self, turn: Turn, seconds: float) -> None:
        """Give the slot back; a patient one's after a rest, if that is short and nobody else waits for it.

        Many short runs after one another keep every processor busy with what comes before and after them, and a
        caller who finds a slot free would still wait for a processor.
        """
        mine = turn._owner  # noqa: SLF001
        if turn.patient and len(mine.line) == self._waiting and self._until_alone(mine) > 0:
            pause = min(seconds * _REST, _LONGEST_REST_SECONDS)
            asyncio.get_running_loop().call_later(pause, self._give_back, mine, seconds)
        else:
            self._give_back(mine, seconds)

    def _give_back(self, mine: _Owner, seconds: float) -> None:
        self._mean_seconds += _NEWEST_SHARE * (seconds - self._mean_seconds)
        mine.running -= 1
        mine.seen = time.monotonic()
        self._free += 1
        self._fill()

    def _fill(self) -> None:
        """Grant what is free to whoever holds the fewest slots, then to whoever was served longest ago."""
        while self._free and self._waiting:
            next_ones = [each for each in self._owners.values() if each.line and self._may_start(each)]
            if not next_ones:
                return
            mine = min(next_ones, key=lambda each: (each.running, each.served))
            turn = mine.line.popleft()
            self._waiting -= 1
            if not turn._granted.done():  # noqa: SLF001 - its task may have been ended this very moment
                self._grant(mine, turn)

    def _forget(self, turn: Turn) -> None:
        line = turn._owner.line  # noqa: SLF001
        if turn in line:
            line.remove(turn)
            self._waiting -= 1

    def _put_out_of_a_longer_line(self, mine: _Owner) -> bool:
        """Make room by sending away the last of the longest line, where that stays as long as ours becomes."""
        longest = max(self._owners.values(), key=lambda each: len(each.line))
        if len(longest.line) <= len(mine.line) + 1:
            return False
        turn = next((each for each in reversed(longest.line) if not each._admitted), None)  # noqa: SLF001
        if turn is None:
            return False
        longest.line.remove(turn)
        self._waiting -= 1
        turn._put_out(self._full(len(longest.line), self._slots))  # noqa: SLF001
        return True

    def _full(self, waiting: int, slots: int) -> QueueFullError:
        guess = math.ceil((waiting + 1) * self._mean_seconds / max(slots, 1))
        return QueueFullError(waiting, min(max(guess, 1), _MAX_RETRY_SECONDS))
