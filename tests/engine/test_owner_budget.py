"""What an owner may spend holds for all runs together, on however many machines, and whatever dies."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

import podium
from podium.api.admission import enqueue
from podium.engine.budget import NANO, Ledger, Scope
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.engine.owner_budget import OwnerBudget, SharedLimits
from podium.errors import BudgetExhaustedError, FencedError
from podium.settings import Settings
from podium.stores import open_store
from tests import warm
from tests.engine.programs.spend import CENT, spending
from tests.engine.reserving import reserved
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


async def begin(store: Store, runs: int | str, calls: int, place: Path) -> warm.Process:
    words = [store.url, "alice", str(runs), str(calls), str(place)]
    program = "tests.engine.programs.spend"
    return await warm.spawn(sys.executable, "-m", program, *words, stdout=PIPE, cwd=ROOT)


async def statuses(process: warm.Process) -> list[str]:
    async with asyncio.timeout(PATIENCE_S):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode().splitlines()[-1].split()


async def accepted(store: Store, workflow: podium.Workflow) -> str:
    row = await enqueue(workflow, "go", store=store, settings=Settings(), marks={"owner": "alice"})
    return row.run_id


@pytest.mark.slow
async def test_the_money_of_an_owner_holds_across_four_workers_with_fifty_runs(
    store: Store, tmp_path: Path
) -> None:
    """1,000 calls of a cent are wanted, three dollars are there: exactly 300 are made, so nothing starves."""
    await limits_of(store).set_account("alice", 3.0)
    place = tmp_path / "calls"
    workers = [await begin(store, runs, 20, place) for runs in (13, 13, 12, 12)]
    ended = [status for worker in workers for status in await statuses(worker)]
    assert len(ended) == 50
    assert place.stat().st_size == 300
    assert "partial" in ended
    account = await limits_of(store).set_account("alice", 3.0)
    assert account.taken_usd == pytest.approx(3.0)


@pytest.mark.slow
async def test_a_worker_that_is_killed_does_not_make_its_owner_richer(store: Store, tmp_path: Path) -> None:
    """What it was lent counts as spent, then as what its log says; all calls stay under the limit."""
    await limits_of(store).set_account("alice", 2.0)
    place = tmp_path / "calls"
    first, second = await begin(store, 6, 60, place), await begin(store, 6, 60, place)
    async with asyncio.timeout(PATIENCE_S):
        while not place.exists() or place.stat().st_size < 60:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    await first.wait()
    assert "partial" in await statuses(second)
    third = await begin(store, "take-over", 60, place)
    await statuses(third)
    assert place.stat().st_size <= 200
    assert place.stat().st_size >= 200 - 2 * 12 * 4, "what was lost is what calls in flight may have cost"
    row = await store.list_runs(owner="alice", limit=100)
    assert not [run.status for run in row if run.status not in ("partial", "completed")]


async def test_a_raised_limit_lets_runs_go_on_and_nothing_is_paid_twice(store: Store, tmp_path: Path) -> None:
    await limits_of(store).set_account("alice", 0.05)
    place = tmp_path / "calls"
    workflow = spending(20, place, slow=0.0)
    handle = await podium.resume(await accepted(store, workflow), workflow=workflow, store=store)
    result = await handle.result()
    assert (result.status, result.stop_reason, result.usage.calls) == ("partial", "budget", 5)
    assert "owner" in (result.error or "")
    await limits_of(store).set_account("alice", 1.0)
    again = await (await podium.resume(handle.run_id, workflow=workflow, store=store)).result()
    assert (again.status, again.usage.calls, place.stat().st_size) == ("completed", 20, 20)
    assert (await limits_of(store).set_account("alice", 1.0)).taken_usd == pytest.approx(0.2)


async def test_an_owner_without_a_limit_is_not_asked_for_anything(store: Store, tmp_path: Path) -> None:
    workflow = spending(4, tmp_path / "calls", slow=0.0)
    handle = await podium.resume(await accepted(store, workflow), workflow=workflow, store=store)
    assert (await handle.result()).status == "completed"


async def test_what_was_spent_before_there_was_a_limit_counts(store: Store, tmp_path: Path) -> None:
    workflow = spending(4, tmp_path / "calls", slow=0.0)
    await (await podium.resume(await accepted(store, workflow), workflow=workflow, store=store)).result()
    account = await limits_of(store).set_account("alice", 1.0)
    assert account.taken_usd == pytest.approx(0.04)


async def purse_of(store: Store, tmp_path: Path) -> tuple[OwnerBudget, Ledger, Scope]:
    lease = await store.acquire(await accepted(store, spending(2, tmp_path / "calls")))
    root = Scope("", podium.Budget())
    ledger = Ledger()
    purse = OwnerBudget(limits_of(store), lease, 0, changed=ledger.pump, broke=print)
    return purse, ledger, root


async def test_one_run_waits_for_what_another_may_give_back(store: Store, tmp_path: Path) -> None:
    """Too little is free now, but a call in flight reserved more than it will cost."""
    await limits_of(store).set_account("alice", 1.0)
    (budget, first, _), (other, second, _) = await purse_of(store, tmp_path), await purse_of(store, tmp_path)
    held = await reserved(first, (budget,), Charge(usd=0.9))
    waiting = asyncio.create_task(reserved(second, (other,), Charge(usd=0.5)))
    await asyncio.wait([waiting], timeout=0.1)
    assert not waiting.done()
    first.settle(held, Charge(usd=0.1))
    await budget.stop()
    budget.settle()
    async with asyncio.timeout(PATIENCE_S):
        await waiting
    with pytest.raises(BudgetExhaustedError, match="owner"):
        await reserved(second, (other,), Charge(usd=0.95))
    await other.stop()
    other.settle()


async def test_many_calls_ask_for_money_a_few_times(store: Store, tmp_path: Path) -> None:
    """Parts double: no commit for every call. They are small when little is left, for the others."""
    await limits_of(store).set_account("alice", 100.0)
    purse, ledger, _ = await purse_of(store, tmp_path)
    limits: set[int] = set()
    for _ in range(500):
        ledger.settle(await reserved(ledger, (purse,), CENT), CENT)
        limits.add(purse.limit[0] or 0)
    assert len(limits) <= 10
    assert max(limits) <= 100 * NANO / 4
    await purse.stop()
    purse.settle()


async def test_whoever_was_taken_over_draws_nothing_any_more(store: Store, tmp_path: Path) -> None:
    await limits_of(store).set_account("alice", 1.0)
    lease = await store.acquire(await accepted(store, spending(2, tmp_path / "calls")))
    await store.acquire(lease.run_id, take_over=True)
    with pytest.raises(FencedError):
        await limits_of(store).draw(lease, 0, 0, 1, 1)


async def test_whoever_was_taken_over_settles_nothing(store: Store, tmp_path: Path) -> None:
    """What it was lent stays taken until the one that has the run now says what its log tells."""
    limits = limits_of(store)
    await limits.set_account("alice", 1.0)
    lease = await store.acquire(await accepted(store, spending(2, tmp_path / "calls")))
    await limits.draw(lease, 0, 0, NANO // 2, NANO // 2)
    now = await store.acquire(lease.run_id, take_over=True)
    limits.settle(lease, 0)
    assert (await after_writes(store, limits)) == pytest.approx(0.5)
    limits.settle(now, NANO // 4)
    assert (await after_writes(store, limits)) == pytest.approx(0.25)


async def test_a_run_that_goes_on_is_not_added_up_with_those_that_are_left(
    store: Store, tmp_path: Path
) -> None:
    """Otherwise the next one who draws would count what it is lent as spent, and then once more."""
    limits = limits_of(store)
    await limits.set_account("alice", 1.0)
    workflow = spending(2, tmp_path / "calls")
    lease, other = [await store.acquire(await accepted(store, workflow)) for _ in range(2)]
    await limits.draw(lease, 0, 0, NANO // 10, NANO // 10)
    limits.settle(lease, NANO // 10)
    await after_writes(store, limits)
    await limits.draw(lease, NANO // 10, 0, NANO // 5, NANO // 5)  # it goes on, and is lent more
    await limits.draw(other, 0, 0, NANO // 100, NANO // 100)
    limits.settle(lease, NANO // 10)
    limits.settle(other, 0)
    assert (await after_writes(store, limits)) == pytest.approx(0.1)


async def test_little_money_is_lent_in_small_parts(store: Store, tmp_path: Path) -> None:
    """So that one run that wants everything leaves the others something to go on with."""
    limits = limits_of(store)
    await limits.set_account("alice", 0.8)
    lease = await store.acquire(await accepted(store, spending(2, tmp_path / "calls")))
    drawn = await limits.draw(lease, 0, 0, 1, NANO)
    assert (drawn.granted, drawn.most, drawn.limit) == (NANO // 10, NANO * 8 // 10, NANO * 8 // 10)


async def after_writes(store: Store, limits: SharedLimits) -> float:
    """What is taken of an account when all that was queued is written."""
    await store.post(await accepted(store, spending(1, Path("unused"))), "note")
    return (await limits.set_account("alice", 1.0)).taken_usd
