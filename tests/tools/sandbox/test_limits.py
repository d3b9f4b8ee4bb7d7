"""What a program may use: each limit stops it, says so, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest

from podium.errors import SandboxUnavailableError
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.tier import SandboxLimits
from tests.tools.sandbox.attack import attack, until

MB = 1_000_000


async def test_an_endless_loop_is_stopped(sandbox: Sandbox, workspace: Path) -> None:
    program = (
        "import signal\n"
        "for number in range(1, 32):\n"
        "    try: signal.signal(number, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "print('started', flush=True)\n"
        "while True: pass"
    )
    result = await attack(sandbox, workspace, program, limits=SandboxLimits(seconds=1))
    assert (result.stopped_by, result.exit_code, result.stdout) == ("time", 137, "started\n")


async def test_cpu_time_is_limited_too(sandbox: Sandbox, workspace: Path) -> None:
    result = await attack(
        sandbox, workspace, "while True: pass", limits=SandboxLimits(seconds=60, cpu_seconds=1)
    )
    assert result.stopped_by == "time"


FORKS = (
    "import os, time\n"
    "for _ in range({count}):\n"
    "    try:\n"
    "        if os.fork() == 0:\n"
    "            time.sleep(300); os._exit(0)\n"
    "    except OSError: break\n"
    "time.sleep(300)"
)


async def test_too_many_forks_are_stopped(sandbox: Sandbox, workspace: Path) -> None:
    result = await attack(
        sandbox, workspace, FORKS.format(count=62), limits=SandboxLimits(seconds=60, processes=40)
    )
    assert result.stopped_by == "processes"


async def test_a_fork_bomb_is_stopped(sandbox: Sandbox, workspace: Path) -> None:
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    result = await attack(sandbox, workspace, bomb, limits=SandboxLimits(seconds=60, processes=64))
    assert result.stopped_by == "processes"


async def test_threads_count_as_processes(sandbox: Sandbox, workspace: Path) -> None:
    program = (
        "import threading, time\n"
        "for _ in range(60): threading.Thread(target=time.sleep, args=(300,)).start()\n"
        "time.sleep(300)"
    )
    result = await attack(sandbox, workspace, program, limits=SandboxLimits(seconds=60, processes=40))
    assert result.stopped_by == "processes"


async def test_fewer_processes_than_allowed_are_let_be(sandbox: Sandbox, workspace: Path) -> None:
    program = (
        "import os, time\n"
        "for _ in range(30):\n"
        "    if os.fork() == 0: time.sleep(0.5); os._exit(0)\n"
        "for _ in range(30): os.wait()\n"
        "print('all')"
    )
    result = await attack(sandbox, workspace, program, limits=SandboxLimits(seconds=60, processes=40))
    assert (result.stdout, result.stopped_by) == ("all\n", "")


async def test_four_gigabytes_bit_by_bit_are_stopped(sandbox: Sandbox, workspace: Path) -> None:
    program = "kept = []\nfor _ in range(400): kept.append(b'x' * 10_000_000)\nprint('got them')"
    result = await attack(
        sandbox, workspace, program, limits=SandboxLimits(seconds=60, memory_bytes=300 * MB)
    )
    assert "got them" not in result.stdout
    assert result.stopped_by == "memory" or "MemoryError" in result.stderr


async def test_four_gigabytes_at_once_are_not_given(sandbox: Sandbox, workspace: Path) -> None:
    result = await attack(
        sandbox,
        workspace,
        "bytearray(4_000_000_000)",
        limits=SandboxLimits(seconds=60, memory_bytes=300 * MB),
    )
    assert "MemoryError" in result.stderr
    assert result.exit_code == 1


async def test_the_memory_of_all_processes_counts(sandbox: Sandbox, workspace: Path) -> None:
    program = (
        "import os, time\n"
        "for _ in range(6):\n"
        "    if os.fork() == 0: kept = b'x' * 80_000_000; time.sleep(300)\n"
        "time.sleep(300)"
    )
    result = await attack(
        sandbox, workspace, program, limits=SandboxLimits(seconds=60, memory_bytes=300 * MB)
    )
    assert result.stopped_by == "memory"


async def test_four_gigabytes_of_many_processes_together_are_stopped(
    sandbox: Sandbox, workspace: Path
) -> None:
    """Each of them alone stays below what the kernel would refuse."""
    program = (
        "import os, time\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        kept = [b'x' * 10_000_000 for _ in range(50)]\n"
        "        print('got them', flush=True); time.sleep(300)\n"
        "time.sleep(300)"
    )
    result = await attack(
        sandbox, workspace, program, limits=SandboxLimits(seconds=60, memory_bytes=300 * MB)
    )
    assert result.stopped_by == "memory"
    assert result.stdout.count("got them") < 8


HIDDEN_MEMORY = {
    "files in memory": "os.memfd_create('x')",
    "segments": "CALLS.shmget(0, 100_000_000, 0o1600)",
    "segments whose size is in the upper half": "CALLS.shmget(0, ctypes.c_size_t(1 << 32), 0o1600)",
    "semaphores": "CALLS.semget(0, 30_000, 0o1600)",
    "messages": "CALLS.msgget(0, 0o1600)",
}


@pytest.mark.parametrize("kind", HIDDEN_MEMORY)
async def test_memory_that_belongs_to_no_process_is_not_given(
    sandbox: Sandbox, workspace: Path, kind: str
) -> None:
    program = (
        "import ctypes, os, time\nCALLS = ctypes.CDLL(None)\ntime.sleep(0.3)\n"
        f"try: got = {HIDDEN_MEMORY[kind]}\n"
        "except OSError: got = -1\n"
        "print('got', got)"
    )
    result = await attack(sandbox, workspace, program)
    assert result.stdout == "got -1\n", result.stderr


async def test_shared_memory_that_was_let_go_of_still_counts(sandbox: Sandbox, workspace: Path) -> None:
    """It is in no process any more, and comes back as soon as one looks at it."""
    program = (
        "import mmap, time\n"
        "kept = mmap.mmap(-1, 600_000_000)\n"
        "for _ in range(6):\n"
        "    kept.write(b'x' * 100_000_000); kept.madvise(mmap.MADV_DONTNEED)\n"
        "time.sleep(300)"
    )
    result = await attack(
        sandbox, workspace, program, limits=SandboxLimits(seconds=60, memory_bytes=300 * MB)
    )
    assert result.stopped_by == "memory"


async def test_memory_that_is_shared_counts_once(sandbox: Sandbox, workspace: Path) -> None:
    program = (
        "import os, time\n"
        "kept = b'x' * 80_000_000\n"
        "for _ in range(6):\n"
        "    if os.fork() == 0: time.sleep(1); os._exit(0)\n"
        "for _ in range(6): os.wait()\n"
        "print('shared')"
    )
    result = await attack(
        sandbox, workspace, program, limits=SandboxLimits(seconds=60, memory_bytes=300 * MB)
    )
    assert (result.stdout, result.stopped_by) == ("shared\n", "")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_gigabyte_of_output_is_cut_and_stopped(
    sandbox: Sandbox, workspace: Path, stream: str
) -> None:
    program = f"import sys\nfor _ in range(1000): sys.{stream}.write('x' * 1_000_000)"
    result = await attack(sandbox, workspace, program, limits=SandboxLimits(seconds=60, output_bytes=2 * MB))
    assert (result.stopped_by, result.truncated) == ("output", True)
    assert len(result.stdout) + len(result.stderr) == 2 * MB


@pytest.mark.parametrize("place", [".", "TMPDIR"])
async def test_two_gigabytes_of_small_files_are_stopped(
    sandbox: Sandbox, workspace: Path, place: str
) -> None:
    program = (
        "import os, sys\n"
        "folder = os.environ.get(sys.argv[1], '.')\n"
        "for number in range(500_000):\n"
        "    with open(f'{folder}/{number}', 'wb') as file: file.write(b'x' * 4096)"
    )
    result = await attack(
        sandbox, workspace, program, place, limits=SandboxLimits(seconds=120, workspace_bytes=20 * MB)
    )
    shutil.rmtree(workspace)
    assert result.stopped_by == "workspace"


MANY = (
    "import os, sys\n"
    "folder = os.environ.get(sys.argv[1], '.')\n"
    "for number in range(int(sys.argv[2])):\n"
    "    {make}\n"
)
MAKING = {
    "files": "open(f'{folder}/{number}', 'w').close()",
    "folders": "os.mkdir(f'{folder}/{number}')",
    "links": "os.symlink('x', f'{folder}/{number}')",
}


@pytest.mark.parametrize("place", [".", "TMPDIR"])
@pytest.mark.parametrize("kind", MAKING)
async def test_too_many_files_are_stopped(sandbox: Sandbox, workspace: Path, kind: str, place: str) -> None:
    program = MANY.format(make=MAKING[kind]) + "import time; time.sleep(300)"
    result = await attack(
        sandbox, workspace, program, place, "3000", limits=SandboxLimits(seconds=120, files=2000)
    )
    assert (result.stopped_by, result.exit_code) == ("files", 137)


async def test_files_are_counted_while_more_are_made(sandbox: Sandbox, workspace: Path) -> None:
    """Two million would fill many a disk; it is stopped long before."""
    program = MANY.format(make=MAKING["files"])
    result = await attack(
        sandbox, workspace, program, ".", "2000000", limits=SandboxLimits(seconds=300, files=2000)
    )
    assert result.stopped_by == "files"
    assert len(os.listdir(workspace)) < 1_000_000
    shutil.rmtree(workspace)


async def test_a_short_program_is_reported_that_it_made_too_many_files(
    sandbox: Sandbox, workspace: Path
) -> None:
    """It ends before anybody watches."""
    result = await attack(
        sandbox, workspace, MANY.format(make=MAKING["files"]), ".", "30", limits=SandboxLimits(files=20)
    )
    assert (result.stopped_by, result.ok) == ("files", False)


async def test_a_short_program_is_reported_that_it_wrote_too_much(sandbox: Sandbox, workspace: Path) -> None:
    program = "open('large', 'wb').write(b'x' * 3_000_000)"
    result = await attack(sandbox, workspace, program, limits=SandboxLimits(workspace_bytes=2 * MB))
    assert result.stopped_by == "workspace"


async def test_files_that_were_there_do_not_count(sandbox: Sandbox, workspace: Path) -> None:
    """Nor do folders that the sandbox makes on the way to a workspace below /tmp."""
    for number in range(100):
        (workspace / f"old-{number}").touch()
    program = MANY.format(make=MAKING["files"]) + "import time; time.sleep(1)"
    result = await attack(sandbox, workspace, program, ".", "50", limits=SandboxLimits(seconds=60, files=50))
    assert (result.stopped_by, result.exit_code) == ("", 0)


async def test_files_in_other_writable_folders_count(
    sandbox: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    command = ["sh", "-c", f"cd {other}; for i in $(seq 30); do : > $i; done; sleep 60"]
    result = await sandbox.run(
        command,
        folder=workspace,
        writable=False,
        also_writable=[other],
        limits=SandboxLimits(seconds=120, files=20),
    )
    assert result.stopped_by == "files"


async def test_open_files_without_a_name_count(sandbox: Sandbox, workspace: Path) -> None:
    program = (
        "import os, time\n"
        "kept = []\n"
        "for number in range(200):\n"
        "    kept.append(open(str(number), 'w')); os.unlink(str(number))\n"
        "time.sleep(300)"
    )
    result = await attack(sandbox, workspace, program, limits=SandboxLimits(seconds=60, files=100))
    assert result.stopped_by == "files"


async def test_what_is_written_at_the_very_end_counts_too(sandbox: Sandbox, workspace: Path) -> None:
    program = "import time\ntime.sleep(1)\nopen('large', 'wb').write(b'x' * 60_000_000)"
    result = await attack(
        sandbox, workspace, program, limits=SandboxLimits(seconds=60, workspace_bytes=20 * MB)
    )
    assert result.stopped_by == "workspace"


HOLDING = {
    "open": "kept.append(file)",
    "mapped": "kept.append(mmap.mmap(file.fileno(), 4096)); file.close()",
}


@pytest.mark.parametrize("way", HOLDING)
async def test_files_without_a_name_count_too(sandbox: Sandbox, workspace: Path, way: str) -> None:
    """Removed while they are held: no folder shows them, the disk is full all the same. Of what is mapped
    only the disk tells, and other programs free space meanwhile: so it goes on until it is stopped."""
    program = (
        "import mmap, os, time\n"
        "kept = []\n"
        "for number in range(80):\n"
        "    file = open(str(number), 'w+b'); os.unlink(str(number))\n"
        "    for _ in range(10): file.write(b'x' * 1_000_000)\n"
        "    file.flush()\n"
        f"    {HOLDING[way]}\n"
        "    if isinstance(kept[0], mmap.mmap): os.closerange(3, 1000)\n"
        "    time.sleep(0.2)\n"
        "time.sleep(300)"
    )
    result = await attack(
        sandbox, workspace, program, limits=SandboxLimits(seconds=120, workspace_bytes=20 * MB)
    )
    assert result.stopped_by == "workspace"


async def test_without_its_watch_a_program_does_not_go_on(sandbox: Sandbox, workspace: Path) -> None:
    """The watch is ended by somebody else; a program that nobody looks at is not let run."""
    running = asyncio.ensure_future(attack(sandbox, workspace, "import time; time.sleep(300)"))
    await until(watches)
    for pid in watches():
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(SandboxUnavailableError, match="watch over a program ended"):
        await running


def watches() -> list[int]:
    """The watches that this process has started."""
    return [
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if f" {os.getpid()} " in parent_of(folder) and b"inside.watch" in (folder / "cmdline").read_bytes()
    ]


def parent_of(folder: Path) -> str:
    try:
        return f" {(folder / 'stat').read_text().rsplit(')', 1)[1].split()[1]} "
    except OSError:  # it has just ended
        return ""


async def test_a_relative_folder_is_watched_too(
    sandbox: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace.parent)
    limits = SandboxLimits(seconds=60, processes=40)
    result = await attack(sandbox, Path("workspace"), FORKS.format(count=62), limits=limits)
    assert result.stopped_by == "processes"


async def test_a_file_cannot_grow_past_its_limit(sandbox: Sandbox, workspace: Path) -> None:
    program = (
        "import signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "with open('large', 'wb', buffering=0) as file:\n"
        "    for _ in range(20): file.write(b'x' * 1_000_000)"
    )
    result = await attack(sandbox, workspace, program, limits=SandboxLimits(seconds=60, file_bytes=5 * MB))
    assert "File too large" in result.stderr
    assert (workspace / "large").stat().st_size <= 5 * MB


async def test_open_files_are_limited(sandbox: Sandbox, workspace: Path) -> None:
    program = "kept = [open('/dev/null') for _ in range(200)]"
    result = await attack(sandbox, workspace, program, limits=SandboxLimits(seconds=60, open_files=64))
    assert "Too many open files" in result.stderr


async def test_several_sandboxes_do_not_share_their_limits(sandbox: Sandbox, workspace: Path) -> None:
    program = (
        "import os, time\n"
        "for _ in range(20):\n"
        "    if os.fork() == 0: time.sleep(1); os._exit(0)\n"
        "for _ in range(20): os.wait()\n"
        "print('all')"
    )
    limits = SandboxLimits(seconds=60, processes=30)
    runs = [attack(sandbox, workspace, program, limits=limits) for _ in range(4)]
    assert {(result.stdout, result.stopped_by) for result in await asyncio.gather(*runs)} == {("all\n", "")}
