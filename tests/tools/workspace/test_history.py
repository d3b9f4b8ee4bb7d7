"""Log and commits of the project, as a coder sees them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from podium.errors import WorkspaceError
from podium.tools.tool import ToolError
from podium.tools.workspace.change import Edit
from podium.tools.workspace.git import Answers, Git
from podium.tools.workspace.workspace import Workspace
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.test_changes import create, modify
from tests.tools.workspace.test_hostile import armed
from tests.tools.workspace.users import UserRepository


def rows(text: str) -> list[str]:
    """The subjects, and the notes as they are."""
    return [re.sub(r"^[0-9a-f]{7,} \d{4}-\d\d-\d\d ", "", line) for line in text.splitlines()]


async def test_the_log_has_the_history_and_the_commits_of_the_run(
    opened: Opener, user: UserRepository
) -> None:
    for number in range(5):
        user.write("calc.py", f"x = {number}\n")
        user.commit(f"Set x to {number}")
    workspace = await opened(user.folder)
    await workspace.apply([create("new.py")])
    await workspace.commit("Add new.py")
    log = await workspace.log()
    assert re.match(r"[0-9a-f]{7,} \d{4}-\d\d-\d\d Add new\.py\n", log)
    assert rows(log) == ["Add new.py", *(f"Set x to {number}" for number in (4, 3, 2, 1, 0)), "First"]
    assert rows(await workspace.log(count=2)) == [
        "Add new.py",
        "Set x to 4",
        "[older commits follow: skip 2]",
    ]
    assert rows(await workspace.log(count=2, skip=2)) == (
        ["Set x to 3", "Set x to 2", "[older commits follow: skip 4]"]
    )
    assert rows(await workspace.log("README.md")) == ["First"]
    assert rows(await workspace.log("tests/")) == ["First"]
    assert await workspace.log("nowhere.py") == "No commits."


async def test_a_commit_is_shown_with_its_patch(opened: Opener, user: UserRepository) -> None:
    user.write("calc.py", "x = 1\n")
    user.write("README.md", "Changed\n")
    user.write(".env", "KEY=very secret\n")
    sha = user.commit("Change two files\n\nFor a reason.")
    workspace = await opened(user.folder)
    shown = await workspace.show(sha[:8])
    assert shown.startswith(f"commit {sha}\nDate: ")
    assert "For a reason." in shown
    assert "+x = 1" in shown
    assert "+Changed" in shown
    assert "very secret" not in shown
    one_file = await workspace.show(sha, "calc.py")
    assert "+x = 1" in one_file
    assert "Changed" not in one_file
    await workspace.apply([create("new.py", "y = 2\n")])
    own = await workspace.commit("Add new.py")
    assert "+y = 2" in await workspace.show(own)


async def test_a_long_commit_is_read_on(opened: Opener, user: UserRepository) -> None:
    user.write("calc.py", "".join(f"x{number} = {number}\n" for number in range(2_000)))
    sha = user.commit("Long")
    workspace = await opened(user.folder)
    parts, offset = list[str](), 0
    while True:
        part = await workspace.show(sha, offset=offset, limit=5_000)
        assert len(part) <= 5_000
        note = re.search(r"\n\[[\d,]+ characters follow: offset (\d+), or name a path\]$", part)
        if note is None:
            break
        parts.append(part[: note.start()])
        offset = int(note[1])
    assert "".join([*parts, part]) == await workspace.show(sha, limit=1_000_000)


async def test_a_shallow_history_is_said_to_be_one(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    user.write("calc.py", "x = 1\n")
    user.commit("Second")
    clone = tmp_path / "clone"
    user.git("clone", "-q", "--depth=1", f"file://{user.folder}", str(clone))
    workspace = await opened(clone)
    assert rows(await workspace.log()) == ["Second", "[the history before this commit is not available here]"]
    shown = await workspace.show(user.head)
    assert shown.endswith("[the commit before it is not available here, so there is no patch]")
    assert "may have changed it" in await workspace.log("README.md")


async def test_without_the_users_repository_the_commits_of_the_run_are_left(
    opened: Opener, user: UserRepository
) -> None:
    user.commit("Second")
    workspace = await opened(user.folder)
    await workspace.apply([create("new.py")])
    await workspace.commit("Add new.py")
    shutil.rmtree(user.folder)
    assert rows(await workspace.log()) == (
        ["Add new.py", "Second", "[the history before this commit is not available here]"]
    )


async def test_a_copied_folder_has_the_commits_of_the_run(opened: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    workspace = await opened(folder)
    assert rows(await workspace.log()) == ["The files as they were"]


@pytest.mark.parametrize(
    "sha", ["", "HEAD", "--all", "main", "../x", "xyz", "ffffffff", "--output=/tmp/x", "0" * 40]
)
async def test_what_is_no_commit_is_refused(opened: Opener, user: UserRepository, sha: str) -> None:
    workspace = await opened(user.folder)
    with pytest.raises(ToolError):
        await workspace.show(sha)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", ".git/config", "a\nb"])
async def test_paths_outside_are_refused(opened: Opener, user: UserRepository, path: str) -> None:
    workspace = await opened(user.folder)
    with pytest.raises(ToolError):
        await workspace.log(path)
    with pytest.raises(ToolError):
        await workspace.show(user.head, path)


async def test_nothing_that_the_repository_names_is_run(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    proof = tmp_path / "proof"
    evil = armed(user, proof)
    with (user.folder / ".git" / "config").open("a") as config:
        config.write(f'[core]\n\tpager = "{evil}"\n[diff]\n\texternal = "{evil}"\n[diff "evil"]\n')
        config.write(f'\ttextconv = "{evil}"\n[log]\n\tshowSignature = true\n[gpg]\n\tprogram = "{evil}"\n')
    (user.folder / ".gitattributes").write_text("* diff=evil\n")
    (user.folder / "calc.py").write_text("x = 1\n")
    sha = user.commit("Esc \x1b[31mape")
    workspace = await opened(user.folder)
    assert "\x1b" not in await workspace.log()
    assert "+x = 1" in await workspace.show(sha)
    assert not proof.exists()


async def test_git_is_asked_only_once_about_what_cannot_change(workspace: Workspace) -> None:
    async def look() -> tuple[object, ...]:
        changed = await workspace.stat(), await workspace.diff()
        return *changed, await workspace.contents(workspace.base, ["calc.py", "missing.py"])

    await workspace.apply([modify("calc.py", Edit("a + b", "b + a"))])
    snapshot = workspace.state
    first = await look()
    await workspace.apply([create("more.py")])
    assert [stat.path for stat in await workspace.stat()] == ["calc.py", "more.py"]
    await workspace.restore(snapshot)
    shutil.rmtree(Git.place(workspace.home) / "objects")
    assert await look() == first
    with pytest.raises(WorkspaceError):
        await workspace.patch()


def test_answers_of_git_are_kept_within_a_limit() -> None:
    answers = Answers(limit=100)
    for number in range(8):
        answers.keep(number, bytes(20))
        assert answers.get(0) is not None, "used again and again, so it stays"
    answers.keep("large", bytes(60))
    kept = [key for key in (*range(8), "large") if answers.get(key) is not None]
    assert kept == [0, 4, 5, 6, 7]
