"""Commands of a coder: what they change is recorded, everything else is removed."""

from __future__ import annotations

import os
import stat
import venv
from pathlib import Path

import msgspec
import pytest

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.tool import ToolError
from podium.tools.workspace.change import Caps, FileStat
from podium.tools.workspace.commands import MAX_COMMAND_OUTPUT, CommandResult, run_command
from podium.tools.workspace.workspace import Workspace
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.test_changes import contents
from tests.tools.workspace.users import FILES, UserRepository

BEFORE = {path: text.encode() for path, text in FILES.items()}


async def run(workspace: Workspace, sandbox: Sandbox, command: str, seconds: float = 60) -> CommandResult:
    result = await run_command(workspace, sandbox, command, seconds=seconds)
    assert result.snapshot == workspace.state
    return result


def changed(files: list[FileStat]) -> dict[str, str]:
    return {file.path: file.status for file in files}


async def test_changes_of_a_command_are_a_snapshot(
    workspace: Workspace, sandbox: Sandbox, opened: Opener, user: UserRepository
) -> None:
    before = workspace.state
    command = (
        "mkdir -p pkg && printf 'x = 1\\n' > pkg/new.py && sed -i 's/a + b/b + a/' calc.py && "
        "rm tests/test_calc.py && mv README.md GUIDE.md && printf '\\000\\001' > data.bin && "
        "printf '#!/bin/sh\\n' > run.sh && chmod +x run.sh && echo done && exit 3"
    )
    result = await run(workspace, sandbox, command)
    assert (result.exit_code, result.output, result.stopped_by, result.warnings) == (3, "done\n", "", [])
    assert result.snapshot != before
    assert changed(result.files) == {
        "pkg/new.py": "added",
        "calc.py": "modified",
        "tests/test_calc.py": "deleted",
        "GUIDE.md": "renamed",
        "data.bin": "added",
        "run.sh": "added",
    }
    assert "+    return b + a" in result.diff
    after = contents(workspace.folder)
    assert after["pkg/new.py"] == b"x = 1\n"
    assert after["data.bin"] == b"\0\1"
    assert workspace.files["run.sh"].mode == "100755"
    assert os.access(workspace.folder / "run.sh", os.X_OK)
    again = await opened(user.folder)
    assert again.state == result.snapshot
    assert contents(again.folder) == after
    await again.restore(before)
    assert contents(again.folder) == BEFORE


async def test_a_command_without_changes_makes_no_snapshot(workspace: Workspace, sandbox: Sandbox) -> None:
    before = workspace.state
    result = await run(workspace, sandbox, "cat calc.py; touch README.md; chmod 600 calc.py; echo wrong >&2")
    assert (result.snapshot, result.files, result.diff, result.warnings) == (before, [], "", [])
    assert result.output == FILES["calc.py"] + "wrong\n"


async def test_only_the_executable_bit_changes(workspace: Workspace, sandbox: Sandbox) -> None:
    result = await run(workspace, sandbox, "chmod +x calc.py")
    assert changed(result.files) == {"calc.py": "modified"}
    assert workspace.files["calc.py"].mode == "100755"
    await run(workspace, sandbox, "chmod 644 calc.py")
    assert workspace.files["calc.py"].mode == "100644"


async def test_ignored_files_are_not_kept_and_gone(workspace: Workspace, sandbox: Sandbox) -> None:
    command = (
        "mkdir build __pycache__ && echo x > build/out && echo y > a.log && echo z > __pycache__/a.pyc; "
        "echo k > kept"
    )
    result = await run(workspace, sandbox, command)
    assert changed(result.files) == {"kept": "added"}
    assert contents(workspace.folder) == {**BEFORE, "kept": b"k\n"}
    assert result.warnings == [
        "Not kept: __pycache__. Folders that tools generate are not part of the project.",
        "Not kept: a.log, build/out. The .gitignore files leave them out.",
    ]


