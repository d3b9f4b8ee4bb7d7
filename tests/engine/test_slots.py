"""Slots: so many calls at once, in the order in which they were wanted, and none is ever lost."""

from __future__ import annotations

import asyncio

from podium.engine.pacing import Slots

PATIENCE_S = 60.0


async def waiting(slots: Slots) -> asyncio.Task[None]:
    turn = slots.take()
    assert turn is not None
    task = asyncio.create_task(slots.taken(turn))
    await asyncio.sleep(0)
    return task


async def test_as_many_as_there_are_are_taken_without_a_wait() -> None:
    slots = Slots(2)
    assert [slots.take(), slots.take()] == [None, None]
    assert slots.take() is not None


async def test_a_slot_that_is_given_back_goes_to_the_one_who_has_waited_longest() -> None:
    slots = Slots(1)
    slots.take()
    first, second = await waiting(slots), await waiting(slots)
    slots.give()
    late = slots.take()
    await first
    assert not second.done()
    assert late is not None
    slots.give()
    await second
    assert not late.done()


async def test_who_leaves_the_line_holds_up_nobody() -> None:
    slots = Slots(1)
    slots.take()
    first, second = await waiting(slots), await waiting(slots)
    first.cancel()
    await asyncio.wait([first])
    slots.give()
    async with asyncio.timeout(PATIENCE_S):
        await second
    assert slots.take() is not None, "it is the second one's"


async def test_who_is_stopped_when_the_slot_was_just_handed_over_hands_it_on() -> None:
    slots = Slots(1)
    slots.take()
    first, second = await waiting(slots), await waiting(slots)
    slots.give()
    first.cancel()
    await asyncio.wait([first])
    assert first.cancelled()
    await second
    slots.give()
    assert slots.take() is None


async def test_when_nobody_waits_a_slot_is_free_again() -> None:
    slots = Slots(1)
    slots.take()
    slots.give()
    assert slots.take() is None
