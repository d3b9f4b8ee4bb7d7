"""SQLite's own: a disk with no room left."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from podium.engine.log import Lease, RunUpdate, Store
from podium.errors import RunLockedError, StoreFullError
from podium.stores import open_store
from podium.stores.sqlite.connection import connect
from tests.stores.samples import PATIENCE_S, a_row, a_run, append, commit, driven, run_id, seqs_of

LARGE = bytes(range(256)) * 128


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """A file system of 4 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a small file system cannot be mounted here: {error}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Leave no room at all."""
    ballast = folder / "ballast"
    with ballast.open("ab", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    return ballast


def assert_whole(path: Path) -> None:
    with closing(connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def write_until_full(store: Store, lease: Lease, live: int) -> int:
    """Returns the last sequence number that was acknowledged."""
    store.live = live
    seq = lease.last_seq
    while True:
        store.append(lease, a_row(seq + 1, data=LARGE))
        try:
            await commit(store, lease)
        except StoreFullError:
            return seq
        seq += 1


@pytest.mark.parametrize("live", [1, 5])
async def test_a_full_disk_stops_a_run_and_nothing_is_lost(small_disk: Path, live: int) -> None:
    path = small_disk / "podium.sqlite"
    async with open_store(str(path)) as store:
        lease = await driven(store)
        ballast = small_disk / "ballast"
        ballast.write_bytes(b"x" * 2_000_000)
        last = await write_until_full(store, lease, live)
        assert last > 1
        assert await seqs_of(store) == list(range(1, last + 1))
        append(store, lease, last + 2)
        with pytest.raises(StoreFullError, match="no space left") as caught:
            await commit(store, lease)
        assert "Make room" in caught.value.hint
        assert_whole(path)

        ballast.unlink()
        with pytest.raises(StoreFullError):
            await commit(store, lease)  # it lost a row: to go on, the run is taken up again
        await store.release(lease)
        lease = await store.acquire(run_id(1))
        assert lease.last_seq == last
        append(store, lease, last + 1)
        await commit(store, lease)
        assert await seqs_of(store) == list(range(1, last + 2))
    assert_whole(path)


async def test_everything_says_that_the_disk_is_full_and_works_when_there_is_room(small_disk: Path) -> None:
    path = small_disk / "podium.sqlite"
    async with open_store(str(path)) as store, open_store(str(path)) as other:
        leases = [await driven(store, number, status="running") for number in range(1, 6)]
        fill(small_disk)
        for lease in leases:
            store.append(lease, a_row(2, data=LARGE * 20))
            store.update(lease, RunUpdate(updated_us=5, status="completed"))
        attempts = [
            *(commit(store, lease) for lease in leases),
            store.create(a_run(9), [a_row(1, data=LARGE * 20)]),
            store.post(run_id(1), "answer", LARGE.hex() * 20),
        ]
        for result in await asyncio.gather(*attempts, return_exceptions=True):
            assert isinstance(result, StoreFullError)
        await asyncio.gather(*(store.release(lease) for lease in leases))
        assert [run.run_id for run in await other.list_runs(limit=9)] == [run_id(n) for n in (5, 4, 3, 2, 1)]

        (small_disk / "ballast").unlink()
        assert (await store.acquire(run_id(1))).last_seq == 1
        await store.create(a_run(9), [a_row(1)])
        async with asyncio.timeout(PATIENCE_S):
            await free_for(other, run_id(2))
    assert_whole(path)


async def free_for(store: Store, name: str) -> None:
    """Somebody else gets the run, although its release could not be written at first."""
    while True:
        try:
            await store.acquire(name)
        except RunLockedError:
            await asyncio.sleep(0.02)
        else:
            return


async def test_a_run_too_large_for_the_disk_does_not_stop_a_small_one(small_disk: Path) -> None:
    async with open_store(str(small_disk / "podium.sqlite")) as store:
        large, small = await driven(store, 1), await driven(store, 2)
        store.live = 2
        digest = store.put_blob(LARGE * 200)
        append(store, large, 2)
        small_digest = store.put_blob(LARGE)
        append(store, small, 2)
        first, second = store.commit(large), store.commit(small)
        assert first is not None
        assert second is not None
        with pytest.raises(StoreFullError):
            await first
        await second
        assert await seqs_of(store, 1) == [1]
        assert await seqs_of(store, 2) == [1, 2]
        assert await store.get_blob(small_digest) == LARGE
        assert digest != small_digest