async def test_a_file_becomes_a_folder_and_a_folder_a_file(workspace: Workspace, sandbox: Sandbox) -> None:
    result = await run(
        workspace, sandbox, "rm calc.py; mkdir calc.py; echo 1 > calc.py/x; rm -r tests; echo 2 > tests"
    )
    assert result.warnings == []
    files = contents(workspace.folder)
    assert (files["calc.py/x"], files["tests"]) == (b"1\n", b"2\n")
    assert set(workspace.files) == set(files)


async def test_what_is_too_large_is_refused_and_the_rest_kept(workspace: Workspace, sandbox: Sandbox) -> None:
    result = await run(workspace, sandbox, "head -c 1000001 /dev/zero > big; cp big calc.py; echo x > small")
    assert changed(result.files) == {"small": "added"}
    assert result.warnings == ["Not kept: big, calc.py. A file may have 1,000,000 bytes at most."]
    assert contents(workspace.folder) == {**BEFORE, "small": b"x\n"}


async def test_a_large_file_can_be_renamed(opened: Opener, user: UserRepository, sandbox: Sandbox) -> None:
    user.write("big.txt", "x" * 1_500_000)
    user.commit("Large")
    workspace = await opened(user.folder)
    result = await run(workspace, sandbox, "mv big.txt moved.txt")
    assert (changed(result.files), result.warnings) == ({"moved.txt": "renamed"}, [])


