"""A store is for its owner alone, and is not made in a folder that does not exist."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

import podium
from podium.api.doctor import Check, check_all
from podium.errors import UsageError
from podium.settings import Settings, default_store
from podium.stores import open_store
from podium.stores.maintenance import copy_run
from tests.stores.samples import commit, driven, run_id

OTHERS = 0o077


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Generator[int]:
    before = os.umask(request.param)
    try:
        yield request.param
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """The mode of everything below a folder, by name."""
    return {
        str(path.relative_to(folder)): oct(path.stat().st_mode & 0o777) for path in sorted(folder.rglob("*"))
    }


async def test_every_file_of_a_new_store_is_private(tmp_path: Path, umask: int) -> None:
    async with open_store(str(tmp_path / "x.db")) as store:
        lease = await driven(store)
        store.append(lease, (2, 1, "", "step.completed", b"{}"))
        await commit(store, lease)
        file_modes = modes(tmp_path)
        (lock,) = [name for name in file_modes if name.endswith(".lock")]
        assert file_modes == {
            "x.db": "0o600",
            "x.db-shm": "0o600",
            "x.db-wal": "0o600",
            "x.db.locks": "0o700",
            lock: "0o600",
        }
        await store.release(lease)
        async with open_store(str(tmp_path / "copy.db")) as target:
            await copy_run(run_id(1), store, target)
    assert oct((tmp_path / "copy.db").stat().st_mode & 0o777) == "0o600"


async def test_the_folder_of_the_default_store_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    async with open_store(default_store()):
        file_modes = modes(tmp_path)
    assert file_modes["data"] == file_modes["data/podium"] == "0o700"
    assert file_modes["data/podium/podium.sqlite"] == "0o600"


async def test_a_store_that_is_shared_stays_shared(tmp_path: Path) -> None:
    """Whoever has given others rights on a store keeps them, and its lock files follow."""
    path = tmp_path / "x.db"
    async with open_store(str(path)):
        pass
    path.chmod(0o660)
    async with open_store(str(path)) as store:
        await driven(store)
        file_modes = modes(tmp_path)
    assert file_modes.pop("x.db.locks") == "0o770"
    assert set(file_modes.values()) == {"0o660"}


async def privacy(path: Path) -> Check:
    (privacy_check,) = [check for check in await check_all(str(path)) if check.name == "privacy"]
    return privacy_check


async def test_doctor_shows_of_a_store_that_others_may_read(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o755)
    path = tmp_path / "x.db"
    assert (await privacy(path)).state == "ok"
    path.chmod(0o644)
    check = await privacy(path)
    assert (check.state, str(path) in check.told) == ("warn", True)
    assert f"chmod go= {path}" in check.fix
    assert path.stat().st_mode & OTHERS == 0o044, "doctor changes nothing"
    os.chmod(tmp_path, 0o700)
    assert (await privacy(path)).state == "ok", "nobody else gets into the folder"


async def test_a_store_in_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deeper" / "x.db"
    for named in (str(path), f"sqlite:///{path}"):
        with pytest.raises(UsageError, match="There is no folder") as refused:
            await open_store(named)
        assert "mkdir -p" in refused.value.hint
    with pytest.raises(UsageError, match="There is no folder"):
        await podium.run("council", "x", settings=Settings(store=str(path)))
    assert os.listdir(tmp_path) == []
