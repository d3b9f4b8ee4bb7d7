"""A store whose file is removed or replaced in the middle of a run: the run pauses and says so."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import podium
from podium.engine.log import Lease, Store
from podium.errors import StoreGoneError
from podium.settings import Settings
from podium.stores import open_store
from tests.stores.samples import PATIENCE_S, append, commit, driven


def remove(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    os.replace(copy, path)


def remove_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


def remove_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


WAYS = [remove, replace, remove_log, remove_folder, move_folder]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder / "x.db"


def flow_that(harm: Callable[[Path], None], path: Path, steps: int) -> podium.Workflow:
    """A workflow in whose second step the store is harmed."""

    async def work(number: int) -> int:
        if number == 1:
            harm(path)
        return number

    async def flow(run: podium.Run, request: str) -> str:
        for number in range(steps):
            await run.step("work", work, number)
        return "done"

    return podium.Workflow(flow, "flow")


@pytest.mark.parametrize("steps", [2, 30], ids=["at the end", "in the middle"])
@pytest.mark.parametrize("harm", WAYS)
async def test_a_run_whose_store_is_gone_does_not_complete(
    harm: Callable[[Path], None], steps: int, place: Path
) -> None:
    result = await podium.run(flow_that(harm, place, steps), "go", settings=Settings(store=str(place)))
    assert (result.status, result.stop_reason, result.exit_code) == ("paused", "store error", 4)
    assert "while the store" in result.error
    assert result.hint


@pytest.mark.parametrize("harm", WAYS)
async def test_a_run_that_waits_for_a_long_call_is_stopped(harm: Callable[[Path], None], place: Path) -> None:
    """Nothing commits meanwhile, so only the store's own look can find out."""

    async def long(path: str) -> None:
        harm(Path(path))
        await asyncio.get_running_loop().create_future()

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        await run.step("long", long, request)
        return "done"

    async with asyncio.timeout(PATIENCE_S):
        result = await podium.run(flow, str(place), settings=Settings(store=str(place)))
    assert (result.status, result.exit_code) == ("paused", 4)


async def commit_on_and_on(store: Store, lease: Lease, first: int) -> None:
    """Commit row after row: quick commits look at the file only now and then."""
    async with asyncio.timeout(PATIENCE_S):
        for seq in itertools.count(first):
            append(store, lease, seq)
            await commit(store, lease)


async def test_a_commit_to_a_file_that_is_gone_fails(place: Path) -> None:
    async with open_store(str(place)) as store:
        lease = await driven(store)
        append(store, lease, 2)
        await commit(store, lease)
        remove(place)
        with pytest.raises(StoreGoneError, match="was removed"):
            await commit_on_and_on(store, lease, 3)
        with pytest.raises(StoreGoneError):
            await store.post("run-000001", "cancel")


async def test_checkpoints_and_other_processes_do_not_look_like_a_loss(place: Path) -> None:
    """The write-ahead log is emptied and written over, which keeps its name."""
    async with open_store(str(place)) as store:
        lease = await driven(store)
        for seq in range(2, 400):
            append(store, lease, seq)
            store.put_blob(os.urandom(3000))
            await commit(store, lease)
            if seq % 100 == 0:
                async with open_store(str(place)) as other:
                    assert await other.list_runs()
        await store.release(lease)
        assert len(await store.read("run-000001")) == 399
