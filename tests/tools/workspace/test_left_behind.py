"""What programs leave in a work tree: nothing of it is kept, followed, run, or in the way."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

import pytest

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.workspace.lifecycle import kept_workspaces, remove_workspace
from podium.tools.workspace.tree import WorkTree
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.test_changes import contents, create
from tests.tools.workspace.users import FILES, UserRepository


async def test_what_a_killed_run_left_in_the_tree_is_cleared(opened: Opener, user: UserRepository) -> None:
    """Podium was killed while tests ran, so that nothing was inspected after them."""
    workspace = await opened(user.folder)
    tree = workspace.folder
    os.chmod(tree / "calc.py", 0o6755 if os.access(tree / "calc.py", os.X_OK) else 0o6644)
    os.chmod(tree / "tests", 0o777)
    nest(tree / "nested", 3_000)
    (tree / os.fsdecode(b"line\nbreak\xff")).write_text("x")
    with (tree / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    again = await opened(user.folder)
    assert contents(again.folder) == {path: text.encode() for path, text in FILES.items()}
    assert {file.name for file in again.folder.iterdir()} == {".gitignore", "README.md", "calc.py", "tests"}
    modes = [os.stat(path).st_mode for path in (tree, *tree.rglob("*"))]
    assert not any(mode & 0o6002 for mode in modes)


async def test_workspaces_with_endlessly_nested_folders_are_listed_and_removed(
    opened: Opener, user: UserRepository
) -> None:
    workspace = await opened(user.folder)
    nest(workspace.folder / "nested", 3_000)
    [stored] = kept_workspaces(workspace.home.parent)
    assert stored.bytes > 0
    remove_workspace(workspace.home)
    assert not workspace.home.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file immutable")
def test_immutable_files_and_folders_are_removed(tmp_path: Path) -> None:
    """A program that was allowed to run without a sandbox can leave such."""
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    (tmp_path / "tree" / "sub" / "file").write_text("x")
    for path in (tmp_path / "tree" / "sub" / "file", tmp_path / "tree" / "sub"):
        handle = os.open(path, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, 0x4008_6602, struct.pack("l", 0x10))
        except OSError as error:
            pytest.skip(f"this file system has no flags: {error}")
        finally:
            os.close(handle)
    with pytest.raises(PermissionError):
        (tmp_path / "tree" / "sub" / "file").unlink()
    WorkTree(tmp_path).remove("tree")
    assert not (tmp_path / "tree").exists()


async def test_odd_names_in_the_users_folder_are_reported_in_one_line(opened: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "file").write_text("x")
    os.mkfifo(folder / os.fsdecode(b"line\nbreak\xff"))
    workspace = await opened(folder)
    assert r"the first is line\nbreak\udcff." in workspace.warnings[-1]


async def test_odd_names_of_uncommitted_files_are_reported_in_one_line(
    opened: Opener, user: UserRepository
) -> None:
    (user.folder / os.fsdecode(b"line\nbreak\xff")).write_text("x")
    workspace = await opened(user.folder)
    assert r": line\nbreak\udcff." in workspace.warnings[-1]


async def test_a_planted_git_folder_is_not_used_for_a_commit(
    opened: Opener, user: UserRepository, sandbox: Sandbox, tmp_path: Path
) -> None:
    """Hooks and settings that test code leaves in the work tree."""
    workspace = await opened(user.folder)
    command = (
        "git init -q . && git config core.fsmonitor ./evil && git config core.hooksPath hooks && mkdir hooks"
        f" && printf '#!/bin/sh\\ntouch {tmp_path}/proof ran\\n' > evil && chmod 755 evil"
        " && cp evil hooks/pre-commit && cp evil .git/hooks/post-commit"
    )
    result = await sandbox.run(["sh", "-c", command], folder=workspace.folder)
    assert result.ok, result.stderr
    await workspace.apply([create("new.py")])
    await workspace.commit("Step")
    assert {file.name for file in workspace.folder.iterdir()} == {
        ".gitignore",
        "README.md",
        "calc.py",
        "new.py",
        "tests",
    }
    assert not (tmp_path / "proof").exists()


def nest(folder: Path, levels: int) -> None:
    """Folders in folders, deeper than any path can name."""
    folder.mkdir()
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=handle)
        deeper = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = deeper
    os.close(handle)
