"""Run by root: programs are somebody else, who can write the workspace and nothing more."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from podium.tools.sandbox.inside.drop import exchange
from podium.tools.sandbox.sandbox import Sandbox, spare_user
from tests.tools.sandbox.attack import until

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to a spare user")


def test_two_owners_change_places_and_everybody_else_stays() -> None:
    lines = [tuple(map(int, line.split())) for line in exchange(1000, 50).splitlines()]

    def mapped(identity: int) -> int:
        return next(
            out + identity - first for first, out, count in lines if first <= identity < first + count
        )

    assert [mapped(identity) for identity in (0, 49, 50, 51, 999, 1000, 1001)] == [
        0,
        49,
        1000,
        51,
        999,
        50,
        1001,
    ]
    assert exchange(0, 1).splitlines()[:2] == ["0 1 1", "1 0 1"]


@as_root
def test_each_execution_has_another_spare_user() -> None:
    with ExitStack() as executions:
        assert len({executions.enter_context(spare_user()) for _ in range(20)}) == 20


@as_root
def test_two_processes_never_share_a_spare_user() -> None:
    """The end of an execution kills every process of its uid, so sharing one would lose work."""
    program = (
        "import sys\nfrom podium.tools.sandbox.sandbox import spare_user\n"
        "with spare_user(7) as user:\n    print(user, flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        taken = int(other.stdout.readline())
        with spare_user(7) as here, spare_user(7) as again:
            assert (here, again) == (taken + 1, taken + 2)
        other.communicate()
    with spare_user(7) as free:
        assert free == taken


@as_root
async def test_a_program_is_not_root_outside(sandbox: Sandbox, workspace: Path) -> None:
    task = asyncio.ensure_future(sandbox.run(["sleep", "300"], folder=workspace))
    try:
        await until(lambda: sleeping_below(os.getpid()))
        assert all(user >= 58_000 for user in sleeping_below(os.getpid()))
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def sleeping_below(root: int) -> list[int]:
    """The user ids of processes named `sleep` that descend from this one."""
    pids: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text() == "sleep\n" and _descends(int(folder.name), root):
                pids.append(folder.stat().st_uid)
        except OSError:  # it has just ended
            continue
    return pids


def _descends(pid: int, root: int) -> bool:
    while pid > 1 and pid != root:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return pid == root


@as_root
async def test_a_workspace_of_another_user_stays_theirs(sandbox: Sandbox, workspace: Path) -> None:
    (workspace / "old").write_text("x")
    for path in (workspace, workspace / "old"):
        os.chown(path, 1234, 1235)
    result = await sandbox.run(["sh", "-c", "echo y >> old; echo z > new"], folder=workspace)
    assert result.ok, result.stderr
    owners = {name: os.stat(workspace / name) for name in ("old", "new")}
    assert {(owner.st_uid, owner.st_gid) for owner in owners.values()} == {(1234, 1235)}


@pytest.fixture
def open_folder() -> Generator[Path]:
    """A folder that everybody may enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="podium-open-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


LENT = """
import asyncio, sys
from pathlib import Path
from podium.tools.sandbox.landlock import Landlock
from podium.tools.sandbox.sandbox import Sandbox
async def main():
    sandbox = Sandbox(Landlock(), "")
    command = (
        "id -u; stat -c %u . own; echo changed > own; echo x > shared; mkdir deep; echo z > deep/new;"
        "ln deep/new deep/other;"
        "touch $TMPDIR/file $HOME/file && echo temporary"
    )
    done = await sandbox.run(["sh", "-c", command], folder=Path(sys.argv[1]))
    print(done.stdout, done.stderr)
asyncio.run(main())
"""


@as_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
async def test_where_root_may_not_mount_the_workspace_is_lent_and_given_back(open_folder: Path) -> None:
    """A container's root, who lacks CAP_SYS_ADMIN. A file with a second name outside is not lent."""
    workspace, tmp_path = open_folder / "workspace", open_folder
    workspace.mkdir()
    (workspace / "own").write_text("own")
    (tmp_path / "outside").write_text("outside")
    os.link(tmp_path / "outside", workspace / "shared")
    driver = await asyncio.create_subprocess_exec(
        *("setpriv", "--bounding-set", "-sys_admin", sys.executable, "-c", LENT, str(workspace)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out = (await driver.communicate())[0].decode()
    user, folder_owner, owner = out.split()[:3]
    assert user == folder_owner == owner != "0", out
    assert "temporary" in out
    assert (workspace / "own").read_text() == "changed\n"
    assert (tmp_path / "outside").read_text() == "outside"
    infos = [os.stat(path) for path in (workspace, *workspace.rglob("*"))]
    assert {info.st_uid for info in infos} == {0}
