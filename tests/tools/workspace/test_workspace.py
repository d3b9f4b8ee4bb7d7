"""The life of a workspace: made from HEAD, committed step by step, brought back to any state, found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.errors import UsageError, WorkspaceError
from podium.tools.workspace.change import Change, Edit
from podium.tools.workspace.lifecycle import remove_workspace
from podium.tools.workspace.workspace import Workspace
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.test_changes import contents, create, modify
from tests.tools.workspace.users import FILES, UserRepository


async def test_a_workspace_holds_the_checked_out_commit_and_nothing_else(
    workspace: Workspace, user: UserRepository
) -> None:
    assert contents(workspace.folder) == {path: text.encode() for path, text in FILES.items()}
    assert workspace.base == workspace.head == workspace.state == user.head
    assert workspace.branch == "podium/run1"
    assert workspace.warnings == []


async def test_a_commit_is_a_commit_of_the_users_repository(
    workspace: Workspace, user: UserRepository
) -> None:
    await workspace.apply([modify("calc.py", Edit("a + b", "b + a"))])
    first = await workspace.commit("Step 1: turn it round\n\n2 tests passed")
    await workspace.apply([create("more.py")])
    second = await workspace.commit("Step 2")
    assert user.git("rev-parse", "podium/run1").strip() == second == workspace.head
    assert user.git("rev-list", "main..podium/run1").split() == [second, first]
    assert await workspace.commits() == [first, second]
    output = user.git("log", "-1", "--format=%an <%ae>%n%B", first)
    assert output.strip() == "Podium <podium@localhost>\nStep 1: turn it round\n\n2 tests passed"
    assert user.git("fsck", "--strict", "--no-dangling") == ""
    user.git("checkout", "-q", "podium/run1")
    assert (user.folder / "more.py").is_file(), "the branch is the user's to check out"


async def test_a_message_of_a_model_is_only_text(workspace: Workspace, user: UserRepository) -> None:
    await workspace.apply([create("a.py")])
    await workspace.commit("\x1b[31mred\0\x07\n\n" + "x" * 20_000 + "\ud800")
    output = user.git("log", "-1", "--format=%B", "podium/run1")
    assert output.startswith("[31mred\n")
    assert len(output) < 5_100
    await workspace.commit("")
    assert user.git("log", "-1", "--format=%s", "podium/run1") == "Podium\n"


async def test_the_users_checkout_index_stashes_and_hooks_are_untouched(
    opened: Opener, user: UserRepository
) -> None:
    user.write("calc.py", "stashed = 1\n")
    user.git("stash")
    user.write("staged.py", "x = 1\n")
    user.git("add", "staged.py")
    user.write("README.md", "changed\n")
    user.write("untracked.txt", "mine\n")
    before = user.fingerprint()
    workspace = await opened(user.folder)
    await workspace.apply([modify("calc.py", content="x = 2\n"), create("new.py")])
    await workspace.commit("Step")
    await workspace.reset()
    remove_workspace(workspace.home)
    assert user.fingerprint() == before
    assert user.git("stash", "list").count("\n") == 1
    [warning] = workspace.warnings
    assert warning.startswith("Uncommitted changes are not part of the run, 3 in all: ")
    assert all(name in warning for name in ("README.md", "staged.py", "untracked.txt"))
    assert user.git("rev-parse", "podium/run1").strip() == workspace.head, "the branch outlives the workspace"


async def test_what_a_test_run_wrote_never_reaches_a_commit(workspace: Workspace) -> None:
    await workspace.apply([create("new.py", "x = 1\n")])
    (workspace.folder / "new.py").write_text("x = 'changed by a test'\n")
    (workspace.folder / "calc.py").unlink()
    (workspace.folder / "left.txt").write_text("left behind")
    (workspace.folder / "__pycache__").mkdir()
    (workspace.folder / "__pycache__" / "calc.pyc").write_bytes(b"poisoned")
    (workspace.folder / "README.md").chmod(0o755)
    await workspace.commit("Step")
    assert set(workspace.files) == {*FILES, "new.py"}
    await workspace.reset()
    assert contents(workspace.folder) == {
        **{path: text.encode() for path, text in FILES.items()},
        "new.py": b"x = 1\n",
    }
    assert not (workspace.folder / "README.md").stat().st_mode & 0o111


async def test_a_workspace_is_found_again_in_the_middle_of_a_step(
    opened: Opener, user: UserRepository
) -> None:
    first = await opened(user.folder)
    await first.apply([create("one.py")])
    commit = await first.commit("One")
    applied = await first.apply([create("two.py")])
    (first.folder / "half.py").write_text("a write that was cut off")
    again = await opened(user.folder)
    assert (again.head, again.state) == (commit, applied.snapshot)
    assert (again.folder / "two.py").is_file()
    assert not (again.folder / "half.py").exists()
    assert again.branch == first.branch


async def test_restore_brings_back_files_and_branch(workspace: Workspace, user: UserRepository) -> None:
    first = await workspace.apply([create("one.py", "1\n")])
    committed = await workspace.commit("One")
    second = await workspace.apply([create("two.py"), modify("one.py", content="2\n")])
    await workspace.commit("Two")
    await workspace.restore(second.snapshot)
    assert workspace.head == committed, "the commit after it was not recorded: it is made again"
    assert (workspace.folder / "one.py").read_text() == "2\n"
    await workspace.restore(first.snapshot)
    assert workspace.head == workspace.base
    assert not (workspace.folder / "two.py").exists()
    await workspace.restore(committed)
    assert (workspace.head, workspace.state) == (committed, committed)
    await workspace.apply([create("other.py")])
    other = await workspace.commit("Other")
    assert user.git("rev-parse", "podium/run1").strip() == other, "the branch follows"


@pytest.mark.parametrize("sha", ["", "HEAD", "--all", "0" * 40, "deadbeef", "refs/heads/main"])
async def test_a_state_that_is_not_the_runs_is_refused(workspace: Workspace, sha: str) -> None:
    with pytest.raises(WorkspaceError, match="has no state"):
        await workspace.restore(sha)


async def test_the_same_changes_on_the_same_state_have_the_same_name(workspace: Workspace) -> None:
    first = await workspace.apply([create("a.py", "x\n")])
    await workspace.restore(workspace.base)
    second = await workspace.apply([create("a.py", "x\n")])
    assert first == second


async def test_diff_stat_and_patch_show_the_same(
    workspace: Workspace, user: UserRepository, tmp_path: Path
) -> None:
    first = await workspace.apply([modify("calc.py", Edit("a + b", "b + a"))])
    await workspace.apply([create("bin/x.sh", "#!/bin/sh\n", executable=True), create("y.txt", "y\n")])
    await workspace.commit("Both")
    assert [(stat.path, stat.added, stat.removed) for stat in await workspace.stat()] == [
        ("bin/x.sh", 1, 0),
        ("calc.py", 1, 1),
        ("y.txt", 1, 0),
    ]
    assert [stat.path for stat in await workspace.stat(first.snapshot)] == ["bin/x.sh", "y.txt"]
    assert "calc.py" not in await workspace.diff(first.snapshot)
    assert len(await workspace.diff(limit=100)) <= 100
    patch = tmp_path / "run.patch"
    patch.write_bytes(await workspace.patch())
    user.git("apply", "--index", str(patch))
    assert user.git("write-tree") == user.git("rev-parse", "podium/run1^{tree}")


async def test_attributes_that_a_coder_writes_hide_nothing(workspace: Workspace) -> None:
    await workspace.apply([create(".gitattributes", "*.py -diff binary\n*.py diff=hidden\n")])
    await workspace.commit("Attributes")
    applied = await workspace.apply([modify("calc.py", Edit("a + b", "exec(a)"))])
    assert "+    return exec(a)" in applied.diff


async def test_a_folder_without_git_is_copied_and_left_alone(opened: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / "node_modules" / "x").mkdir(parents=True)
    (folder / "node_modules" / "x" / "index.js").write_text("x")
    (folder / "build").mkdir()
    (folder / "build" / "out.txt").write_text("made")
    (folder / "a.py").write_text("x = 1\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / ".gitignore").write_text("build/\n")
    (folder / "link").symlink_to("a.py")
    workspace = await opened(folder)
    assert set(contents(workspace.folder)) == {".gitignore", "a.py", "run.sh"}
    assert (workspace.folder / "link").readlink() == Path("a.py")
    assert not workspace.is_published
    assert "the run works on a copy, and the result is a patch" in workspace.warnings[0]
    await workspace.apply([modify("a.py", content="x = 2\n")])
    await workspace.commit("Changed")
    assert (folder / "a.py").read_text() == "x = 1\n"
    assert not (folder / ".git").exists()
    assert b"+x = 2" in await workspace.patch()


async def test_an_empty_folder_and_a_repository_without_a_commit_are_begun(
    opened: Opener, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    workspace = await opened(tmp_path / "empty")
    await workspace.apply([create("a.py")])
    assert [stat.path for stat in await workspace.stat()] == ["a.py"]
    unborn = UserRepository(tmp_path / "unborn", {"b.py": "x = 1\n"}, commit=False)
    other = await opened(unborn.folder, "run2")
    assert set(other.files) == {"b.py"}


async def test_a_folder_inside_a_repository_stands_for_all_of_it(
    opened: Opener, user: UserRepository
) -> None:
    workspace = await opened(user.folder / "tests")
    assert workspace.made.origin.below == "tests"
    assert workspace.origin == user.folder
    assert set(workspace.files) == set(FILES)


@pytest.mark.parametrize("name", ["nowhere", "bare.git"])
async def test_what_cannot_be_worked_on_is_refused(
    opened: Opener, user: UserRepository, tmp_path: Path, name: str
) -> None:
    user.git("clone", "-q", "--bare", str(user.folder), str(tmp_path / "bare.git"))
    with pytest.raises(UsageError) as caught:
        await opened(tmp_path / name)
    assert caught.value.hint
    assert not (tmp_path / "runs" / "run1" / "workspace.json").exists()


async def test_linked_work_trees_and_packed_branches_are_understood(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    user.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "side.py").write_text("x = 1\n")
    user.git("add", "-A", folder=tmp_path / "side")
    user.git("commit", "-qm", "side", folder=tmp_path / "side")
    user.git("pack-refs", "--all")
    user.git("gc", "-q")
    workspace = await opened(tmp_path / "side")
    assert "side.py" in workspace.files
    await workspace.apply([create("new.py")])
    sha = await workspace.commit("From the side")
    assert user.git("rev-parse", "podium/run1").strip() == sha
    assert workspace.warnings == []


async def test_repositories_of_sha256_are_worked_on(opened: Opener, tmp_path: Path) -> None:
    user = UserRepository(tmp_path / "sha256", {}, commit=False)
    user.git("init", "-q", "--object-format=sha256", str(tmp_path / "long"))
    user.folder = tmp_path / "long"
    user.write("a.py", "x = 1\n")
    user.commit("First")
    workspace = await opened(user.folder)
    await workspace.apply([modify("a.py", content="x = 2\n")])
    sha = await workspace.commit("Second")
    assert len(sha) == 64
    assert user.git("rev-parse", "podium/run1").strip() == sha


async def test_a_branch_of_the_users_called_podium_is_no_obstacle(
    opened: Opener, user: UserRepository
) -> None:
    user.git("branch", "podium")
    workspace = await opened(user.folder)
    await workspace.apply([create("a.py")])
    sha = await workspace.commit("One")
    assert user.git("rev-parse", "podium-run1").strip() == sha


async def test_a_branch_that_the_user_went_on_with_is_left_alone(
    workspace: Workspace, user: UserRepository
) -> None:
    await workspace.apply([create("a.py")])
    await workspace.commit("One")
    user.git("checkout", "-q", "podium/run1")
    theirs = user.commit("Mine")
    user.git("checkout", "-q", "main")
    await workspace.apply([create("b.py")])
    await workspace.commit("Two")
    assert user.git("rev-parse", "podium/run1").strip() == theirs
    assert "was changed by others" in workspace.warnings[-1]
    assert b"b.py" in await workspace.patch()


async def test_a_branch_that_another_git_has_locked_is_left_alone(
    workspace: Workspace, user: UserRepository
) -> None:
    user.write(".git/refs/heads/podium/run1.lock", "")
    await workspace.apply([create("a.py")])
    await workspace.commit("One")
    assert user.git("for-each-ref", "refs/heads/podium") == ""
    assert "another git has locked it" in workspace.warnings[-1]
    (user.folder / ".git/refs/heads/podium/run1.lock").unlink()
    await workspace.apply([create("b.py")])
    sha = await workspace.commit("Two")
    assert user.git("rev-parse", "podium/run1").strip() == sha


async def test_branches_that_are_kept_in_another_way_are_not_touched(
    opened: Opener, user: UserRepository
) -> None:
    (user.folder / ".git/reftable").mkdir()
    workspace = await opened(user.folder)
    assert not workspace.is_published
    await workspace.apply([create("a.py")])
    await workspace.commit("One")
    assert not (user.folder / ".git/refs/heads/podium").exists()
    assert "reftable" in await workspace.publish()


async def test_a_branch_that_is_checked_out_does_not_move(workspace: Workspace, user: UserRepository) -> None:
    await workspace.apply([create("a.py")])
    first = await workspace.commit("One")
    user.git("checkout", "-q", "podium/run1")
    await workspace.apply([create("b.py")])
    second = await workspace.commit("Two")
    assert user.head == first
    assert user.git("status", "--porcelain") == "", "no file is missing from the user's checkout"
    assert "is checked out and stays where it is" in workspace.warnings[-1]
    user.git("checkout", "-q", "main")
    assert await workspace.publish() == ""
    assert user.git("rev-parse", "podium/run1").strip() == second


async def test_submodules_are_left_empty_and_reported(opened: Opener, user: UserRepository) -> None:
    user.git("update-index", "--add", "--cacheinfo", f"160000,{user.head},vendor/lib")
    user.git("commit", "-qm", "submodule")
    workspace = await opened(user.folder)
    assert (workspace.folder / "vendor" / "lib").is_dir()
    assert any("vendor/lib" in warning for warning in workspace.warnings)
    await workspace.apply([Change(path="calc.py", action="delete")])
    await workspace.commit("Without it")
    assert "160000" in user.git("ls-tree", "-r", "podium/run1")


async def test_a_fork_begins_with_a_state_of_another_run(opened: Opener, user: UserRepository) -> None:
    first = await opened(user.folder)
    await first.apply([create("one.py", "1\n")])
    committed = await first.commit("One")
    middle = await first.apply([create("two.py", "2\n")])
    user.write("later.py", "x\n")
    user.commit("The user goes on")
    fork = await opened(user.folder, "run2")
    await fork.restore(first.base)
    assert set(fork.files) == set(FILES), "the user's later commit is not part of it"
    await fork.restore(middle.snapshot)
    assert (fork.head, fork.base) == (committed, first.base)
    assert (fork.folder / "two.py").read_text() == "2\n"
    assert not (fork.folder / "later.py").exists()
    remove_workspace(first.home)
    again = await opened(user.folder, "run2")
    assert again.state == middle.snapshot
    await again.apply([create("three.py")])
    sha = await again.commit("Three")
    assert user.git("log", "--format=%s", "main~1..podium/run2").split() == ["Three", "One"]
    assert user.git("rev-parse", "podium/run2").strip() == sha
    assert [stat.path for stat in await again.stat()] == ["one.py", "three.py", "two.py"]
    assert user.git("fsck", "--no-dangling") == ""
