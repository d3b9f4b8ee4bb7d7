"""Changes from a coder: what each action does, what is refused, and that a set is made whole or not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium.errors import ChangeRefusedError
from podium.tools.workspace.change import Caps, Change, Edit
from podium.tools.workspace.workspace import Workspace
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.users import FILES, UserRepository


def create(path: str, content: str = "x\n", *, executable: bool | None = None) -> Change:
    return Change(path=path, action="create", content=content, executable=executable)


def modify(path: str, *edits: Edit, content: str | None = None) -> Change:
    return Change(path=path, action="modify", edits=list(edits), content=content)


async def refused(workspace: Workspace, *changes: Change) -> list[str]:
    """The reasons; and that neither files nor state are touched."""
    before, state = contents(workspace.folder), workspace.state
    with pytest.raises(ChangeRefusedError) as caught:
        await workspace.apply(list(changes))
    assert contents(workspace.folder) == before
    assert workspace.state == state
    return [refusal.reason for refusal in caught.value.refusals]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.is_symlink()
    }


async def test_all_actions_in_one_set(workspace: Workspace) -> None:
    applied = await workspace.apply(
        [
            create("pkg/new.py", "print('new')\n"),
            modify("calc.py", Edit("a + b", "b + a")),
            Change(path="README.md", action="rename", new_path="docs/README.md"),
            Change(path="tests/test_calc.py", action="delete"),
        ]
    )
    assert contents(workspace.folder) == {
        ".gitignore": FILES[".gitignore"].encode(),
        "calc.py": b"def add(a, b):\n    return b + a\n",
        "docs/README.md": FILES["README.md"].encode(),
        "pkg/new.py": b"print('new')\n",
    }
    stats = {stat.path: (stat.status, stat.added, stat.removed) for stat in applied.files}
    assert stats == {
        "calc.py": ("modified", 1, 1),
        "docs/README.md": ("renamed", 0, 0),
        "pkg/new.py": ("added", 1, 0),
        "tests/test_calc.py": ("deleted", 0, 5),
    }
    assert "-    return a + b\n+    return b + a\n" in applied.diff
    assert not (workspace.folder / "tests").exists(), "a folder without files is gone"


async def test_a_whole_file_replaces_another(workspace: Workspace) -> None:
    await workspace.apply([modify("calc.py", content="X = 1\n")])
    assert (workspace.folder / "calc.py").read_text() == "X = 1\n"


async def test_a_file_can_be_renamed_and_edited_at_once(workspace: Workspace) -> None:
    change = Change(path="calc.py", action="rename", new_path="sum.py", edits=[Edit("add", "plus")])
    await workspace.apply([change])
    assert (workspace.folder / "sum.py").read_text() == "def plus(a, b):\n    return a + b\n"


async def test_a_name_that_a_deleted_file_had_can_be_a_folder(workspace: Workspace) -> None:
    await workspace.apply([Change(path="calc.py", action="delete"), create("calc.py/__init__.py")])
    assert (workspace.folder / "calc.py" / "__init__.py").is_file()


async def test_the_bit_of_programs_is_set_kept_and_taken(workspace: Workspace) -> None:
    await workspace.apply([create("run.sh", "#!/bin/sh\n", executable=True)])
    assert os.access(workspace.folder / "run.sh", os.X_OK)
    await workspace.apply([modify("run.sh", Edit("sh", "bash"))])
    assert (workspace.folder / "run.sh").stat().st_mode & 0o111
    await workspace.apply([Change(path="run.sh", action="modify", executable=False)])
    assert not (workspace.folder / "run.sh").stat().st_mode & 0o111
    assert workspace.files["run.sh"].mode == "100644"


SENSELESS: list[tuple[Change, str]] = [
    (create("calc.py"), "exists already: modify it"),
    (create("CALC.py"), "differs from calc.py only in case"),
    (create("tests"), "a folder of this name"),
    (create("calc.py/x.py"), "is a file, not a folder"),
    (create("build/x.py"), ".gitignore leaves this path out"),
    (create("a/debug.log"), ".gitignore leaves this path out"),
    (create(".git/hooks/post-checkout", "#!/bin/sh\n"), "Git's own files"),
    (create("../outside.py"), "holds `..`"),
    (create("a.py", "x\0y"), "NUL"),
    (create("a.py", "\ud800"), "no file can hold"),
    (Change(path="a.py", action="create"), "needs its whole content"),
    (modify("nowhere.py", content="x"), "no such file"),
    (modify("Calc.py", content="x"), "there is calc.py"),
    (modify("calc.py"), "either the whole content or"),
    (modify("calc.py", Edit("a", "b"), content="x"), "either the whole content or"),
    (modify("calc.py", Edit("a - b", "b")), "nearest text is, from line 2"),
    (Change(path="nowhere.py", action="delete"), "no such file"),
    (Change(path="calc.py", action="delete", content="x"), "takes no content"),
    (Change(path="calc.py", action="rename"), "needs a new path"),
    (Change(path="calc.py", action="rename", new_path="README.md"), "exists already"),
    (Change(path="calc.py", action="rename", new_path="/etc/x"), "not relative"),
    (Change(path="calc.py", action="delete", new_path="x.py"), "Only a rename"),
]


async def test_a_change_that_makes_no_sense_is_refused(workspace: Workspace) -> None:
    for change, why in SENSELESS:
        reasons = await refused(workspace, create("good.py"), change)
        assert len(reasons) == 1, change
        assert why in reasons[0], change


async def test_every_refused_change_is_named(workspace: Workspace) -> None:
    with pytest.raises(ChangeRefusedError) as caught:
        await workspace.apply([create("../a"), create("good.py"), create("calc.py")])
    assert [(refusal.index, refusal.path) for refusal in caught.value.refusals] == [
        (0, "../a"),
        (2, "calc.py"),
    ]
    assert "create ../a" in str(caught.value)


async def test_a_file_is_named_once_in_a_set(workspace: Workspace) -> None:
    reasons = await refused(
        workspace, modify("calc.py", content="x"), Change(path="calc.py", action="delete")
    )
    assert len(reasons) == 2
    assert "more than one change" in reasons[0]


async def test_the_caps_hold_for_file_set_and_workspace(opened: Opener, user: UserRepository) -> None:
    caps = Caps(file_bytes=100, change_bytes=150, changes=3, workspace_bytes=500)
    workspace = await opened(user.folder, caps=caps)
    assert "101 bytes; 100 are allowed" in (await refused(workspace, create("a", "x" * 101)))[0]
    both = await refused(workspace, create("a", "x" * 100), create("b", "x" * 100))
    assert "writes 200 bytes; 150" in both[0]
    assert "are too many for one set" in (await refused(workspace, *(create(f"f{n}") for n in range(4))))[0]
    await workspace.apply([create(f"{n}.txt", "x" * 50) for n in range(3)])
    await workspace.apply([create(f"m{n}.txt", "x" * 50) for n in range(3)])
    assert "The workspace would have" in (await refused(workspace, create("last", "x" * 100)))[0]
    await workspace.apply([Change(path=f"m{n}.txt", action="delete") for n in range(3)])
    await workspace.apply([create("last", "x" * 100)])


async def test_the_number_of_files_is_capped_and_what_goes_makes_room(
    opened: Opener, user: UserRepository
) -> None:
    workspace = await opened(user.folder, caps=Caps(workspace_files=len(FILES) + 1))
    await workspace.apply([create("one.py")])
    reasons = await refused(workspace, create("two.py"))
    assert reasons == [f"The workspace would have {len(FILES) + 2} files; {len(FILES) + 1} are allowed."]
    await workspace.apply([Change(path="one.py", action="rename", new_path="two.py")])
    await workspace.apply([Change(path="two.py", action="delete"), create("three.py")])
    assert "three.py" in workspace.files


async def test_binary_and_odd_files_of_the_repository_stay_as_they_are(
    opened: Opener, user: UserRepository
) -> None:
    picture, old = b"\x89PNG\r\n\x1a\n\0\0\xff", "Käse\r\n".encode("latin-1")
    (user.folder / "logo.png").write_bytes(picture)
    (user.folder / "old.txt").write_bytes(old)
    (user.folder / "a.wide").write_text("wide\n", encoding="utf-16")
    user.write(
        ".gitattributes",
        "* text=auto eol=crlf\n*.png filter=lfs diff=lfs\n*.py ident\n*.wide working-tree-encoding=UTF-16\n",
    )
    user.git("-c", "filter.lfs.clean=cat", "add", "-A")
    user.git("commit", "-qm", "odd")
    workspace = await opened(user.folder)
    assert (workspace.folder / "logo.png").read_bytes() == picture
    assert (workspace.folder / "a.wide").read_bytes() == b"wide\n", "a file has the bytes of its blob"
    assert any("LFS" in warning for warning in workspace.warnings)
    await workspace.apply(
        [modify("calc.py", content="# $Id$\r\nX = 'ü'\r\n"), Change(path="logo.png", action="delete")]
    )
    await workspace.commit("Odd files")
    contents = await workspace.contents(workspace.head, ["calc.py", "logo.png"])
    assert contents == {"calc.py": "# $Id$\r\nX = 'ü'\r\n".encode()}


async def test_names_with_quotes_and_letters_of_all_kinds(workspace: Workspace, user: UserRepository) -> None:
    names = ['a"b.txt', "a'b.txt", "käse/文件.txt", "-rf.txt", "a b/c d.txt", "$(x).txt", "%s.txt"]
    await workspace.apply([create(name, f"{name}\n") for name in names])
    await workspace.commit("Names")
    listed = user.git("ls-tree", "-r", "-z", "--name-only", workspace.branch).split("\0")
    assert set(names) <= set(listed)
