"""SQLite's own: opening files, good and bad, old and new, alone and together."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import threading
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

from podium.engine.budget import Budget
from podium.engine.log import Row, RunUpdate
from podium.engine.store_parts import Sample
from podium.errors import PodiumError, StoreError, UsageError
from podium.stores import open_store
from podium.stores.sqlite.connection import SCHEMA, connect, migrate, open_database
from tests.stores.children import child
from tests.stores.samples import (
    CEILINGS,
    KNOWN,
    OLD_RUN,
    PATIENCE_S,
    a_row,
    a_run,
    append,
    commit,
    driven,
    run_id,
    seqs_of,
)


async def refusal(url: str | Path) -> PodiumError:
    with pytest.raises(PodiumError) as caught:
        await open_store(str(url))
    assert caught.value.hint
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
    return caught.value


async def test_a_store_is_named_by_url_or_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "a folder" / "deeper" / "x.sqlite"
    path.parent.mkdir(parents=True)
    async with open_store(f"sqlite:///{path}") as store:
        assert store.url == f"sqlite:///{path}"
        await store.create(a_run(), [a_row(1)])
    names = (
        path,
        "a folder/deeper/x.sqlite",
        "sqlite:///a folder/deeper/x.sqlite",
        "~/a folder/deeper/x.sqlite",
    )
    for name in names:
        store = await open_store(str(name))
        assert await seqs_of(store) == [1]
        await store.close()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://localhost/podium", "unknown scheme"),
        ("sqlite://podium.db", "unknown scheme"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("", "names no file"),
    ],
)
async def test_other_names_are_refused(url: str, says: str) -> None:
    error = await refusal(url)
    assert isinstance(error, UsageError)
    assert says in str(error)


async def test_what_cannot_be_a_store_is_refused(tmp_path: Path) -> None:
    assert "is a folder" in str(await refusal(tmp_path))
    text = tmp_path / "notes.txt"
    text.write_text("Not a database, and longer than the header of one. " * 40)
    assert "not a Podium store" in str(await refusal(text))
    assert text.read_text().startswith("Not a database")
    assert "There is no folder" in str(await refusal(text / "below" / "x.sqlite"))


async def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE run (name TEXT)")
        db.commit()
    before = path.read_bytes()
    assert "not a Podium store" in str(await refusal(path))
    assert path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
async def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert isinstance(await refusal(folder / "x.sqlite"), StoreError)
    assert isinstance(await refusal(folder / "deeper" / "x.sqlite"), UsageError)


async def test_every_commit_reaches_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    async with open_store(str(path)):
        with closing(connect(path)) as db:
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert db.execute("PRAGMA synchronous").fetchone() == (2,)


# ── versions ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    async with open_store(str(path)) as store:
        await store.create(a_run(), [])
    with closing(connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    error = await refusal(path)
    assert "newer Podium (schema 99" in str(error)
    assert "Upgrade" in error.hint


def next_version(folder: Path, script: str) -> Path:
    """The schema of a Podium to come: today's and one more script."""
    folder.mkdir()
    scripts = sorted(SCHEMA.glob("sqlite_*.sql"))
    for old in scripts:
        (folder / old.name).write_text(old.read_text())
    (folder / f"sqlite_{len(scripts) + 1:04d}_more.sql").write_text(script)
    return folder


async def test_runs_of_an_older_store_get_the_ceilings_that_their_logs_show(tmp_path: Path) -> None:
    path, schema = tmp_path / "x.sqlite", tmp_path / "schema"
    schema.mkdir()
    for old in sorted(SCHEMA.glob("sqlite_*.sql"))[:4]:
        shutil.copy(old, schema)
    with closing(open_database(path, schema)) as db:
        for number in (1, 2, 3):
            db.execute(OLD_RUN.format(run_id(number)))
        for number, seq, kind, data in [*CEILINGS, (3, 1, "run.created", b"torn")]:
            db.execute("INSERT INTO event VALUES (?, 0, '', ?, ?)", (number << 32 | seq, kind, data))
        db.commit()
    async with open_store(str(path)) as store:
        budgets = {run.run_id: run.budget for run in await store.list_runs()}
    assert budgets == {**KNOWN, run_id(3): Budget()}


