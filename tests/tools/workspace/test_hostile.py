"""Repositories and test code that mean harm: nothing they name is run, nothing they plant is followed."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from podium.errors import ChangeRefusedError, PodiumError, WorkspaceError
from podium.tools.workspace.change import Change
from podium.tools.workspace.tree import WorkTree
from podium.tools.workspace.workspace import Workspace
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.test_changes import contents, create, modify
from tests.tools.workspace.users import FILES, UserRepository

SECRET = "the secret of the house"


def armed(user: UserRepository, proof: Path) -> Path:
    """A program that leaves a proof that it was run."""
    program = user.folder / ".git" / "evil.sh"
    program.write_text(f"#!/bin/sh\necho run >> {proof}\ncat\n")
    program.chmod(0o755)
    return program


async def whole_life(opened: Opener, user: UserRepository) -> Workspace:
    """Everything that calls git, once."""
    workspace = await opened(user.folder)
    await workspace.apply([create("new.py"), modify("calc.py", content="x = 2\n")])
    await workspace.commit("Step")
    await workspace.diff()
    await workspace.patch()
    await workspace.restore(workspace.base)
    await workspace.reset()
    return await opened(user.folder)


async def test_nothing_that_a_repositorys_settings_name_is_run(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    proof = tmp_path / "proof"
    evil = armed(user, proof)
    (tmp_path / "included").write_text(f"[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n")
    for key, value in {
        "core.fsmonitor": evil,
        "core.hooksPath": user.folder / "hooks",
        "core.pager": evil,
        "core.editor": evil,
        "core.sshCommand": evil,
        "core.gitProxy": evil,
        "core.askPass": evil,
        "diff.external": evil,
        "diff.evil.command": evil,
        "diff.evil.textconv": evil,
        "filter.evil.clean": evil,
        "filter.evil.smudge": evil,
        "filter.evil.process": evil,
        "filter.evil.required": "true",
        "merge.evil.driver": evil,
        "credential.helper": f"!{evil}",
        "gpg.program": evil,
        "commit.gpgSign": "true",
        "uploadpack.packObjectsHook": evil,
        "include.path": tmp_path / "included",
        "alias.status": f"!{evil}",
        "remote.origin.url": f"ext::{evil}",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "submodule.x.update": f"!{evil}",
        "core.alternateRefsCommand": evil,
        "sequence.editor": evil,
        "init.templateDir": user.folder / "template",
        "core.worktree": "/",
        "trace2.eventTarget": proof,
    }.items():
        with (user.folder / ".git" / "config").open("a") as config:
            section, _, name = key.rpartition(".")
            head, _, sub = section.partition(".")
            title = f'{head} "{sub}"' if sub else head
            config.write(f'[{title}]\n\t{name} = "{value}"\n')
    for hook in (
        "post-checkout",
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "fsmonitor-watchman",
        "commit-msg",
        "prepare-commit-msg",
        "post-rewrite",
    ):
        for folder in (user.folder / "hooks", user.folder / ".git" / "hooks"):
            folder.mkdir(exist_ok=True)
            (folder / hook).write_bytes(evil.read_bytes())
            (folder / hook).chmod(0o755)
    (user.folder / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (user.folder / "calc.py").write_text("touched = 1\n")
    workspace = await whole_life(opened, user)
    assert not proof.exists()
    user.git("-c", "core.worktree=.", "-c", "extensions.partialClone=", "status")
    assert proof.exists(), "a git that reads the settings does run it"
    assert contents(workspace.folder) == {path: text.encode() for path, text in FILES.items()}


async def test_planted_things_are_cleared_and_never_followed(workspace: Workspace, tmp_path: Path) -> None:
    """What test code can do to the tree between two steps."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep.txt").write_text(SECRET)
    tree = workspace.folder
    (tree / "calc.py").unlink()
    (tree / "calc.py").symlink_to(outside / "keep.txt")
    (tree / "README.md").unlink()
    os.mkfifo(tree / "README.md")
    (tree / ".gitignore").unlink()
    os.mkfifo(tree / ".gitignore")
    for file in (tree / "tests").iterdir():
        file.unlink()
    (tree / "tests").rmdir()
    (tree / "tests").symlink_to(outside)
    (tree / ".git").write_text(f"gitdir: {outside}\n")
    nested = tree / "nested" / ".git"
    nested.mkdir(parents=True)
    (nested / "config").write_text(f"[core]\n\tfsmonitor = touch {tmp_path / 'proof'}\n")
    (tree / "closed" / "deep").mkdir(parents=True)
    (tree / "closed" / "deep" / "x").write_text("x")
    (tree / "closed").chmod(0)
    here = os.getcwd()
    os.chdir(tree)  # the path of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("sock")
    finally:
        os.chdir(here)
    await workspace.apply([modify("calc.py", content="x = 2\n"), create("tests/new.py")])
    assert (outside / "keep.txt").read_text() == SECRET
    assert sorted(file.name for file in outside.iterdir()) == ["keep.txt"]
    expected = {path: text.encode() for path, text in FILES.items()}
    assert contents(tree) == {**expected, "calc.py": b"x = 2\n", "tests/new.py": b"x\n"}
    assert {file.name for file in tree.iterdir()} == {".gitignore", "README.md", "calc.py", "tests"}
    assert not (tmp_path / "proof").exists()


