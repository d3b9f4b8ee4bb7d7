"""Nothing is left running: after an end, a cancel, or the death of Podium itself."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import pytest

from podium.tools.sandbox.sandbox import Sandbox, scratch_folder, sweep_up
from tests.tools.sandbox.attack import attack, new_mark, running_with, until

SLEEP = "import time; time.sleep(300)"

WAYS = {
    "a child": "if os.fork() == 0: time.sleep(300)",
    "setsid": "if os.fork() == 0: os.setsid(); time.sleep(300)",
    "double fork": "if os.fork() == 0:\n    if os.fork() == 0: os.setsid(); time.sleep(300)\n    os._exit(0)",
    "nohup": "os.system('nohup sleep 300 >/dev/null 2>&1 &')",
    "closed output": "if os.fork() == 0: os.setsid(); os.closerange(0, 100); time.sleep(300)",
    "deaf to signals": (
        "if os.fork() == 0:\n"
        "    for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)\n"
        "    os.setsid(); time.sleep(300)"
    ),
}


@pytest.mark.parametrize("way", list(WAYS))
async def test_what_a_program_leaves_in_the_background_is_ended(
    sandbox: Sandbox, workspace: Path, way: str
) -> None:
    program = f"import os, signal, time\n{WAYS[way]}\nprint('done', flush=True)\nos._exit(3)"
    result = await attack(sandbox, workspace, program)
    assert (result.exit_code, result.stopped_by) == (3, "")
    assert "done" in result.stdout


NOISY = (
    "import os, time\n"
    "for _ in range(5):\n"
    "    if os.fork() == 0: os.setsid(); time.sleep(300)\n"
    "open('started', 'w').close()\n"
    "time.sleep(300)"
)


async def test_a_cancel_ends_everything_at_once(sandbox: Sandbox, workspace: Path) -> None:
    mark = new_mark()
    task = asyncio.ensure_future(attack(sandbox, workspace, NOISY, mark=mark))
    await until((workspace / "started").exists)
    assert len(running_with(mark)) >= 6
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert running_with(mark) == []


async def test_cancels_at_any_moment_leave_nothing(sandbox: Sandbox, workspace: Path) -> None:
    mark = new_mark()
    for number in range(12):
        task = asyncio.ensure_future(attack(sandbox, workspace, SLEEP, mark=mark))
        await asyncio.sleep(number * 0.004)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert running_with(mark) == []


async def test_no_shared_memory_is_left(sandbox: Sandbox, workspace: Path) -> None:
    """A small segment may be had where it goes with the sandbox; one that everybody could see may not."""
    key = 0x70000000 + os.getpid()
    program = f"import ctypes, time\nctypes.CDLL(None).shmget({key}, 4096, 0o1666)\ntime.sleep(0.3)"
    result = await attack(sandbox, workspace, program)
    assert result.ok, result.stderr
    assert str(key) not in segments()


def segments() -> list[str]:
    """Every word that the machine tells of shared memory of the old kind."""
    return Path("/proc/sysvipc/shm").read_text().split()


async def test_temporary_files_are_removed(
    sandbox: Sandbox, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # others use the machine's own
    program = (
        "import os\n"
        "folder = os.environ['TMPDIR'] + '/closed/inner'\n"
        "os.makedirs(folder)\n"
        "open(folder + '/file', 'w').close()\n"
        "os.chmod(folder, 0)\n"
        "os.chmod(os.path.dirname(folder), 0)"
    )
    result = await attack(sandbox, workspace, program)
    assert result.ok, result.stderr
    assert os.listdir(tmp_path) == ["workspace"]


def test_what_a_killed_podium_left_on_the_disk_goes_when_a_sandbox_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # others use the machine's own
    for name in ("podium-sandbox-old", "podium-sandbox-young", "podium-other"):
        (tmp_path / name / "tmp").mkdir(parents=True)
    with scratch_folder() as used:
        sweep_up(young=3600)
        assert len(os.listdir(tmp_path)) == 4, "it may not have its lock yet"
        sweep_up(young=0)
        assert sorted(os.listdir(tmp_path)) == ["podium-other", used.name]
        assert (used / "tmp").is_dir()


DRIVER = """
import asyncio, sys
from pathlib import Path
from podium.settings import SandboxOptions, Settings
from podium.tools.sandbox.selection import open_sandbox
tier, folder, mark, program = sys.argv[1:]
async def main():
    sandbox = await open_sandbox(Settings(sandbox=SandboxOptions(tier=tier)))
    await sandbox.run([sys.executable, "-c", program], folder=Path(folder), env={"MARK": mark})
asyncio.run(main())
"""


async def test_nothing_outlives_podium(sandbox: Sandbox, workspace: Path) -> None:
    """A hard kill of the process that drives the run."""
    mark = new_mark()
    driver = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", DRIVER, sandbox.tier, str(workspace), mark, NOISY),
        env={**os.environ, "TMPDIR": str(workspace.parent)},
    )
    try:
        await until((workspace / "started").exists)
        assert running_with(mark)
    finally:
        driver.kill()
        await driver.wait()
    await until(lambda: not running_with(mark))
