"""Slots and the line before them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from fumehood.admission import Admission, QueueFullError


def run(story: Callable[[Admission], Awaitable[None]], *, slots: int = 1, queue: int = 8) -> None:
    """Play a story on an event loop of its own, and see that every slot came back."""

    async def play() -> None:
        admission = Admission(slots, queue, name="test")
        try:
            await story(admission)
            await asyncio.sleep(0.01)
            assert (admission.running, admission.waiting) == (0, 0)
        finally:
            admission.close()

    asyncio.run(play())


def test_a_task_that_is_ended_while_it_waits_leaves_the_line() -> None:
    """And the one behind it comes when the slot is free."""

    async def story(admission: Admission) -> None:
        go = threading.Event()
        first, second, third = (admission.join() for _ in range(3))
        assert await first.come()
        work = asyncio.create_task(first.work(lambda: go.wait(5)))
        waiting = asyncio.create_task(second.come())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert admission.waiting == 1
        go.set()
        assert await work
        assert await third.come()
        assert await third.work(lambda: 3) == 3

    run(story)


def test_a_slot_granted_to_a_task_that_is_ended_is_given_on() -> None:
    """The grant and the end may fall into the same moment."""

    async def story(admission: Admission) -> None:
        first, second = admission.join(), admission.join()
        assert await first.come()
        waiting = asyncio.create_task(second.come())
        await asyncio.sleep(0)
        first._release()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    run(story)


def test_a_slot_is_given_back_when_its_thread_is_free_not_when_its_task_ends() -> None:
    """Otherwise more would run than there are slots."""

    async def story(admission: Admission) -> None:
        go = threading.Event()
        turn = admission.join()
        assert await turn.come()
        work = asyncio.create_task(turn.work(lambda: go.wait(5)))
        await asyncio.sleep(0.02)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert admission.running == 1
        go.set()
        for _ in range(100):
            await asyncio.sleep(0.01)
            if admission.running == 0:
                break

    run(story)


def test_a_task_that_fails_gives_its_slot_back() -> None:
    """The failure is the caller's to see."""

    async def story(admission: Admission) -> None:
        for _ in range(3):
            turn = admission.join()
            assert await turn.come()
            with pytest.raises(ZeroDivisionError):
                await turn.work(lambda: 1 // 0)
            await asyncio.sleep(0.01)

    run(story)


def test_leaving_after_the_slot_is_held_changes_nothing() -> None:
    """Cancelling what runs is the engine's affair."""

    async def story(admission: Admission) -> None:
        turn = admission.join()
        turn.leave()
        assert await turn.come()
        assert await turn.work(lambda: "done") == "done"

    run(story)


def test_a_line_of_none_refuses_at_once() -> None:
    """``queue = 0`` means: run or refuse."""

    async def story(admission: Admission) -> None:
        turn = admission.join()
        with pytest.raises(QueueFullError) as full:
            admission.join()
        assert 1 <= full.value.retry_after_seconds <= 60
        assert await turn.come()
        await turn.work(lambda: None)

    run(story, queue=0)