async def test_too_many_changes_are_refused_together(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    workspace = await opened(user.folder, caps=Caps(changes=5, change_bytes=1_000))
    result = await run(workspace, sandbox, "for i in 1 2 3 4 5 6; do echo $i > f$i; done; rm calc.py")
    assert (result.files, contents(workspace.folder)) == ([], BEFORE)
    assert result.warnings == [
        "None of the changes were kept. More than 5 files were written, which is the limit for one set."
    ]
    result = await run(workspace, sandbox, "head -c 2000 /dev/zero > f")
    assert "More than 1,000 bytes" in result.warnings[0]
    assert contents(workspace.folder) == BEFORE


async def test_links_are_kept_only_inside_the_tree(workspace: Workspace, sandbox: Sandbox) -> None:
    command = (
        "ln -s calc.py inside; ln -s ../calc.py tests/up; ln -s tests folder; ln -s /etc/passwd outside; "
        "ln -s ../../secret above; ln -s nowhere dangling; ln -s tests/../../x sideways; "
        "ln -s .git/config git; "
        "ln -s above/x chain; rm README.md; ln -s /etc/passwd README.md"
    )
    result = await run(workspace, sandbox, command)
    assert changed(result.files) == {"inside": "added", "tests/up": "added", "folder": "added"}
    assert {workspace.files[path].mode for path in changed(result.files)} == {"120000"}
    [warning] = result.warnings
    assert warning.endswith("Only links to files of the project, with a relative target, are kept.")
    assert os.readlink(workspace.folder / "tests" / "up") == "../calc.py"
    assert (workspace.folder / "README.md").read_text() == FILES["README.md"]
    assert not (workspace.folder / "outside").is_symlink()


async def test_planted_repositories_and_special_files_do_nothing(
    workspace: Workspace, sandbox: Sandbox, tmp_path: Path
) -> None:
    proof = tmp_path / "proof"
    program = f"#!/bin/sh\\ntouch {proof}\\n"
    command = (
        "mkdir -p .git/hooks sub/.git '.GIT ' && "
        f"printf '[core]\\n\\tfsmonitor = touch {proof}\\n\\thooksPath = .git/hooks\\n' > .git/config; "
        "cp .git/config sub/.git/config; for hook in post-checkout pre-commit reference-transaction; "
        f"do printf '{program}' > .git/hooks/$hook; done; "
        "chmod +x .git/hooks/*; echo 'gitdir: /etc' > tests/.git; echo '* filter=evil' > .gitattributes; "
        "mkfifo pipe; rm .gitignore; mkfifo .gitignore; mknod device c 1 5; echo x > sub/good; "
        "chmod 4755 calc.py; "
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('sock')\"; true"
    )
    result = await run(workspace, sandbox, command)
    assert not proof.exists()
    assert changed(result.files) == {
        ".gitattributes": "added",
        "sub/good": "added",
        ".gitignore": "deleted",
    }
    assert set(contents(workspace.folder)) == {
        ".gitattributes",
        "sub/good",
        "README.md",
        "calc.py",
        "tests/test_calc.py",
    }
    assert not stat.S_IMODE((workspace.folder / "calc.py").stat().st_mode) & 0o6000
    assert not [
        path for path in workspace.folder.rglob("*") if ".git" in path.name and path.name != ".gitattributes"
    ]
    text = " ".join(result.warnings)
    assert "Git's own files cannot be changed." in text
    assert "Pipes, sockets or device files that a program left were removed" in text
    assert await workspace.commit("Safe")
    await workspace.diff()
    assert not proof.exists()


async def test_names_that_not_every_system_can_hold_are_refused(
    workspace: Workspace, sandbox: Sandbox
) -> None:
    command = (
        "echo 1 > 'a:b'; echo 2 > CALC.py; echo 3 > \"$(printf 'x\\377')\"; echo 4 > .gitmodules; "
        "echo 5 > fine"
    )
    result = await run(workspace, sandbox, command)
    assert changed(result.files) == {"fine": "added"}
    assert len(result.warnings) == 4


async def test_hard_links_and_closed_files_are_plain_afterwards(
    workspace: Workspace, sandbox: Sandbox
) -> None:
    result = await run(
        workspace,
        sandbox,
        "ln calc.py same.py; mkdir shut; echo x > shut/f; chmod 0 shut; chmod 777 README.md",
    )
    files = contents(workspace.folder)
    assert files["same.py"] == files["calc.py"]
    assert files["shut/f"] == b"x\n"
    assert changed(result.files) == {"same.py": "added", "shut/f": "added", "README.md": "modified"}


async def test_a_submodule_is_left_alone(opened: Opener, user: UserRepository, sandbox: Sandbox) -> None:
    user.git("update-index", "--add", "--cacheinfo", f"160000,{user.head},lib")
    user.git("commit", "-q", "-m", "Submodule")
    workspace = await opened(user.folder)
    quiet = await run(workspace, sandbox, "rmdir lib; echo x > a")
    assert (changed(quiet.files), quiet.warnings) == ({"a": "added"}, [])
    result = await run(workspace, sandbox, "echo x > lib/file")
    assert result.files == []
    assert result.warnings == ["Not kept: lib/file. Files of a submodule belong to another repository."]


async def test_the_projects_interpreter_and_packages_are_used(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    venv.create(user.folder / ".venv", with_pip=False, symlinks=True)
    user.write("node_modules/.bin/tiny", "#!/bin/sh\necho tiny\n").chmod(0o755)
    user.write(".gitignore", "node_modules/\n.venv/\n")
    user.write("src/mine.py", "VALUE = 1\n")
    user.commit("Ready")
    workspace = await opened(user.folder)
    command = "python -c 'import sys, mine; print(sys.prefix, mine.VALUE)'; tiny; "
    command += "echo x > node_modules/x; echo $VIRTUAL_ENV"
    result = await run(workspace, sandbox, command)
    place = str(user.folder / ".venv")
    lines = result.output.splitlines()
    assert (lines[0], lines[1], lines[-1]) == (f"{place} 1", "tiny", place)
    assert (result.files, result.warnings) == ([], [])
    assert not (workspace.folder / "node_modules").exists()
    assert not (user.folder / "node_modules" / "x").exists()


async def test_pytest_runs_as_in_the_tests(workspace: Workspace, sandbox: Sandbox) -> None:
    result = await run(workspace, sandbox, "python -m pytest -q")
    assert result.exit_code == 0, result.output
    assert "1 passed" in result.output
    assert (result.files, result.warnings) == ([], [])


async def test_a_project_below_the_root(opened: Opener, user: UserRepository, sandbox: Sandbox) -> None:
    workspace = await opened(user.folder / "tests")
    result = await run(workspace, sandbox, "basename $PWD; echo x > here")
    assert (result.output, changed(result.files)) == ("tests\n", {"tests/here": "added"})


async def test_long_output_keeps_both_ends_and_says_how_to_see_the_rest(
    workspace: Workspace, sandbox: Sandbox
) -> None:
    result = await run(workspace, sandbox, "seq 1 100000")
    assert len(result.output) <= MAX_COMMAND_OUTPUT
    assert result.output.startswith("1\n2\n")
    assert result.output.endswith("\n99999\n100000\n")
    assert "characters left out here: run it again with" in result.output
    whole = await run(workspace, sandbox, "seq 1 30000")
    assert whole.output == "".join(f"{number}\n" for number in range(1, 30_001))


async def test_limits_end_a_command_and_what_it_wrote_before_is_kept(
    workspace: Workspace, sandbox: Sandbox
) -> None:
    late = await run(workspace, sandbox, "echo x > early; sleep 300", seconds=2)
    assert (late.timed_out, late.stopped_by, late.exit_code) == (True, "time", 137)
    assert changed(late.files) == {"early": "added"}
    loud = await run(workspace, sandbox, "yes")
    assert loud.stopped_by == "output"
    assert len(loud.output) <= MAX_COMMAND_OUTPUT


async def test_a_command_that_fills_the_disk_leaves_nothing(workspace: Workspace, sandbox: Sandbox) -> None:
    few = msgspec.structs.replace(sandbox.limits, files=20)
    narrow = Sandbox(sandbox._tier, sandbox.reason, limits=few)  # pyright: ignore[reportPrivateUsage]
    result = await run(workspace, narrow, "for i in $(seq 50); do echo $i > f$i; done")
    assert (result.stopped_by, result.files) == ("files", [])
    assert "exceeded the limit of files" in result.warnings[-1]
    assert contents(workspace.folder) == BEFORE


@pytest.mark.parametrize("command", ["", " \n", "echo \0", "echo \ud800", "x" * 60_000])
async def test_what_is_no_command_is_refused(workspace: Workspace, sandbox: Sandbox, command: str) -> None:
    with pytest.raises(ToolError):
        await run_command(workspace, sandbox, command, seconds=5)


async def test_a_command_is_passed_on_exactly(workspace: Workspace, sandbox: Sandbox) -> None:
    result = await run(workspace, sandbox, "echo \"it's\" '$HOME' \\\n  `echo sub` \u00e9; wrong(")
    assert result.exit_code == 2
    assert "Syntax error" in result.output
    good = await run(workspace, sandbox, "echo \"it's\" '$HOME' \\\n  `echo sub` \u00e9")
    assert good.output == "it's $HOME sub \u00e9\n"


async def test_endlessly_nested_folders_are_cut(workspace: Workspace, sandbox: Sandbox) -> None:
    program = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\nopen('end', 'w').close()"
    result = await run(workspace, sandbox, f'python3 -c "{program}"; echo x > kept')
    assert changed(result.files) == {"kept": "added"}
    assert contents(workspace.folder) == {**BEFORE, "kept": b"x\n"}
    assert {path.name for path in workspace.folder.iterdir()} == {
        ".gitignore",
        "README.md",
        "calc.py",
        "kept",
        "tests",
    }


async def test_what_lies_in_the_tree_before_a_command_is_not_seen_by_it(
    workspace: Workspace, sandbox: Sandbox
) -> None:
    os.mkfifo(workspace.folder / "pipe")
    (workspace.folder / "planted.py").write_text("x = 1\n")
    (workspace.folder / "calc.py").write_text("changed\n")
    result = await run(workspace, sandbox, "ls; cat calc.py")
    assert result.output == "README.md\ncalc.py\ntests\n" + FILES["calc.py"]
    assert result.files == []