async def test_an_older_store_is_migrated_and_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    async with open_store(str(path)) as store:
        await driven(store)
    script = "-- Two.\nALTER TABLE run ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';\nCREATE TABLE t (a);"
    schema = next_version(tmp_path / "schema", script)
    known = len(list(schema.iterdir()))
    with closing(open_database(path, schema)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (known,)
        assert db.execute("SELECT run_id, mood FROM run").fetchall() == [(run_id(1), "calm")]
        assert db.execute("SELECT count(*) FROM event").fetchone() == (1,)
        migrate(db, path, schema)  # nothing is left to do
    with closing(open_database(tmp_path / "fresh.sqlite", schema)) as db:
        assert db.execute("SELECT mood FROM run").fetchall() == []


async def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    async with open_store(str(path)) as store:
        await driven(store)
    schema = next_version(tmp_path / "schema", "CREATE TABLE more (a);\nCREATE TABLE run (twice);")
    with pytest.raises(StoreError):
        open_database(path, schema)
    with closing(connect(path)) as db:
        assert db.execute("SELECT name FROM sqlite_master WHERE name = 'more'").fetchall() == []
    async with open_store(str(path)) as store:
        assert await seqs_of(store) == [1]


# ── together ─────────────────────────────────────────────────────────────────────────────────────


async def test_processes_that_open_a_fresh_store_at_once_all_succeed(tmp_path: Path) -> None:
    for attempt in range(3):
        url = f"sqlite:///{tmp_path}/fresh-{attempt}.sqlite"
        async with AsyncExitStack() as stack:
            crowd = [await stack.enter_async_context(child("open_at_once", url)) for _ in range(4)]
            for process in crowd:
                assert await process.line() == "ready"
            for process in crowd:
                await process.say("go")
            made = [await process.line() for process in crowd]
            assert [await process.end() for process in crowd] == [0] * 4
        async with open_store(url) as store:
            assert {run.run_id for run in await store.list_runs()} == set(made)


async def test_while_another_process_writes_nothing_fails(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    async with open_store(str(path)) as store:
        alone, first, second = [await driven(store, number) for number in (1, 2, 3)]
        async with child("hold_write_lock", path, 3) as holder:
            assert await holder.line() == "locked"
            append(store, alone, 2)
            pending = [commit(store, alone)]  # tried on the spot, then left to the writer
            store.live = 2
            for lease in (first, second):
                append(store, lease, 2)
                pending.append(commit(store, lease))
            pending += [store.create(a_run(4), [a_row(1)]), store.release(first)]
            posting = store.post(run_id(1), "answer")
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(posting, *pending)
            assert await holder.line() == "free"
        assert [await seqs_of(store, number) for number in (1, 2, 3, 4)] == [[1, 2], [1, 2], [1, 2], [1]]


async def test_no_row_is_written_behind_one_that_was_lost_on_the_way(tmp_path: Path) -> None:
    """The second commit is on its way to the writer before anybody knows that the first one fails."""
    path = tmp_path / "x.sqlite"
    async with open_store(str(path)) as store:
        lease = await driven(store)
        store.live = 2
        with closing(connect(path)) as blocker:
            blocker.execute("BEGIN IMMEDIATE")
            store.append(lease, Row(2, 5, "not \ud800 text", "t", b"{}"))
            store.update(lease, RunUpdate(updated_us=1))
            first = store.commit(lease)
            await asyncio.sleep(0.05)
            append(store, lease, 3)
            second = store.commit(lease)
            await asyncio.sleep(0.05)
            blocker.execute("ROLLBACK")
        for pending in (first, second):
            assert pending is not None
            with pytest.raises(StoreError):
                await pending
        assert await seqs_of(store) == [1]


async def test_one_store_under_two_names_has_one_set_of_locks(tmp_path: Path) -> None:
    path, link = tmp_path / "real" / "x.sqlite", tmp_path / "link.sqlite"
    path.parent.mkdir()
    async with open_store(str(path)) as store:
        await driven(store)
        link.symlink_to(path)
        async with open_store(str(link)) as same:
            assert (await same.get(run_id(1))).holder
            assert same.url == store.url


# ── closing ──────────────────────────────────────────────────────────────────────────────────────


def open_files() -> set[str]:
    files: set[str] = set()
    for fd in os.listdir("/proc/self/fd"):
        try:
            files.add(f"{fd} {os.readlink(f'/proc/self/fd/{fd}')}")
        except FileNotFoundError:
            continue  # the listing's own
    return files


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files can be counted only on Linux")
async def test_closing_leaves_nothing_behind(tmp_path: Path) -> None:
    files, threads = open_files(), threading.enumerate()
    for _ in range(3):
        async with open_store(str(tmp_path / "podium.sqlite")) as store:
            for run in await store.list_runs():
                await store.acquire(run.run_id)
            number = len(await store.list_runs()) + 1
            lease = await driven(store, number)
            store.subscribe(run_id(number), print)
            append(store, lease, 2)
            await commit(store, lease)
            assert open_files() > files
    for bad in (tmp_path, "mysql://x/y", tmp_path / "podium.sqlite" / "below"):
        with pytest.raises(PodiumError):
            await open_store(str(bad))
    assert open_files() == files
    assert threading.enumerate() == threads
    assert sorted(os.listdir(tmp_path)) == ["podium.sqlite", "podium.sqlite.locks"]
    assert os.listdir(tmp_path / "podium.sqlite.locks") == []


async def test_a_program_that_forgets_to_close_ends_all_the_same(tmp_path: Path) -> None:
    url = str(tmp_path / "x.sqlite")
    async with open_store(url) as store:
        await store.create(a_run(), [a_row(1)])
        async with child("forget_to_close", url, run_id(1)) as process:
            assert await process.end() == 0
        assert await seqs_of(store) == [1, 2]
        assert (await store.acquire(run_id(1))).epoch == 2


async def test_a_store_from_before_the_cache_keeps_its_runs_and_gets_one(tmp_path: Path) -> None:
    path, old = tmp_path / "podium.sqlite", tmp_path / "schema"
    old.mkdir()
    shutil.copy(SCHEMA / "sqlite_0001_log.sql", old)
    open_database(path, old).close()
    with closing(sqlite3.connect(path)) as db:
        values = "'run-000001', 'completed', '', 1, 0, 0, 0, 0, 0, 0, '', 0, 1, '', 'demo', 'old'"
        db.execute(
            "INSERT INTO run (run_id, status, stop_reason, updated_us, driven_s, usd, input_tokens, "
            "output_tokens, calls, unpriced_calls, model, rehearsal, created_us, parent, workflow, request) "
            f"VALUES ({values})"
        )
        db.commit()
    async with open_store(str(path)) as store:
        assert (await store.get("run-000001")).request == "old"
        assert (await store.get("run-000001")).owner == ""
        assert await store.cache_shares() == []
        store.keep_sample(Sample(id="a", key="k", number=1, model="m", data=b"x"), 1000)
    async with open_store(str(path)) as store:
        assert (await store.find_sample("k")) is not None
