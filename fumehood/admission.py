"""How many at once: a fixed number of slots and, before them, a bounded line that is served first come first.

A slot is a thread. The engine and the analyser block, and the threads of an event loop's default pool are neither as
many as there are slots nor theirs alone.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")

_MAX_RETRY_SECONDS = 60
_NEWEST_SHARE = 0.2
"""How much the newest call counts in the average that ``Retry-After`` is guessed from."""


class QueueFullError(Exception):
    """The line is full; ``retry_after_seconds`` guesses when there will be room again."""

    def __init__(self, waiting: int, retry_after_seconds: int) -> None:
        super().__init__(f"{waiting} calls are waiting already")
        self.retry_after_seconds = retry_after_seconds


class Turn:
    """One call's place: in line, then in a slot, then gone. Made by :meth:`Admission.join`."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._granted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._joined = self._entered = time.monotonic()

    @property
    def queue_seconds(self) -> float:
        """How long this call waited, up to now or until it left the line."""
        return (self._entered if self._granted.done() else time.monotonic()) - self._joined

    async def come(self) -> bool:
        """Wait for the slot. True: it is ours, and :meth:`work` must follow. False: we left the line."""
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
        """Do the task in the slot's thread and give the slot back; the first in line has it at once.

        Where the awaiting task is ended the thread is not: the slot is given back when the thread really is free.
        The thread has the task's context: its log lines name the request, and its spans belong to it.
        """
        loop = asyncio.get_running_loop()
        future = self._admission._threads.submit(contextvars.copy_context().run, task)  # noqa: SLF001
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._release))
        return await asyncio.wrap_future(future)

    def _release(self) -> None:
        self._admission._give_back(time.monotonic() - self._entered)  # noqa: SLF001

    def _settle(self, *, granted: bool) -> None:
        self._entered = time.monotonic()
        self._granted.set_result(granted)


class Admission:
    """``slots`` calls at once and ``queue`` in line. Belongs to one event loop; not for other threads."""

    def __init__(self, slots: int, queue: int, *, name: str) -> None:
        self._slots = slots
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix=name)
        self._queue = queue
        self._free = slots
        self._line: deque[Turn] = deque()
        self._mean_seconds = 1.0

    @property
    def waiting(self) -> int:
        """How many are in line."""
        return len(self._line)

    @property
    def running(self) -> int:
        """How many hold a slot."""
        return self._slots - self._free

    def join(self, *, admitted: bool = False) -> Turn:
        """Take a free slot or a place in line.

        ``admitted`` is for the next run of a call that is in already: a full line does not keep it out, and its place
        is behind all others.

        Raises:
            QueueFullError: the line is full.
        """
        turn = Turn(self)
        if self._free:
            self._free -= 1
            turn._settle(granted=True)  # noqa: SLF001
        elif admitted or len(self._line) < self._queue:
            self._line.append(turn)
        else:
            guess = math.ceil((len(self._line) + 1) * self._mean_seconds / self._slots)
            raise QueueFullError(len(self._line), min(max(guess, 1), _MAX_RETRY_SECONDS))
        return turn

    def close(self) -> None:
        """Wait for the threads. Nobody may join any more."""
        self._threads.shutdown(wait=True)

    def _forget(self, turn: Turn) -> None:
        if turn in self._line:
            self._line.remove(turn)

    def _give_back(self, seconds: float) -> None:
        self._mean_seconds += _NEWEST_SHARE * (seconds - self._mean_seconds)
        while self._line:
            turn = self._line.popleft()
            if not turn._granted.done():  # noqa: SLF001 - its task may have been ended this very moment
                turn._settle(granted=True)  # noqa: SLF001
                return
        self._free += 1
