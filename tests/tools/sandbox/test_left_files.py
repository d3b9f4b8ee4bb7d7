"""Dangerous files that a program leaves: they are made safe, and the caller is told."""

from __future__ import annotations

import os
import re
import shutil
import stat
import struct
from pathlib import Path

import pytest

from podium.settings import SandboxOptions, Settings
from podium.tools.openat_walk import MAX_DEPTH
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.selection import open_sandbox
from podium.tools.sandbox.tier import SandboxLimits
from tests.tools.sandbox.attack import attack

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make such files")

SET_ID = {
    "chmod": "make(); os.chmod('planted', 0o6755)",
    "setgid alone": "make(); os.chmod('planted', 0o2755)",
    "fchmod": "os.fchmod(os.open('planted', os.O_CREAT | os.O_WRONLY), 0o4755)",
    "fchmodat": "make(); os.chmod('planted', 0o4755, dir_fd=os.open('.', os.O_RDONLY))",
    "open": "os.open('planted', os.O_CREAT | os.O_WRONLY, 0o4755)",
    "unnamed": "os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755)",
    "mknod": "os.mknod('planted', stat.S_IFREG | 0o4755)",
    "fchmodat2": "make(); call(452, -100, b'planted', 0o4755, 0)",
    "openat2": "call(437, -100, b'planted', struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24)",
    "folder": "os.mkdir('planted'); os.chmod('planted', 0o2755)",
}
PRELUDE = """
import ctypes, os, stat, struct, sys
def make(): open('planted', 'w').close()
def call(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number), *arguments) < 0:
        raise OSError(ctypes.get_errno(), 'refused')
"""


@pytest.fixture
async def unsandboxed() -> Sandbox:
    """No sandbox at all, as `--allow-unsandboxed` gives it where none works."""
    nowhere = SandboxOptions(tier="bubblewrap", bubblewrap="/nowhere/bwrap")
    return await open_sandbox(Settings(sandbox=nowhere), allow_unsandboxed=True)


def depth_of(folder: Path) -> int:
    """Levels of folders and files below a folder."""
    return max((len(path.relative_to(folder).parts) for path in folder.rglob("*")), default=0)


def set_id_files(folder: Path) -> list[str]:
    every = [folder, *folder.rglob("*")]
    return [str(path) for path in every if path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID)]


@pytest.mark.parametrize("way", SET_ID)
async def test_no_call_sets_a_setuid_or_setgid_bit(sandbox: Sandbox, workspace: Path, way: str) -> None:
    program = (
        PRELUDE + f"try:\n    {SET_ID[way]}\n    print('done')\nexcept OSError as error: print(error.errno)"
    )
    result = await attack(sandbox, workspace, program)
    assert result.stdout in ("1\n", "38\n"), result  # EPERM, or ENOSYS for a call that a filter cannot check
    assert set_id_files(workspace) == []


async def test_a_copy_of_a_shell_does_not_become_setuid(sandbox: Sandbox, workspace: Path) -> None:
    result = await sandbox.run(
        ["sh", "-c", "cp /bin/sh s; chmod 6755 s; chmod 755 s; ls s"], folder=workspace
    )
    assert (result.stdout, set_id_files(workspace)) == ("s\n", [])
    assert "not permitted" in result.stderr


async def test_other_modes_can_still_be_set(sandbox: Sandbox, workspace: Path) -> None:
    program = (
        "import os\nos.close(os.open('made', os.O_CREAT | os.O_WRONLY, 0o750))\n"
        "os.fchmod(os.open('made', os.O_RDWR), 0o740)"
    )
    result = await attack(sandbox, workspace, program)
    assert (result.exit_code, result.warnings) == (0, ()), result.stderr
    assert stat.S_IMODE((workspace / "made").stat().st_mode) == 0o740


async def test_set_id_bits_that_nothing_prevented_are_removed_and_reported(
    unsandboxed: Sandbox, workspace: Path
) -> None:
    program = PRELUDE + "make(); os.chmod('planted', 0o6755); os.mkdir('sub'); os.chmod('sub', 0o2755)"
    result = await attack(unsandboxed, workspace, program)
    assert len(result.warnings) == 1
    assert result.warnings[0].startswith("The setuid or setgid bit was removed from ")
    assert {"planted", "sub"} == set(re.findall("planted|sub", result.warnings[0]))
    assert set_id_files(workspace) == []
    assert stat.S_IMODE((workspace / "planted").stat().st_mode) == 0o755


