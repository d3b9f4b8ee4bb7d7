"""While runs are driven, garbage is looked for less often and threads wait less for each other."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Generator

import pytest

import podium
from podium.engine.log import Store
from podium.engine.pacing import tuned

State = tuple[tuple[int, int, int], float]


def state() -> State:
    return gc.get_threshold(), sys.getswitchinterval()


@pytest.fixture(autouse=True)
def as_python_comes() -> Generator[None]:
    before = state()
    gc.set_threshold(700, 10, 10)
    sys.setswitchinterval(0.005)
    yield
    gc.set_threshold(*before[0])
    sys.setswitchinterval(before[1])


async def test_it_holds_while_a_run_is_driven_and_no_longer(store: Store) -> None:
    seen: list[State] = []

    @podium.workflow
    async def looks(run: podium.Run, request: str) -> str:
        seen.append(state())
        return request

    before = state()
    await podium.run(looks, "x", store=store)
    (thresholds, switch_s) = seen[0]
    assert thresholds == (10_000, 10, 50)
    assert switch_s < 0.001
    assert state() == before


async def test_the_last_of_many_runs_puts_it_back(store: Store) -> None:
    go_on = asyncio.Event()

    @podium.workflow
    async def waits(run: podium.Run, request: str) -> str:
        if request == "long":
            await go_on.wait()
        return request

    before = state()
    long = asyncio.create_task(podium.run(waits, "long", store=store))
    await podium.run(waits, "short", store=store)
    assert state() != before
    go_on.set()
    await long
    assert state() == before


def test_it_is_put_back_after_a_failure() -> None:
    before = state()
    with pytest.raises(ZeroDivisionError), tuned():
        raise ZeroDivisionError
    assert state() == before


@pytest.mark.parametrize("youngest", [0, 50_000])
def test_who_looks_for_garbage_never_or_seldom_is_left_alone(youngest: int) -> None:
    gc.set_threshold(youngest, 20, 60)
    with tuned():
        assert gc.get_threshold() == (youngest, 20, 60)


def test_who_lets_threads_wait_less_is_left_alone() -> None:
    sys.setswitchinterval(0.0001)
    before = sys.getswitchinterval()  # it is kept in microseconds, cut off
    with tuned():
        assert sys.getswitchinterval() == before
    assert sys.getswitchinterval() == before
