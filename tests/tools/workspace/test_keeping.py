"""The life of workspaces: folded up, opened again as they were, listed, and removed."""

from __future__ import annotations

import os
import time
from pathlib import Path

from podium.tools.workspace.lifecycle import (
    fold_up,
    kept_workspaces,
    remove_workspace,
    untouched_for,
    workspaces_of,
)
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.test_changes import create
from tests.tools.workspace.users import FILES, UserRepository

DAY = 86_400


def touch(home: Path, seconds_ago: float) -> None:
    then = time.time() - seconds_ago
    for place in (home, home / "workspace.json", home / "git/repo.git/refs/podium/state"):
        if place.exists():
            os.utime(place, (then, then))


async def test_a_workspace_that_was_folded_up_is_opened_as_it_was(
    opened: Opener, user: UserRepository
) -> None:
    first = await opened(user.folder)
    state = (await first.apply([create("new.py", "x = 1\n")])).snapshot
    fold_up(first.home)
    assert sorted(os.listdir(first.home)) == ["git", "workspace.json"]
    again = await opened(user.folder)
    assert (again.state, (again.folder / "new.py").read_text()) == (state, "x = 1\n")
    assert set(os.listdir(again.folder)) == {"new.py", *(name.split("/")[0] for name in FILES)}


async def test_workspaces_are_listed_with_their_size_and_their_project(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    assert kept_workspaces(tmp_path / "runs") == []
    first, second = await opened(user.folder), await opened(user.folder, "run2")
    touch(second.home, DAY)
    workspaces = kept_workspaces(tmp_path / "runs")
    assert [workspace.run_id for workspace in workspaces] == ["run2", "run1"], "the oldest first"
    assert {workspace.origin for workspace in workspaces} == {str(user.folder)}
    assert [workspace.branch for workspace in workspaces] == ["podium/run2", "podium/run1"]
    before = workspaces[1].bytes
    (first.folder / "large").write_bytes(b"x" * 100_000)
    assert kept_workspaces(tmp_path / "runs")[1].bytes >= before + 100_000


async def test_what_nobody_has_used_for_long_is_known_and_a_change_is_a_use(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    first, second = await opened(user.folder), await opened(user.folder, "run2")
    touch(first.home, 31 * DAY)
    touch(second.home, 29 * DAY)
    assert untouched_for(30 * DAY, tmp_path / "runs") == ["run1"]
    await first.apply([create("new.py")])
    assert untouched_for(30 * DAY, tmp_path / "runs") == []
    assert untouched_for(30 * DAY, tmp_path / "nowhere") == []


async def test_a_workspace_can_be_removed_whatever_lies_in_it(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    first = await opened(user.folder)
    await first.apply([create("new.py")])
    await first.commit("Step")
    (first.folder / "closed").mkdir()
    (first.folder / "closed" / "link").symlink_to(user.folder)
    (first.folder / "closed").chmod(0)
    before = user.fingerprint()
    remove_workspace(first.home)
    assert kept_workspaces(tmp_path / "runs") == []
    assert user.fingerprint() == before
    assert user.git("log", "--format=%s", "main..podium/run1") == "Step\n", "what was committed stays"


async def test_one_whose_facts_are_damaged_can_still_be_listed_and_removed(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    first = await opened(user.folder)
    (first.home / "workspace.json").write_text("{")
    [stored] = kept_workspaces(tmp_path / "runs")
    assert (stored.run_id, stored.origin) == ("run1", "")
    remove_workspace(stored.home)
    assert kept_workspaces(tmp_path / "runs") == []


def test_they_lie_beside_the_file_of_a_store_else_in_the_users_data_folder(tmp_path: Path) -> None:
    assert workspaces_of(f"sqlite:///{tmp_path}/runs.sqlite") == tmp_path / "workspaces"
    assert workspaces_of("postgresql://somewhere/db").parts[-2:] == ("podium", "workspaces")
