"""Turns at the event loop: bursts are spread, what is urgent goes first, nobody is forgotten."""

from __future__ import annotations

import asyncio
import time

from podium.engine.pacing import SLICE_S, Turns, turns_of


def busy(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


async def working(turns: Turns, seconds: float, *, urgent: bool = False) -> None:
    if (turn := turns.take(urgent=urgent)) is not None:
        await turn
    busy(seconds)


async def iterations_during(work: asyncio.Future[list[None]]) -> int:
    """How often the loop came round until the work was done."""
    count = 0
    while not work.done():
        await asyncio.sleep(0)
        count += 1
    return count


async def test_a_burst_of_work_leaves_the_loop_free_in_between() -> None:
    turns = turns_of(asyncio.get_running_loop())
    burst = asyncio.gather(*(working(turns, SLICE_S / 4) for _ in range(60)))
    assert await iterations_during(burst) >= 8  # 60 of them in one go would be one or two


async def test_without_turns_the_same_burst_is_one_iteration() -> None:
    """What the test above would see if nobody took turns."""

    async def at_once() -> None:
        busy(SLICE_S / 4)

    assert await iterations_during(asyncio.gather(*(at_once() for _ in range(60)))) <= 4


async def test_a_little_work_is_not_made_to_wait() -> None:
    turns = turns_of(asyncio.get_running_loop())
    assert turns.take() is None
    assert turns.take() is None


async def test_the_urgent_go_before_the_patient_and_each_in_their_order() -> None:
    turns = turns_of(asyncio.get_running_loop())
    order: list[str] = []
    assert turns.take() is None
    busy(SLICE_S * 1.5)  # this iteration has had its share: all others wait
    waiting: list[asyncio.Future[None]] = []
    for name in ("patient 1", "patient 2", "urgent 1", "urgent 2"):
        turn = turns.take(urgent=name.startswith("urgent"))
        assert turn is not None
        turn.add_done_callback(lambda _, name=name: order.append(name))
        waiting.append(turn)
    await asyncio.gather(*waiting)
    assert order == ["urgent 1", "urgent 2", "patient 1", "patient 2"]


async def test_one_who_gave_up_waiting_takes_nobodys_turn() -> None:
    turns = turns_of(asyncio.get_running_loop())
    assert turns.take() is None
    busy(SLICE_S * 1.5)
    waiting = [turns.take() for _ in range(5)]
    for turn in waiting[:4]:
        assert turn is not None
        turn.cancel()
    assert waiting[4] is not None
    await asyncio.wait_for(waiting[4], 5)


async def test_every_loop_has_turns_of_its_own() -> None:
    loop = asyncio.get_running_loop()
    assert turns_of(loop) is turns_of(loop)
    other = asyncio.new_event_loop()
    try:
        assert turns_of(other) is not turns_of(loop)
    finally:
        other.close()
