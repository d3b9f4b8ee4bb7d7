"""What every engine does with the runs that it carries, whoever drives them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import pytest

from podium.cluster.port import Engine, Ticket, open_engine
from tests.cluster.hands import Hands, gone
from tests.stores.postgres import Server

LEASE_S = 2


@pytest.fixture
def url(pg_server: Server) -> str:
    return f"{pg_server.new_database()}?lease_s={LEASE_S}"


@pytest.fixture
async def carrier(engine: str, url: str) -> AsyncGenerator[Engine]:
    opened = await open_engine(engine, url)
    yield opened
    await opened.close()


async def test_a_run_that_is_submitted_while_it_is_driven_is_driven_once_more(carrier: Engine) -> None:
    async with Hands(carrier) as hands:
        hands.go_on.clear()
        await carrier.submit([Ticket("one", "three")])
        assert await hands.next() == "one"
        await carrier.submit([Ticket("one", "three")])
        await carrier.submit([Ticket("one", "three")])
        hands.go_on.set()
        assert await hands.next() == "one"
        await gone(carrier, "one")
        assert hands.given.empty()


async def test_a_run_that_wants_to_go_on_later_does_and_can_be_hastened(carrier: Engine) -> None:
    async with Hands(carrier) as hands:
        soon = time.time() + 0.5
        hands.answers = [soon, time.time() + 3600, None]
        await carrier.submit([Ticket("one", "three")])
        assert await hands.next() == "one"
        assert await hands.next() == "one"
        assert time.time() >= soon
        await carrier.submit([Ticket("one", "three")])
        assert await hands.next() == "one"
        await gone(carrier, "one")


async def test_a_run_that_is_due_later_waits_and_can_be_forgotten(carrier: Engine) -> None:
    async with Hands(carrier) as hands:
        await carrier.submit([Ticket("later", "three")], at=time.time() + 3600)
        await carrier.submit([Ticket("now", "three")])
        assert await hands.next() == "now"
        assert await carrier.carried(["later", "never"]) == {"later"}
        await carrier.forget("later")
        await carrier.forget("never")
        await gone(carrier, "later")
        assert hands.given.empty()


async def test_a_run_that_wants_to_go_on_and_was_asked_for_meanwhile_goes_on_at_once(carrier: Engine) -> None:
    """The earlier wish counts, and there is one stretch for both."""
    async with Hands(carrier) as hands:
        hands.go_on.clear()
        hands.answers = [time.time() + 3600]
        await carrier.submit([Ticket("one", "three")])
        assert await hands.next() == "one"
        await carrier.submit([Ticket("one", "three")])
        hands.go_on.set()
        assert await hands.next() == "one"
        await gone(carrier, "one")
        assert hands.given.empty()


async def test_a_worker_that_drains_for_longer_than_a_lease_keeps_its_run(
    carrier: Engine, engine: str, url: str
) -> None:
    other = await open_engine(engine, url)
    async with Hands(carrier) as first:
        first.go_on.clear()
        await carrier.submit([Ticket("one", "three")])
        assert await first.next() == "one"
        first.stop()
        async with Hands(other) as second:
            await asyncio.sleep(3 * LEASE_S)
            assert second.given.empty()
            first.go_on.set()
            await gone(carrier, "one")
            assert second.given.empty()
    await other.close()


async def test_a_run_that_is_driven_is_not_forgotten(carrier: Engine) -> None:
    """What it was told lies in its inbox, and whoever drives it ends it in order."""
    async with Hands(carrier) as hands:
        hands.go_on.clear()
        await carrier.submit([Ticket("one", "three")])
        assert await hands.next() == "one"
        await carrier.forget("one")
        assert await carrier.carried(["one"]) == {"one"}
        assert not hands.cancelled.is_set()
        hands.go_on.set()
        await gone(carrier, "one")


async def test_many_are_submitted_at_once_though_some_of_them_wait_already(carrier: Engine) -> None:
    names = [f"run {number}" for number in range(5)]
    await carrier.submit([Ticket(names[2], "three")], at=time.time() + 3600)
    await carrier.submit([Ticket(name, "three") for name in names])
    async with Hands(carrier) as hands:
        assert sorted([await hands.next() for _ in names]) == names
        for name in names:
            await gone(carrier, name)
        assert hands.given.empty()
