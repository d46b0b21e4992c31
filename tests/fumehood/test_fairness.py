"""Slots between callers: fewest first, then whoever waited longest; a flood stands in its own way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from fumehood.admission import Admission, QueueFullError, Turn


def run(
    story: Callable[[Admission], Awaitable[None]], *, slots: int = 1, queue: int = 64, reserve_seconds: float = 0.0
) -> None:
    """Play a story on an event loop of its own."""

    async def play() -> None:
        admission = Admission(slots, queue, name="test", reserve_seconds=reserve_seconds)
        try:
            await story(admission)
        finally:
            admission.close()

    asyncio.run(play())


def granted(*turns: Turn) -> list[bool]:
    """Which of them hold a slot."""
    return [turn._granted.done() and turn._granted.result() for turn in turns]


async def order(names: dict[Turn, str], holding: list[Turn]) -> str:
    """Give slots back one after the other, the oldest first, and tell whose turn it was each time."""
    told = ""
    waiting = [turn for turn in names if turn not in holding]
    while holding:
        holding.pop(0)._release()
        came = [turn for turn in waiting if turn._granted.done()]
        for turn in came:
            assert await turn.come()
            waiting.remove(turn)
            holding.append(turn)
            told += names[turn]
    return told


def test_callers_are_served_in_turn_and_each_in_his_own_order() -> None:
    """One who came with ten calls before the other's three does not keep those waiting."""

    async def story(admission: Admission) -> None:
        names = {}
        for number in range(10):
            names[admission.join("a")] = f"a{number} "
        for number in range(3):
            names[admission.join("b")] = f"b{number} "
        first = next(iter(names))
        assert await order(names, [first]) == "b0 a1 b1 a2 b2 a3 a4 a5 a6 a7 a8 a9 "
        assert (admission.running, admission.waiting) == (0, 0)

    run(story)


def test_whoever_holds_fewest_is_next() -> None:
    """With three slots and a flood, each of two others has one while the flood has the third."""

    async def story(admission: Admission) -> None:
        flood = [admission.join("flood") for _ in range(20)]
        b, c = admission.join("b"), admission.join("c")
        assert sum(granted(*flood)) == 3
        flood[0]._release()
        flood[1]._release()
        assert granted(b, c) == [True, True]
        more = admission.join("b")
        flood[2]._release()
        assert granted(more, flood[3]) == [False, True]

    run(story, slots=3)


def test_a_key_may_hold_no_more_than_its_own_slots() -> None:
    """What is over waits in the key's line, in order, and leaves the other slots to others."""

    async def story(admission: Admission) -> None:
        own = [admission.join("a", most=1) for _ in range(3)]
        assert granted(*own) == [True, False, False]
        assert granted(admission.join("b"), admission.join("b")) == [True, True]
        own[0]._release()
        assert granted(*own[1:]) == [True, False]

    run(story, slots=3)


def test_a_key_may_have_no_more_in_line_than_its_own_places() -> None:
    """The others' places are theirs."""

    async def story(admission: Admission) -> None:
        for _ in range(3):
            admission.join("a", room=2)
        with pytest.raises(QueueFullError):
            admission.join("a", room=2)
        admission.join("b", room=2)
        assert admission.waiting == 3

    run(story)


def test_a_full_line_makes_room_for_the_shorter_lines() -> None:
    """The last of the longest line is sent away; nobody of an equal one is, and never the run of a batch."""

    async def story(admission: Admission) -> None:
        flood = [admission.join("flood") for _ in range(4)]
        late = admission.join("flood", admitted=True)
        assert admission.waiting == 4
        b = admission.join("b")
        assert admission.waiting == 4
        with pytest.raises(QueueFullError):
            await flood[-1].come()
        assert not late._granted.done()
        admission.join("b")
        with pytest.raises(QueueFullError):
            await flood[-2].come()
        with pytest.raises(QueueFullError):
            admission.join("b")
        with pytest.raises(QueueFullError):
            admission.join("flood")
        flood[0]._release()
        assert granted(b) == [True]
        assert flood[1].queue_seconds >= 0

    run(story, queue=4)


def test_the_last_slot_is_kept_for_a_caller_who_is_about() -> None:
    """He finds it free; a caller who is alone has them all; and after a time it is given away."""

    async def story(admission: Admission) -> None:
        alone = [admission.join("flood") for _ in range(2)]
        assert granted(*alone) == [True, True]
        quiet = admission.join("quiet")
        alone[0]._release()
        assert granted(quiet) == [True]
        flood = [admission.join("flood") for _ in range(2)]
        quiet._release()
        assert granted(*flood) == [False, False]
        again = admission.join("quiet")
        assert granted(again) == [True]
        again._release()
        assert granted(*flood) == [False, False]
        await asyncio.sleep(0.3)
        assert granted(*flood) == [True, False]

    run(story, slots=2, reserve_seconds=0.2)


def test_a_crowd_rests_between_short_runs_while_another_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as long as its run was, but never long."""
    monkeypatch.setattr("fumehood.admission._LONGEST_REST_SECONDS", 0.15)

    async def crowd(admission: Admission) -> None:
        quiet = admission.join("quiet")
        flood = [admission.join("flood") for _ in range(4)]
        quiet._release()
        assert granted(*flood) == [True, False, False, False]
        assert [flood[0].patient, quiet.patient] == [False, False]
        flood[0]._release()
        assert granted(flood[1]) == [True]
        assert flood[1].patient
        await asyncio.sleep(0.05)
        flood[1]._release()
        assert granted(flood[2]) == [False]
        await asyncio.sleep(0.06)
        assert granted(flood[2]) == [False]
        await asyncio.sleep(0.1)
        assert granted(flood[2], flood[3]) == [True, False]
        await asyncio.sleep(0.3)
        began = asyncio.get_running_loop().time()
        flood[2]._release()
        assert await asyncio.wait_for(flood[3].come(), 1)
        assert 0.1 < asyncio.get_running_loop().time() - began < 0.4

    run(crowd, slots=2, reserve_seconds=60)


def test_there_is_no_rest_while_somebody_else_waits_or_nobody_else_is_about() -> None:
    """It is for those who are about and not in line."""

    async def story(admission: Admission) -> None:
        flood = [admission.join("flood") for _ in range(4)]
        assert not any(turn.patient for turn in flood[:2])
        flood[0]._release()
        assert granted(flood[2]) == [True]
        assert not flood[2].patient
        quiet = admission.join("quiet")
        flood[1].patient = True  # as if it had begun beside the other
        flood[1]._release()
        assert granted(quiet) == [True]

    run(story, slots=2, reserve_seconds=60)


def test_a_single_slot_is_never_kept() -> None:
    """Nobody could run."""

    async def story(admission: Admission) -> None:
        admission.join("quiet")._release()
        assert granted(admission.join("flood")) == [True]

    run(story, reserve_seconds=60)


def test_callers_that_are_gone_are_forgotten() -> None:
    """A thousand keys that came once are not looked at for ever."""

    async def story(admission: Admission) -> None:
        for number in range(1000):
            admission.join(f"key {number}")._release()
        assert len(admission._owners) < 100

    run(story)
