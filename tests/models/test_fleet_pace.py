"""The pace of a provider that a fleet keeps together: on a real PostgreSQL, with real processes."""

from __future__ import annotations

import asyncio
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from hashlib import sha256
from pathlib import Path
from typing import cast

import pytest

from podium.engine.log import Store
from podium.engine.owner_budget import SharedLimits
from podium.models.provider_limits import CALLS_BURST_S, AllProviderLimits, FleetPace, RequestPace
from podium.stores import open_store
from tests import warm
from tests.stores.postgres import Server

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
"""Processes of their own take long to begin on a machine that others keep busy."""


@pytest.fixture
async def store(pg_server: Server) -> AsyncGenerator[Store]:
    async with open_store(pg_server.new_place()) as opened:
        yield opened


def limits_of(store: Store) -> SharedLimits:
    assert store.limits is not None
    return store.limits


async def worker(url: str, per_minute: int, seconds: float) -> warm.Process:
    words = ["-m", "tests.models.programs.keep_pace", url, str(per_minute), str(seconds), "40"]
    process = await warm.spawn(sys.executable, *words, stdin=PIPE, stdout=PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


async def times_of(process: warm.Process) -> list[float]:
    async with asyncio.timeout(PATIENCE_S):
        out, _ = await process.communicate(b"go\n")
    return [float(word) for word in out.split()]


@pytest.mark.slow
async def test_a_hundred_calls_a_second_hold_across_four_workers(store: Store) -> None:
    """Not 5 % more in all, and every worker has its part. That not 5 % fewer are made is shown on a clock of
    its own in `test_fleet_pace_span`, and on a machine with time by `python -m benchmarks.limits`."""
    workers = [await worker(store.url, 6000, 5.0) for _ in range(4)]
    parts = await asyncio.gather(*map(times_of, workers))
    times = sorted(time for part in parts for time in part)
    assert len(times) <= (times[-1] - times[0]) * 100 * 1.05
    assert len(times) >= 250
    assert min(map(len, parts)) > len(times) / 16


async def turns(pace: RequestPace, count: int, tokens: int = 0) -> float:
    """How long so many turns take."""
    began = time.monotonic()
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(count):
            while (wait := pace.take(tokens)) > 0:  # noqa: ASYNC110 - how an ask waits for its turn
                await asyncio.sleep(wait)
    return time.monotonic() - began


async def test_two_workers_on_one_limit_have_half_each(store: Store, pg_server: Server) -> None:
    async with open_store(store.url) as other:
        paces = [
            AllProviderLimits().of("openai", "", 1200, None, limits_of(each_store)).pace
            for each_store in (store, other)
        ]
        took = await asyncio.gather(*(turns(pace, 20) for pace in paces))
    assert max(took) >= (40 - 1) / 20 - 2 * CALLS_BURST_S


async def test_a_few_turns_ask_the_store_less_often_than_they_are(store: Store) -> None:
    """A busy worker is lent longer and longer parts."""
    times: list[float] = []

    class Counting:
        """The store's own limits, and a count."""

        async def lend_pace(self, name: str, span_s: float, burst_s: float) -> float:
            times.append(span_s)
            return await limits_of(store).lend_pace(name, span_s, burst_s)

        def __getattr__(self, name: str) -> object:
            return getattr(limits_of(store), name)

    pace = FleetPace(cast("SharedLimits", Counting()), "busy", 60_000, None, time.monotonic)
    await turns(pace, 400)
    assert len(times) < 100


async def test_tokens_that_were_not_used_come_back_to_the_fleet(store: Store) -> None:
    """A call counts with all that it may use. What it did not use is there for the other worker at once."""
    async with open_store(store.url) as other:
        pace, other_pace = (
            AllProviderLimits().of("openai", "", None, 60_000, limits_of(s)).pace for s in (store, other)
        )
        await turns(pace, 1, 6_000)  # all that may be made up for
        assert other_pace.take(5_000) > 0
        pace.correct(-5_900)
        assert await turns(other_pace, 1, 5_000) < 4, "without them it would take five seconds"


async def test_a_provider_that_asks_for_rest_is_left_alone_by_everybody(store: Store) -> None:
    async with open_store(store.url) as other:
        pace, other_pace = (
            AllProviderLimits().of("openai", "", 6000, None, limits_of(s)).pace for s in (store, other)
        )
        await turns(pace, 1)
        pace.hold(3.0)
        name = f"openai {sha256().hexdigest()[:16]} requests"
        async with asyncio.timeout(PATIENCE_S):
            while await limits_of(store).lend_pace(name, 0.0, 0.05) < 0.5:  # noqa: ASYNC110 - a task of its own
                await asyncio.sleep(0.01)
        assert await turns(other_pace, 1) > 0.4


async def test_a_provider_that_asks_again_is_not_asked_earlier(store: Store) -> None:
    limits = limits_of(store)
    await limits.hold_pace("openai", 3600.0)
    await limits.hold_pace("openai", 1.0)
    assert await limits.lend_pace("openai", 0.1, 0.05) > 1800


async def test_a_pace_that_nobody_took_for_long_is_made_up_for_by_a_moment_only(store: Store) -> None:
    """After a quiet hour there is no burst of an hour's calls."""
    limits = limits_of(store)
    await limits.lend_pace("openai", -3600.0, 3600.0)
    began = [await limits.lend_pace("openai", 600.0, 0.05) for _ in range(2)]
    assert -0.1 < began[0] < 0
    assert began[1] > 500


async def test_where_one_machine_is_alone_nobody_is_asked(tmp_path: Path) -> None:
    async with open_store(f"sqlite:///{tmp_path}/podium.sqlite") as alone:
        assert not isinstance(AllProviderLimits().of("openai", "", 60, None, alone.limits).pace, FleetPace)


async def test_a_provider_without_limits_has_nothing_to_share(store: Store) -> None:
    guards = AllProviderLimits()
    assert not isinstance(guards.of("openai", "", None, None, store.limits).pace, FleetPace)
    shared = guards.of("openai", "", 60, None, store.limits)
    assert isinstance(shared.pace, FleetPace)
    assert guards.of("openai", "", 60, None, store.limits) is shared
