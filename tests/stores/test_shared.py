"""Runs that name their store by an address share one open store for each event loop."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import podium
from podium.api.doctor import check_all
from podium.engine.log import Store
from podium.errors import FencedError, PodiumError, RunLockedError, StoreError, UsageError
from podium.stores import OPENERS, open_store
from podium.stores.maintenance import migrate_store
from podium.stores.shared import borrow
from tests.stores.children import ROOT
from tests.stores.postgres import Server
from tests.stores.samples import PATIENCE_S


@podium.workflow
async def three(run: podium.Run, request: str) -> int:
    return sum([await run.step("count", count, number) for number in (1, 2, 3)])


async def count(number: int) -> int:
    return number


async def one_run(store: str | Path | Store) -> str:
    result = await podium.run(three, "count", store=store, model="rehearsal")
    assert (result.status, result.output) == ("completed", 6)
    return result.run_id


async def runs_in(url: str | Path) -> list[str]:
    async with open_store(url) as store:
        return [row.run_id for row in await store.list_runs()]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


def writers() -> int:
    """How many SQLite stores are open in this process."""
    return sum(thread.name == "podium-writer" for thread in threading.enumerate())


# ── sharing ──────────────────────────────────────────────────────────────────────────────────────


async def test_users_of_one_address_get_the_same_store(url: str) -> None:
    async with borrow(url) as first, borrow(url) as second:
        assert first is second
    async with borrow(url) as third:
        assert await third.list_runs() == []


async def test_runs_at_once_open_their_store_once(tmp_path: Path) -> None:
    seen: list[int] = []

    @podium.workflow
    async def looking(run: podium.Run, request: str) -> None:
        await run.step("look", look)

    async def look() -> None:
        seen.append(writers())

    path = tmp_path / "podium.sqlite"
    before = writers()
    runs = (podium.run(looking, "go", store=path, model="rehearsal") for _ in range(30))
    assert {result.status for result in await asyncio.gather(*runs)} == {"completed"}
    assert {number - before for number in seen} == {1}
    assert len(await runs_in(path)) == 30


async def test_a_store_has_one_address_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "podium.sqlite"
    async with borrow(path) as store:
        (tmp_path / "link.sqlite").symlink_to(path)
        for name in ("podium.sqlite", f"sqlite:///{path}", "./link.sqlite"):
            async with borrow(name) as same:
                assert same is store
        async with borrow(tmp_path / "other.sqlite") as other:
            assert other is not store


async def test_a_store_that_was_handed_in_stays_open(url: str) -> None:
    async with open_store(url) as store:
        first = await one_run(store)
        second = await one_run(store)
        assert {row.run_id for row in await store.list_runs()} == {first, second}


async def test_events_of_a_run_that_is_over_are_read_through_the_shared_store(url: str) -> None:
    handle = await podium.start(three, "count", store=url, model="rehearsal")
    await handle.result()
    events = [event.type async for event in handle.events()]
    assert (events[0], events[-1]) == ("run.created", "run.completed")


# ── closing ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_store_without_users_is_soon_closed(tmp_path: Path) -> None:
    before = writers()
    path = tmp_path / "podium.sqlite"
    async with borrow(path) as store:
        assert writers() == before + 1
    await until(lambda: writers() == before)
    with pytest.raises(StoreError, match="closed"):
        await store.acquire("run-000001")
    assert sorted(os.listdir(tmp_path)) == ["podium.sqlite"]
    assert await one_run(path) in await runs_in(path)


async def test_a_store_on_postgres_is_closed_with_its_last_user(pg_server: Server) -> None:
    url = pg_server.new_database()
    async with borrow(url) as store:
        async with borrow(url):
            pass
        assert await store.list_runs() == []
    with pytest.raises(StoreError, match="closed"):
        await store.list_runs()


async def test_one_whose_users_were_cancelled_while_it_was_opened_is_closed_too(tmp_path: Path) -> None:
    async def use() -> None:
        async with borrow(tmp_path / "podium.sqlite"):
            await asyncio.Event().wait()

    before = writers()
    users = [asyncio.create_task(use()) for _ in range(3)]
    await until(lambda: writers() > before)
    for user in users:
        user.cancel()
    assert {type(outcome) for outcome in await asyncio.gather(*users, return_exceptions=True)} == {
        asyncio.CancelledError
    }
    await until(lambda: writers() == before)


async def test_who_cannot_open_a_store_is_reported_why_and_the_next_one_tries_again(tmp_path: Path) -> None:
    path = tmp_path / "podium.sqlite"
    path.write_text("this is no database, and longer than the header of one is " * 4)
    outcomes = await asyncio.gather(*(one_run(path) for _ in range(5)), return_exceptions=True)
    assert {type(error) for error in outcomes} == {StoreError}
    path.unlink()
    assert await one_run(path) in await runs_in(path)
    for wrong in ("mysql://x/y", "sqlite:///", tmp_path):
        with pytest.raises(UsageError):
            await one_run(wrong)


@pytest.mark.parametrize(
    "way",
    ["asyncio_run", "a_loop_that_is_only_closed", "a_loop_that_is_left_open", "threads", "fork"],
)
def test_event_loops_may_end_in_any_way(tmp_path: Path, way: str) -> None:
    """Nothing stays open, nothing is warned of, every run is in the log."""
    path = tmp_path / "podium.sqlite"
    program = [sys.executable, "-W", "error", "-m", "tests.stores.programs.share_stores"]
    completed = subprocess.run(
        [*program, way, path], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S * 4, check=False
    )
    assert (completed.stderr, completed.returncode) == ("", 0)
    assert completed.stdout.split() == []
    assert sorted(os.listdir(tmp_path)) == ["podium.sqlite", "podium.sqlite.locks"]
    assert os.listdir(tmp_path / "podium.sqlite.locks") == []
    expected = {"asyncio_run": 3, "a_loop_that_is_only_closed": 3, "threads": 20, "fork": 3}.get(way, 1)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*), min(status) FROM run").fetchone() == (expected, "completed")


# ── files that come and go ───────────────────────────────────────────────────────────────────────


async def test_a_file_that_was_removed_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "stores" / "podium.sqlite"
    path.parent.mkdir()
    await one_run(path)
    path.unlink()
    second = await one_run(path)
    assert await runs_in(path) == [second]
    shutil.rmtree(path.parent)
    with pytest.raises(UsageError, match="no folder"):
        await one_run(path)
    path.parent.mkdir()
    third = await one_run(path)
    assert await runs_in(path) == [third]


async def test_a_copy_of_the_file_is_complete_when_its_runs_are_over(tmp_path: Path) -> None:
    path, copy = tmp_path / "podium.sqlite", tmp_path / "copy.sqlite"
    runs = await asyncio.gather(*(one_run(path) for _ in range(3)))
    shutil.copy(path, copy)
    assert sorted(await runs_in(copy)) == sorted(runs)


async def test_a_file_may_be_put_back_between_runs(tmp_path: Path) -> None:
    path, backup = tmp_path / "podium.sqlite", tmp_path / "backup.sqlite"
    first = await one_run(path)
    shutil.copy(path, backup)
    await one_run(path)
    backup.replace(path)
    third = await one_run(path)
    assert sorted(await runs_in(path)) == sorted([first, third])
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_the_last_user_of_a_file_that_was_removed_closes_it(tmp_path: Path) -> None:
    path, before = tmp_path / "podium.sqlite", writers()
    async with borrow(path) as old:
        path.rename(tmp_path / "moved.sqlite")
        async with borrow(path) as new:
            assert new is not old
    with pytest.raises(PodiumError, match="closed"):
        await old.acquire("run-000001")
    await until(lambda: writers() == before)


# ── runs of one process that meet in one store ───────────────────────────────────────────────────


async def test_a_run_can_be_taken_over_from_a_driver_that_shares_the_store(url: str) -> None:
    hang, hung = [True], asyncio.Event()

    async def work() -> str:
        if hang.pop():
            hung.set()
            await asyncio.Event().wait()
        return "done"

    @podium.workflow
    async def hanging(run: podium.Run, request: str) -> str:
        return await run.step("work", work)

    first = await podium.start(hanging, "go", store=url, model="rehearsal")
    await hung.wait()
    with pytest.raises(RunLockedError):
        await podium.resume(first.run_id, workflow=hanging, store=url)
    hang.append(False)
    second = await podium.resume(first.run_id, workflow=hanging, store=url, take_over=True)
    assert (await second.result()).output == "done"
    with pytest.raises(FencedError):
        await first.pause(at_once=True)


async def test_a_run_is_cancelled_through_the_store_that_its_driver_shares(url: str) -> None:
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        await asyncio.Event().wait()

    @podium.workflow
    async def endless(run: podium.Run, request: str) -> None:
        await run.step("work", work)

    handle = await podium.start(endless, "go", store=url, model="rehearsal")
    await started.wait()
    assert (await podium.cancel(handle.run_id, store=url)).status == "cancelled"
    assert (await handle.result()).status == "cancelled"


async def test_a_store_of_another_kind_needs_only_its_opener(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def open_other(url: str) -> Store:
        return await open_store(tmp_path / "other.sqlite")

    monkeypatch.setitem(OPENERS, "other", open_other)
    async with borrow("other://place") as store:
        assert await store.list_runs() == []
    checks = {check.name: check for check in await check_all("other://place")}
    assert checks["store"].state == "ok"
    assert checks.keys().isdisjoint({"privacy", "disk", "lock"})
    assert await migrate_store("other://place") == (0, 0)
