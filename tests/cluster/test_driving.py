"""What a worker does with a run that an engine gives it, without an engine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

import podium
from podium.api import enqueue
from podium.api.control import MARKS, requeue
from podium.cluster.port import LOST, shared
from podium.cluster.worker import STOPPED, RunSession
from podium.engine.codec import decode
from podium.engine.log import RunRow, Store
from podium.settings import Settings
from podium.stores import open_store
from tests.stores.postgres import Server

PATIENCE_S = 60.0
MINE = "import podium\n\n@podium.workflow\nasync def mine(run, request):\n    return request\n"


@podium.workflow
async def fails(run: podium.Run, request: str) -> str:
    async def pay() -> str:
        raise ValueError("no")

    return await run.step("pay", pay)


@podium.workflow
async def lasts(run: podium.Run, request: str) -> str:
    async def wait() -> str:
        await asyncio.Event().wait()
        return "never"

    return await run.step("wait", wait)


@pytest.fixture
async def store(pg_server: Server) -> AsyncGenerator[Store]:
    async with open_store(pg_server.new_place()) as opened:
        yield opened


@pytest.fixture
def driving(store: Store) -> RunSession:
    return RunSession(shared(store), Settings.load(store=store.url), 1.0, nobody)


async def nobody(owner: str) -> None:
    """Has room for another run."""


async def accepted(
    store: Store, workflow: str = "fails", file: Path = Path(__file__), **marks: str
) -> RunRow:
    return await enqueue(
        f"{file}:{workflow}",
        "go",
        store=store,
        settings=Settings.load(store=store.url),
        model="rehearsal",
        marks={**MARKS, **marks},
    )


async def test_a_run_that_has_failed_goes_on_only_when_somebody_asks_for_it(
    store: Store, driving: RunSession
) -> None:
    """An engine whose worker died right after the run gives it to the next: that is nobody's wish."""
    row = await accepted(store)
    assert await driving.drive(row.run_id) is None
    assert (await store.get(row.run_id)).status == "failed"
    log = await store.read(row.run_id)
    assert await driving.drive(row.run_id) is None
    assert await store.read(row.run_id) == log
    await requeue(store, Settings.load(store=store.url), row.run_id)
    assert await driving.drive(row.run_id) is None
    assert len(await store.read(row.run_id)) > len(log)


@pytest.mark.parametrize(("message", "reason"), [(None, "paused"), (LOST, STOPPED)])
async def test_an_engine_that_wants_a_run_back_gets_it_at_once_and_its_call_has_stopped(
    store: Store, message: str | None, reason: str
) -> None:
    """One that somebody stopped there stays so; one that was only lost is found by others."""
    driving = RunSession(shared(store), Settings.load(store=store.url), 1.0, nobody)
    row = await accepted(store, "lasts")
    stretch = asyncio.create_task(driving.drive(row.run_id))
    async with asyncio.timeout(PATIENCE_S):
        while driving.running == 0:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.01)
        await anext(event async for event in store.tail(row.run_id) if event.type == "step.started")
    stretch.cancel(message)
    await asyncio.wait([stretch])
    assert stretch.cancelled()
    assert driving.running == 0
    run = await store.get(row.run_id)
    assert (run.status, run.stop_reason) == ("paused", reason)
    unattended = await shared(store).list_unattended(STOPPED, limit=5)
    assert [event.run_id for event in unattended] == ([row.run_id] if message else [])
    async with open_store(store.url) as other:
        await other.release(await other.acquire(row.run_id))


async def test_a_run_whose_store_does_not_answer_is_tried_again_later(pg_server: Server) -> None:
    store = await open_store(pg_server.new_place())
    driving = RunSession(shared(store), Settings.load(store=store.url), 1.0, nobody)
    row = await accepted(store)
    await store.close()
    again = await driving.drive(row.run_id)
    assert again is not None
    assert again > time.time()


async def test_a_worker_that_stops_gives_back_what_it_is_given_then(
    store: Store, driving: RunSession
) -> None:
    row = await accepted(store)
    driving.stop(1.0)
    again = await driving.drive(row.run_id)
    assert again is not None
    assert again <= time.time()
    assert (await store.get(row.run_id)).status == "queued"


async def test_a_worker_that_lacks_the_file_of_a_workflow_lets_the_run_fail_and_says_why(
    store: Store, driving: RunSession, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE, encoding="utf-8")
    row = await accepted(store, "mine", file)
    file.unlink()
    assert await driving.drive(row.run_id) is None
    assert (await store.get(row.run_id)).status == "failed"
    last = (await store.read(row.run_id))[-1]
    assert last.type == "run.failed"
    assert "mine.py" in str(decode(last.data)["error"])


async def test_whoever_ends_a_run_gives_its_place_to_the_next_of_its_owner(store: Store) -> None:
    owners: list[str] = []

    async def note(owner: str) -> None:
        assert await shared(store).take_place("another", owner), "the place is free by now"
        owners.append(owner)

    driving = RunSession(shared(store), Settings.load(store=store.url), 1.0, note)
    await shared(store).set_limit("alice", 1)
    row = await accepted(store, owner="alice")
    await driving.drive(row.run_id)
    assert owners == ["alice"]
