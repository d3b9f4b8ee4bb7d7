"""What an honest program can do in the sandbox."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from podium.errors import UsageError
from podium.tools.sandbox.sandbox import Sandbox


def owners_in(folder: Path) -> set[tuple[int, int]]:
    """Who owns a folder and everything in it."""
    return {(path.stat().st_uid, path.stat().st_gid) for path in (folder, *folder.rglob("*"))}


async def test_a_program_reads_and_writes_the_workspace(sandbox: Sandbox, workspace: Path) -> None:
    (workspace / "given").write_text("from outside")
    result = await sandbox.run(["sh", "-c", "cat given; echo made > new"], folder=workspace)
    assert (result.stdout, result.exit_code, result.stopped_by) == ("from outside", 0, "")
    assert (workspace / "new").read_text() == "made\n"
    assert result.tier == sandbox.tier


async def test_what_it_writes_belongs_to_the_owner_of_the_workspace(
    sandbox: Sandbox, workspace: Path
) -> None:
    (workspace / "closed").write_text("mine")
    os.chmod(workspace / "closed", 0o600)
    result = await sandbox.run(["sh", "-c", "cat closed && mkdir sub && touch sub/file"], folder=workspace)
    assert result.ok, result.stderr
    assert len(owners_in(workspace)) == 1


async def test_exit_code_output_and_input_are_reported(sandbox: Sandbox, workspace: Path) -> None:
    result = await sandbox.run(["sh", "-c", "cat; echo bad >&2; exit 7"], folder=workspace, stdin=b"hello")
    assert (result.stdout, result.raw, result.stderr, result.exit_code) == ("hello", b"hello", "bad\n", 7)


async def test_a_program_that_is_not_there_is_a_failed_program(sandbox: Sandbox, workspace: Path) -> None:
    result = await sandbox.run(["no-such-program"], folder=workspace)
    assert result.exit_code == 127
    assert "no-such-program" in result.stderr


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
async def test_git_works_in_the_workspace(sandbox: Sandbox, workspace: Path) -> None:
    (workspace / "file").write_text("x")
    command = (
        "git init -q . && git add -A && git -c user.name=A -c user.email=a@b commit -qm first"
        " && cp -p file copy && git mv file moved && git log --format=%s && git status --short"
    )
    result = await sandbox.run(["sh", "-c", command], folder=workspace)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ["first", "R  file -> moved", "?? copy"]


async def test_it_starts_in_the_folder_that_was_asked_for(sandbox: Sandbox, workspace: Path) -> None:
    (workspace / "inner").mkdir()
    result = await sandbox.run(["pwd"], folder=workspace, cwd="inner")
    assert result.stdout.strip() == str(workspace / "inner")
    with pytest.raises(UsageError, match="not inside"):
        await sandbox.run(["pwd"], folder=workspace, cwd="../..")


async def test_the_python_that_runs_podium_is_there(sandbox: Sandbox, workspace: Path) -> None:
    (workspace / "test_it.py").write_text("def test_it():\n    assert 1 + 1 == 2\n")
    result = await sandbox.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], folder=workspace
    )
    assert "1 passed" in result.stdout
    assert result.exit_code == 0