async def test_links_of_the_repository_are_kept_and_never_written_through(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.txt").write_text(SECRET)
    (user.folder / "out").symlink_to(outside)
    (user.folder / "file").symlink_to(outside / "x.txt")
    user.commit("Links")
    workspace = await opened(user.folder)
    assert os.readlink(workspace.folder / "out") == str(outside)
    for change, why in (
        (create("out/y.txt"), "is a file, not a folder"),
        (modify("file", content="x"), "It is a link"),
        (modify("out/x.txt", content="x"), "no such file"),
        (Change(path="file", action="rename", new_path="moved"), "It is a link"),
    ):
        with pytest.raises(ChangeRefusedError, match=why):
            await workspace.apply([change])
    assert (outside / "x.txt").read_text() == SECRET
    assert sorted(file.name for file in outside.iterdir()) == ["x.txt"]
    await workspace.apply([create("good.py")])
    await workspace.commit("Links stay links")
    assert "120000" in user.git("ls-tree", "podium/run1", "out")


async def test_a_git_file_that_points_at_anothers_repository_gets_no_branch_there(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    victim = UserRepository(tmp_path / "victim")
    before = victim.fingerprint()
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / ".git").write_text(f"gitdir: {victim.folder / '.git'}\n")
    workspace = await opened(trap)
    await workspace.apply([create("a.py")])
    await workspace.commit("Step")
    assert victim.fingerprint() == before
    assert victim.git("branch", "--list", "podium/*") == ""
    assert not workspace.is_published


@pytest.mark.parametrize("text", ["", "gitdir: /nowhere\n", "not a pointer\n", "gitdir: ../" + "x" * 5_000])
async def test_a_git_file_that_points_nowhere_is_reported(opened: Opener, tmp_path: Path, text: str) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / ".git").write_text(text)
    with pytest.raises(PodiumError) as caught:
        await opened(trap)
    assert caught.value.hint


async def test_a_branch_folder_that_is_a_link_is_not_written_through(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (user.folder / ".git" / "refs" / "heads" / "podium").symlink_to(target)
    workspace = await opened(user.folder)
    await workspace.apply([create("a.py")])
    await workspace.commit("Step")
    assert list(target.iterdir()) == []
    assert "could not be left" in workspace.warnings[-1]


async def test_a_repository_that_cannot_be_written_gives_a_patch_and_a_warning(
    opened: Opener, user: UserRepository
) -> None:
    (user.folder / ".git" / "refs" / "heads" / "podium").write_text("in the way")
    workspace = await opened(user.folder)
    await workspace.apply([create("a.py")])
    await workspace.commit("Step")
    assert "podium-run1" in user.git("branch", "--list", "podium-*") or workspace.warnings
    assert b"a.py" in await workspace.patch()


async def test_objects_that_a_repository_borrows_are_found(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    shared = tmp_path / "shared: and so on"
    user.git("clone", "-q", "--shared", str(user.folder), str(shared))
    workspace = await opened(shared)
    assert set(workspace.files) == set(FILES)
    await workspace.apply([create("a.py")])
    sha = await workspace.commit("Step")
    assert user.git("rev-parse", "podium/run1", folder=shared).strip() == sha


async def test_alternates_that_lead_astray_do_no_harm(
    opened: Opener, user: UserRepository, tmp_path: Path
) -> None:
    info = user.folder / ".git" / "objects" / "info"
    (info / "alternates").write_text(
        f"{tmp_path / 'nowhere'}\n/\n/etc\n../objects\n{user.folder / '.git' / 'objects'}\n"
    )
    workspace = await opened(user.folder)
    assert set(workspace.files) == set(FILES)


async def test_a_damaged_repository_is_reported(opened: Opener, user: UserRepository) -> None:
    blob = user.git("rev-parse", "HEAD:calc.py").strip()
    file = user.folder / ".git" / "objects" / blob[:2] / blob[2:]
    file.unlink()
    with pytest.raises(WorkspaceError, match="could not be read") as caught:
        await opened(user.folder)
    assert "git fsck" in caught.value.hint


async def test_a_pipe_or_an_endless_file_in_the_users_folder_does_not_hang(
    opened: Opener, tmp_path: Path
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "a.py").write_text("x = 1\n")
    workspace = await opened(folder)
    assert set(contents(workspace.folder)) == {"a.py"}
    assert any("the first is pipe" in warning for warning in workspace.warnings)


async def test_the_private_repository_knows_no_setting_of_anybody(
    workspace: Workspace, user: UserRepository
) -> None:
    listed = user.git("config", "--list", "--file", str(workspace.home / "git" / "repo.git" / "config"))
    keys = {line.partition("=")[0] for line in listed.splitlines()}
    assert keys <= {
        "core.repositoryformatversion",
        "core.filemode",
        "core.bare",
        "core.ignorecase",
        "core.precomposeunicode",
        "core.symlinks",
    }


def test_a_link_that_is_swapped_in_is_not_followed_by_reads_writes_and_removals(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text(SECRET)
    root = tmp_path / "root"
    root.mkdir()
    (root / "d").symlink_to(outside)
    tree = WorkTree(root)
    for act in (lambda: tree.read("d/x", 100), lambda: tree.write("d/x", b"y"), lambda: tree.remove("d/x")):
        with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
            act()
    assert tree.look("d/x").kind == "link"
    tree.remove("d")
    assert (outside / "x").read_text() == SECRET
