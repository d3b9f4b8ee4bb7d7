"""SQLite's own: processes that die, stop and come back."""

from __future__ import annotations

import os
import random
import signal
from contextlib import closing
from pathlib import Path

import pytest

from podium.errors import RunLockedError
from podium.stores import open_store
from podium.stores.sqlite.connection import connect
from tests.stores.children import child
from tests.stores.samples import a_row, a_run, append, commit, driven, run_id, seqs_of


def assert_whole(path: Path) -> None:
    with closing(connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.slow
@pytest.mark.parametrize("group", [1, 30])
async def test_no_row_that_was_acknowledged_is_lost_to_a_kill(tmp_path: Path, group: int) -> None:
    path = tmp_path / "x.sqlite"
    chance = random.Random(group)
    async with open_store(str(path)) as store:
        await store.create(a_run(), [a_row(1)])
    for _ in range(5):
        async with child("write_rows", path, run_id(1), 1_000_000, group) as writer:
            seen = [int(await writer.line()) for _ in range(chance.randint(1, 200))]
            writer.process.kill()
            seen += [int(line) for line in await writer.lines() if line]
            await writer.end()
        async with open_store(str(path)) as store:
            seqs = await seqs_of(store)
            assert seqs == list(range(1, len(seqs) + 1)), "no gaps"
            assert seqs[-1] >= seen[-1]
            assert (await store.get(run_id(1))).holder == ""
    assert_whole(path)


async def test_no_run_that_was_created_is_lost_to_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    chance = random.Random(7)
    created: list[str] = []
    for attempt in range(5):
        async with child("create_runs", path, attempt * 10_000) as process:
            created += [await process.line() for _ in range(chance.randint(1, 100))]
            process.process.kill()
            created += [line for line in await process.lines() if line.startswith("run-")]
            await process.end()
    async with open_store(str(path)) as store:
        for name in created:
            assert (await store.get(name)).run_id == name
            assert [row.seq for row in await store.read(name)] == [1]
            assert await store.get_blob(store.put_blob(b"blob of %d" % int(name[4:])))
    assert_whole(path)


async def test_a_run_is_its_drivers_until_the_driver_dies(tmp_path: Path) -> None:
    url = str(tmp_path / "x.sqlite")
    async with open_store(url) as store:
        await store.create(a_run(status="running"), [a_row(1)])
        async with child("drive_run", url, run_id(1)) as driver:
            assert await driver.line() == "driving"
            with pytest.raises(RunLockedError, match=f"pid {driver.pid} on "):
                await store.acquire(run_id(1))
            running = await store.get(run_id(1))
            assert running.status == "running"
            assert running.holder.startswith(f"pid {driver.pid} on ")
            await driver.kill()
        assert (await store.get(run_id(1))).status == "paused"
    async with open_store(url) as store:
        assert (await store.acquire(run_id(1))).epoch == 2
        (lock,) = os.listdir(f"{url}.locks")  # the dead one's file is gone
        assert lock.startswith(f"{os.getpid()}-")


async def test_a_run_is_free_once_its_driver_lets_go(tmp_path: Path) -> None:
    url = str(tmp_path / "x.sqlite")
    async with open_store(url) as store:
        await store.create(a_run(status="running"), [a_row(1)])
        async with child("drive_run", url, run_id(1)) as driver:
            assert await driver.line() == "driving"
            await driver.say("write")
            assert await driver.line() == "written"
            await driver.say("release")
            assert await driver.line() == "released"
            assert (await store.acquire(run_id(1))).last_seq == 2


async def test_what_a_driver_started_does_not_keep_its_runs(tmp_path: Path) -> None:
    url = str(tmp_path / "x.sqlite")
    async with open_store(url) as store:
        await store.create(a_run(), [a_row(1)])
        async with child("drive_run", url, run_id(1)) as driver:
            assert await driver.line() == "driving"
            await driver.say("spawn")
            orphan = int(await driver.line())
            try:
                await driver.kill()
                assert (await store.acquire(run_id(1))).epoch == 2
                os.kill(orphan, 0)  # it is still alive
            finally:
                os.kill(orphan, signal.SIGKILL)


async def test_a_driver_that_was_stopped_and_taken_over_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    async with open_store(str(path)) as store:
        await store.create(a_run(status="running"), [a_row(1)])
        async with child("drive_run", path, run_id(1)) as driver:
            assert await driver.line() == "driving"
            await driver.say("write")
            assert await driver.line() == "written"
            driver.signal(signal.SIGSTOP)
            with pytest.raises(RunLockedError):
                await store.acquire(run_id(1))
            lease = await store.acquire(run_id(1), take_over=True)
            assert (lease.epoch, lease.last_seq) == (2, 2)
            await driver.say("write")  # it lies in the pipe until the driver goes on
            append(store, lease, 3)
            await commit(store, lease)
            driver.signal(signal.SIGCONT)
            assert await driver.line() == "FencedError"
            await driver.say("write")
            assert await driver.line() == "FencedError"
            await driver.say("release")
            assert await driver.line() == "released"
        append(store, lease, 4)
        await commit(store, lease)
        assert await seqs_of(store) == [1, 2, 3, 4]
        assert (await store.get(run_id(1))).status == "running", "the new driver's mark is untouched"
    assert_whole(path)


async def test_the_only_effect_commits_on_the_spot_and_many_do_not(tmp_path: Path) -> None:
    store = await open_store(str(tmp_path / "x.sqlite"))
    lease = await driven(store)
    store.live = 1
    append(store, lease, 2, 3)
    assert store.commit(lease) is None
    store.live = 2
    append(store, lease, 4)
    pending = store.commit(lease)
    assert pending is not None
    assert await seqs_of(store) == [1, 2, 3], "what is queued is not to be seen"
    await pending
    assert await seqs_of(store) == [1, 2, 3, 4]
    await store.close()
