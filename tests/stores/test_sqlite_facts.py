"""SQLite's own: a store from before there were facts, and one without full-text search."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from podium.errors import StoreError
from podium.stores import open_store
from podium.stores.sql import run_now
from podium.stores.sqlite import database
from podium.stores.sqlite.connection import SCHEMA, connect, open_database
from podium.stores.sqlite.database import SqliteQueries
from tests.stores.samples import a_row, a_run, run_id
from tests.stores.test_facts import TOLD, a_fact


async def test_a_store_from_before_learns_facts_and_keeps_its_runs(tmp_path: Path) -> None:
    older = tmp_path / "schema"
    older.mkdir()
    for name in ("sqlite_0001_log.sql", "sqlite_0002_cache.sql"):
        shutil.copy(SCHEMA / name, older / name)
    path = tmp_path / "x.sqlite"
    open_database(path, older).close()
    async with open_store(str(path)) as store:
        await store.create(a_run(), [a_row(1)])
        await store.add_facts([a_fact()], TOLD)
        assert (await store.get(run_id(1))).run_id == run_id(1)
        assert len(await store.match_facts("p", ["green"])) == 1


def test_a_missing_full_text_search_is_reported_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with closing(connect(path)) as db:
        queries = SqliteQueries(db, path)
        run_now(database.check_full_text(queries))
        with pytest.raises(
            StoreError, match=rf"full-text search \(FTS9\), and the SQLite {sqlite3.sqlite_version}"
        ):
            run_now(database.check_full_text(queries, "fts9"))


async def test_reading_works_before_any_fact_was_reported(tmp_path: Path) -> None:
    async with open_store(str(tmp_path / "x.sqlite")) as store:
        assert await store.match_facts("p", ["green"]) == []
        assert await store.list_projects() == []
        assert await store.forget_facts("p") == 0
