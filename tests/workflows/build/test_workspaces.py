"""What a build leaves on the disk: nothing that is not needed, and a way to see and remove the rest."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import podium
from podium.engine.log import Store
from podium.tools.workspace.lifecycle import KEPT_DAYS, workspaces_of
from tests.workflows.build.team import Team, git, go_on, make, repository, scored
from tests.workflows.build.test_cli import podium as shell


def left(store: Store, run_id: str) -> list[str]:
    home = workspaces_of(store.url) / run_id
    return sorted(os.listdir(home)) if home.exists() else []


async def test_when_a_run_has_ended_only_its_repository_is_left(store: Store, tmp_path: Path) -> None:
    folder = repository(tmp_path / "project")
    done = await make(store, Team(), folder)
    assert (done.status, left(store, done.run_id)) == ("completed", ["git", "workspace.json"])
    failed = await make(store, Team({"verify_plan": scored(20, "no", verified=False)}), folder)
    assert (failed.status, left(store, failed.run_id)) == ("failed", ["git", "workspace.json"])


async def test_a_run_that_can_go_on_finds_its_workspace_as_it_was(store: Store, tmp_path: Path) -> None:
    folder = repository(tmp_path / "project")
    made = await make(store, Team(), folder, budget=podium.Budget(calls=7))
    assert (made.status, left(store, made.run_id)) == ("partial", ["git", "workspace.json"])
    ended = await go_on(store, made.run_id, Team(), podium.Budget(calls=100))
    assert ended.status == "completed"
    assert git(folder, "show", f"{ended.output['branch']}:answer.txt") == "right"


async def test_a_result_that_is_approved_later_leaves_no_work_tree_either(
    store: Store, tmp_path: Path
) -> None:
    made = await make(store, Team(), repository(tmp_path / "project"), approve=("result",))
    assert (made.status, "tree" in left(store, made.run_id)) == ("waiting", True)
    await podium.answer(made.run_id, "approve", store=store)
    ended = await go_on(store, made.run_id, Team())
    assert (ended.status, left(store, made.run_id)) == ("completed", ["git", "workspace.json"])
    (workspaces_of(store.url) / made.run_id / "tree").mkdir()
    await podium.replay(made.run_id, store=store)
    assert "tree" in left(store, made.run_id), "a replay touches nothing"


async def test_what_is_over_and_was_not_used_for_long_goes_when_another_build_begins(
    store: Store, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "project")
    over = await make(store, Team(), folder)
    partial = await make(store, Team(), folder, budget=podium.Budget(calls=7))
    young = await make(store, Team(), folder)
    foreign = workspaces_of(store.url) / "of-another-store"
    foreign.mkdir()
    then = time.time() - (KEPT_DAYS + 1) * 86_400
    for name in (over.run_id, partial.run_id):
        os.utime(workspaces_of(store.url) / name / "git/repo.git/refs/podium/state", (then, then))
    os.utime(foreign, (then, then))
    await make(store, Team(), folder)
    assert left(store, over.run_id) == []
    assert left(store, partial.run_id), "it can still be resumed"
    assert left(store, young.run_id), "it can still be forked"
    assert foreign.exists()
    assert git(folder, "show", f"{over.output['branch']}:answer.txt") == "right"


async def test_a_run_whose_workspace_is_gone_says_so(store: Store, tmp_path: Path) -> None:
    folder = repository(tmp_path / "project")
    made = await make(store, Team(), folder, budget=podium.Budget(calls=7))
    done = shell(tmp_path, "workspaces", "remove", made.run_id, "--yes", "--store", store.url)
    assert done.returncode == 0, done.stderr
    ended = await go_on(store, made.run_id, Team(), podium.Budget(calls=100))
    assert (ended.status, "has no state" in ended.error) == ("failed", True)
    assert "podium workspaces" in ended.hint


async def test_the_command_lists_and_removes_what_is_over_and_asks_first(
    store: Store, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "project")
    over = await make(store, Team(), folder)
    partial = await make(store, Team(), folder, budget=podium.Budget(calls=7))

    def run(*words: str) -> tuple[int, str]:
        done = shell(tmp_path, "workspaces", *words, "--store", store.url)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout + done.stderr

    code, output = run("list")
    assert code == 0
    assert [line.split()[:2] for line in output.splitlines()[-2:]] == [
        [over.run_id, "completed"],
        [partial.run_id, "partial"],
    ]
    assert run("remove") == (2, "Error: Removing workspaces needs a confirmation.\nHint: Add --yes.\n")
    assert run("remove", "nobody", "--yes")[0] == 2
    assert run("remove", "--older-than", "1d", "--yes") == (0, "Nothing to remove.\n")
    listed = json.loads(run("list", "--json")[1])["workspaces"]
    assert {one["project"] for one in listed} == {str(folder)}
    code, output = run("remove", "--yes", "--json")
    assert (code, json.loads(output)["removed"]) == (0, [over.run_id])
    assert run("remove", partial.run_id[:8], "--yes")[1].startswith("Removed 1 workspace, ")
    assert run("list") == (0, "There are no workspaces.\n")


async def test_the_workspace_of_a_run_that_waits_is_not_removed(store: Store, tmp_path: Path) -> None:
    made = await make(store, Team(), repository(tmp_path / "project"), approve=("plan",))
    done = shell(tmp_path, "workspaces", "remove", made.run_id, "--yes", "--store", store.url)
    assert (done.returncode, "is waiting and needs its workspace" in done.stderr) == (2, True)