async def test_bits_that_were_there_before_are_removed_before_a_program_can_use_them(
    sandbox: Sandbox, workspace: Path
) -> None:
    """A shared mapping can be written without the kernel clearing the bit."""
    shutil.copy("/bin/true", workspace / "old")
    os.chmod(workspace / "old", 0o4755)
    result = await attack(sandbox, workspace, "import os; print(oct(os.stat('old').st_mode))")
    assert result.stdout == "0o100755\n"
    assert result.warnings == ("The setuid or setgid bit was removed from old.",)


async def test_a_folder_that_hands_its_group_on_keeps_doing_so(sandbox: Sandbox, workspace: Path) -> None:
    os.chmod(workspace, 0o2755)
    result = await sandbox.run(["mkdir", "sub"], folder=workspace)
    assert (result.exit_code, result.warnings) == (0, ())
    assert set_id_files(workspace) == [str(workspace), str(workspace / "sub")]


@as_root
async def test_capabilities_and_access_lists_of_files_are_removed(
    unsandboxed: Sandbox, workspace: Path
) -> None:
    capability = struct.pack("<IIIII", 0x0200_0001, 1 << 7, 0, 0, 0)  # cap_setuid, effective
    program = (
        "import os\nopen('planted', 'w').close()\n"
        f"os.setxattr('planted', 'security.capability', {capability!r})"
    )
    result = await attack(unsandboxed, workspace, program)
    assert result.ok, result.stderr
    assert result.warnings == ("Capabilities or access lists were removed from planted.",)
    assert "security.capability" not in os.listxattr(workspace / "planted")


async def test_extended_attributes_look_unsupported_in_the_sandbox(sandbox: Sandbox, workspace: Path) -> None:
    program = (
        "import os\nfile = open('made', 'w')\n"
        "for place in ('made', file.fileno()):\n"
        "    try: os.setxattr(place, 'user.x', b'1')\n"
        "    except OSError as error: print(error.errno)"
    )
    result = await attack(sandbox, workspace, program)
    assert result.stdout == "95\n95\n"
    assert os.listxattr(workspace / "made") == []


SPECIAL = {
    "pipe": "os.mkfifo('planted')",
    "socket": "import socket; socket.socket(socket.AF_UNIX).bind('planted')",
    "whiteout": "os.mknod('planted', stat.S_IFCHR | 0o600, 0)",
}


@pytest.mark.parametrize("kind", SPECIAL)
async def test_pipes_sockets_and_devices_do_not_stay(sandbox: Sandbox, workspace: Path, kind: str) -> None:
    result = await attack(sandbox, workspace, PRELUDE + SPECIAL[kind])
    if kind == "pipe" or sandbox.tier == "bubblewrap":  # the other tier allows neither
        assert result.ok, result.stderr
        assert result.warnings == (
            "Pipes, sockets or device files that a program left were removed: planted.",
        )
    assert os.listdir(workspace) == []


async def test_what_every_user_could_write_is_closed_to_others(unsandboxed: Sandbox, workspace: Path) -> None:
    (workspace / "users").mkdir()
    os.chmod(workspace / "users", 0o1777)
    program = PRELUDE + "make(); os.chmod('planted', 0o666); os.mkdir('sub'); os.chmod('sub', 0o1777)"
    result = await attack(unsandboxed, workspace, program)
    modes = {name: stat.S_IMODE(os.stat(workspace / name).st_mode) for name in os.listdir(workspace)}
    assert modes == {"users": 0o1777, "planted": 0o664, "sub": 0o1775}, "what was open before stays open"
    assert [text.split(" from ")[0] for text in result.warnings] == [
        "The right of every user to write was removed"
    ]


async def test_a_closed_folder_is_opened_again(unsandboxed: Sandbox, workspace: Path) -> None:
    result = await attack(unsandboxed, workspace, PRELUDE + "os.makedirs('a/b'); os.chmod('a', 0)")
    assert result.warnings == ("Folders that a program had closed to their owner were opened: a.",)
    assert stat.S_IMODE((workspace / "a").stat().st_mode) == 0o700


