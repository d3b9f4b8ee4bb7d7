"""Killed at any moment, a workspace is found whole again: as recorded before the kill, or after it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from podium.tools.workspace.workspace import Workspace
from tests import warm
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.test_changes import contents, create
from tests.tools.workspace.users import FILES, UserRepository

PROGRAM = Path(__file__).parent / "endless.py"


def start(user: UserRepository, home: Path) -> subprocess.Popen[str]:
    """A process that makes, changes and commits without end, and tells what it has done."""
    return warm.Popen(
        [sys.executable, str(PROGRAM), str(user.folder), str(home)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("lines", [0, 1, 2, 3, 5, 8])
async def test_killed_and_opened_again(
    opened: Opener, user: UserRepository, tmp_path: Path, lines: int
) -> None:
    process = start(user, tmp_path / "runs" / "run1")
    output = [
        line for _ in range(lines) if (line := (process.stdout.readline() if process.stdout else "").strip())
    ]
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stdout:
        output += process.stdout.read().split("\n")
        process.stdout.close()
    workspace = await opened(user.folder)
    check(workspace, user)
    recorded = [
        line.split()[1] for line in output if line.startswith(("applied", "committed")) and len(line) > 45
    ]
    for sha in recorded[-2:]:
        await workspace.restore(sha)
        check(workspace, user)
    await workspace.apply([create("after.py")])
    sha = await workspace.commit("After the crash")
    assert user.git("rev-parse", "podium/run1").strip() == sha
    assert user.git("fsck", "--no-dangling") == ""
    assert user.git("status", "--porcelain") == ""


def check(workspace: Workspace, user: UserRepository) -> None:
    """Every file is whole: the user's, or one that the process wrote, with its number in it."""
    files = contents(workspace.folder)
    assert set(files) == set(workspace.files)
    for path, data in files.items():
        if path in FILES:
            assert data == FILES[path].encode()
        else:
            assert data.decode() == f"{path}\n" * 200


async def test_locks_that_a_killed_git_left_are_cleared(opened: Opener, user: UserRepository) -> None:
    first = await opened(user.folder)
    await first.apply([create("a.py")])
    repository = first.home / "git" / "repo.git"
    for lock in (
        "index.lock",
        "HEAD.lock",
        "packed-refs.lock",
        "shallow.lock",
        "refs/heads/podium/run1.lock",
    ):
        (repository / lock).touch()
    (repository / "objects" / "pack" / "tmp_pack_x").write_bytes(b"half")
    again = await opened(user.folder)
    await again.apply([create("b.py")])
    assert await again.commit("Both") == again.head
    assert not list(repository.rglob("*.lock"))
    assert not list(repository.rglob("tmp_*"))


async def test_a_workspace_that_was_never_finished_is_made_again(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    first = await opened(user.folder)
    (first.home / "workspace.json").unlink()
    (first.folder / "old.txt").write_text("of the first attempt")
    again = await opened(user.folder)
    assert set(contents(again.folder)) == set(FILES)


async def test_a_lock_of_the_users_git_on_our_branch_is_respected(
    workspace: Workspace, user: UserRepository
) -> None:
    await workspace.apply([create("a.py")])
    first = await workspace.commit("One")
    lock = user.folder / ".git" / "refs" / "heads" / "podium" / "run1.lock"
    lock.touch()
    await workspace.apply([create("b.py")])
    second = await workspace.commit("Two")
    assert user.git("rev-parse", "podium/run1").strip() == first
    assert "another git has locked it" in workspace.warnings[-1]
    lock.unlink()
    assert await workspace.publish() == ""
    assert user.git("rev-parse", "podium/run1").strip() == second