NESTED = "import os\nfor _ in range(3000):\n    os.mkdir('d'); os.chdir('d')\nopen('end', 'w').close()"


async def test_endlessly_nested_folders_are_cut(sandbox: Sandbox, workspace: Path) -> None:
    result = await attack(sandbox, workspace, NESTED)
    assert result.ok, result.stderr
    assert result.warnings[0].startswith(f"Folders nested deeper than {MAX_DEPTH} levels were removed")
    assert 0 < depth_of(workspace) <= MAX_DEPTH + 1


async def test_endlessly_nested_temporary_folders_are_removed(
    sandbox: Sandbox, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # others use the machine's own
    result = await attack(sandbox, workspace, "import os\nos.chdir(os.environ['TMPDIR'])\n" + NESTED)
    assert (result.exit_code, result.warnings) == (0, ())
    assert os.listdir(tmp_path) == ["workspace"]


async def test_nested_folders_do_not_hide_what_fills_the_disk(sandbox: Sandbox, workspace: Path) -> None:
    program = NESTED + "\nopen('large', 'wb').write(b'x' * 400_000_000)\nimport time; time.sleep(300)"
    result = await attack(
        sandbox, workspace, program, limits=SandboxLimits(seconds=60, workspace_bytes=100_000_000)
    )
    assert result.stopped_by == "workspace"


async def test_a_hard_link_to_a_file_outside_becomes_a_copy(
    sandbox: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("outside")
    os.chmod(tmp_path / "outside", 0o4644)
    os.link(tmp_path / "outside", workspace / "linked")
    result = await sandbox.run(["sh", "-c", "echo changed > linked; chmod 600 linked"], folder=workspace)
    assert result.ok, result.stderr
    assert result.warnings == ("Hard links to files outside the workspace were replaced by copies: linked.",)
    assert (workspace / "linked").read_text() == "changed\n"
    info = (tmp_path / "outside").stat()
    assert ((tmp_path / "outside").read_text(), stat.S_IMODE(info.st_mode)) == ("outside", 0o4644)


async def test_hard_links_within_the_workspace_stay(sandbox: Sandbox, workspace: Path) -> None:
    command = "echo x > one; ln one two; ln one $TMPDIR/three 2>/dev/null; true"
    result = await sandbox.run(["sh", "-c", command], folder=workspace)
    assert (result.exit_code, result.warnings) == (0, ())
    assert (workspace / "one").stat().st_ino == (workspace / "two").stat().st_ino


async def test_a_new_hard_link_to_a_file_outside_is_broken(
    unsandboxed: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("outside")
    result = await attack(
        unsandboxed, workspace, f"import os; os.link({str(tmp_path / 'outside')!r}, 'linked')"
    )
    assert result.warnings == ("Hard links to files outside the workspace were replaced by copies: linked.",)
    assert (tmp_path / "outside").stat().st_nlink == 1


@as_root
async def test_flags_that_forbid_changes_cannot_be_set(sandbox: Sandbox, workspace: Path) -> None:
    program = (
        "import fcntl, struct\nfile = open('made', 'w')\n"
        "for request in (0x40086602, 0x401C5820):\n"
        "    try: fcntl.ioctl(file, request, struct.pack('7l', 0x40, 0, 0, 0, 0, 0, 0))\n"
        "    except OSError as error: print(error.errno)"
    )
    result = await attack(sandbox, workspace, program)
    assert result.stdout == "1\n1\n", result.stderr


async def test_odd_names_are_reported_in_one_line(sandbox: Sandbox, workspace: Path) -> None:
    program = "import os\nos.mkfifo(b'a\\nb\\xff')"
    result = await attack(sandbox, workspace, program)
    expected = r"Pipes, sockets or device files that a program left were removed: a\nb\udcff."
    assert result.warnings == (expected,)


async def test_a_cancelled_program_leaves_nothing_dangerous(unsandboxed: Sandbox, workspace: Path) -> None:
    """Stopped by a limit while it runs on: the folders are made safe all the same."""
    program = PRELUDE + "make(); os.chmod('planted', 0o4755)\nimport time; time.sleep(300)"
    result = await attack(unsandboxed, workspace, program, limits=SandboxLimits(seconds=1))
    assert result.stopped_by == "time"
    assert set_id_files(workspace) == []
    assert result.warnings == ("The setuid or setgid bit was removed from planted.",)
