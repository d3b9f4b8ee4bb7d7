"""One driver a run: a second process is refused, one that was taken over cannot write; full disks,
foreign locks and endless crashes end in order."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Protocol

import pytest

import podium
from podium.engine.codec import decode
from podium.engine.log import Store
from podium.errors import RunLockedError
from podium.settings import Settings
from podium.stores import open_store
from tests import warm
from tests.engine.programs import driver
from tests.stores.postgres import Server

ROOT = Path(__file__).parents[2]


class Spawn(Protocol):
    def __call__(self, store: str, *args: str, **env: str) -> subprocess.Popen[str]: ...


@pytest.fixture
def spawn() -> Generator[Spawn]:
    """Start drivers; whatever is left of them ends with the test."""
    with ExitStack() as stack:

        def start(store: str, *args: str, **env: str) -> subprocess.Popen[str]:
            command = [sys.executable, "-m", "tests.engine.programs.driver", store, *args]
            process = warm.Popen(
                command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, **env}
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def read_until(process: subprocess.Popen[str], text: str) -> list[str]:
    lines: list[str] = []
    while not lines or lines[-1] != text:
        lines.append(line(process))
        assert lines[-1], f"it ended without saying {text!r}: {lines}"
    return lines


async def test_a_second_process_is_refused_and_reported_who_holds_the_run(
    spawn: Spawn, url: str, tmp_path: Path, settings: Settings
) -> None:
    gate = tmp_path / "gate"
    first = spawn(url, "start", GATE=str(gate))
    run_id = line(first)
    read_until(first, "step 1")
    async with open_store(url) as store:
        assert (await store.get(run_id)).status == "running"
        with pytest.raises(RunLockedError) as refused:
            await podium.resume(run_id, store=store, settings=settings)
    assert f"pid {first.pid} " in str(refused.value)
    assert "--take-over" in refused.value.hint
    gate.touch()
    assert line(first) == "step 2"
    assert read_until(first, "completed [0, 1, 2, 3]")
    assert first.wait(10) == 0


async def test_a_stopped_process_that_was_taken_over_cannot_write(
    spawn: Spawn, url: str, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    first = spawn(url, "start", GATE=str(gate))
    run_id = line(first)
    read_until(first, "step 1")
    os.kill(first.pid, signal.SIGSTOP)
    try:
        gate.touch()
        second = spawn(url, "resume", run_id, "take-over")
        assert read_until(second, "completed [0, 1, 2, 3]") == [
            "step 1",
            "step 2",
            "step 3",
            "completed [0, 1, 2, 3]",
        ]
        assert second.wait(10) == 0
        async with open_store(url) as store:
            before = await store.read(run_id)
            (taken,) = [row for row in before if row.type == "run.resumed"]
            assert decode(taken.data)["after"] == "take-over", "nobody crashed"
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert line(first).startswith("FencedError: ")
    assert first.wait(10) == 0
    async with open_store(url) as store:
        assert await store.read(run_id) == before, "the log holds nothing of the one that was taken over"
        assert (await store.get(run_id)).status == "completed"


async def test_a_stopped_process_whose_run_was_cancelled_meanwhile_says_that_it_is_cancelled(
    spawn: Spawn, url: str, tmp_path: Path, settings: Settings
) -> None:
    gate = tmp_path / "gate"
    first = spawn(url, "start", GATE=str(gate))
    run_id = line(first)
    read_until(first, "step 1")
    os.kill(first.pid, signal.SIGSTOP)
    try:
        gate.touch()
        async with open_store(url) as store:
            cancelled = await podium.cancel(run_id, reason="enough", store=store, wait=0.2, settings=settings)
        assert cancelled.status == "cancelled"
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert line(first).startswith("cancelled "), "nobody took the run over"
    assert first.wait(10) == 0


async def test_a_killed_driver_leaves_a_run_that_shows_as_paused_and_resumes(spawn: Spawn, url: str) -> None:
    first = spawn(url, "start", DIE="1")
    run_id = line(first)
    assert first.wait(20) == -signal.SIGKILL
    async with open_store(url) as store:
        assert (await store.get(run_id)).status == "paused", "running, but nobody drives it"
    second = spawn(url, "resume", run_id)
    assert read_until(second, "completed [0, 1, 2, 3]")[0] == "step 1"
    assert second.wait(10) == 0


async def test_too_many_recoveries_end_the_run_with_that_reason(
    spawn: Spawn, url: str, tmp_path: Path, settings: Settings
) -> None:
    first = spawn(url, "start", DIE="1")
    run_id = line(first)
    assert first.wait(20) == -signal.SIGKILL
    for _ in range(5):
        again = spawn(url, "resume", run_id, DIE="1")
        assert line(again) == "step 1"
        assert again.wait(20) == -signal.SIGKILL
    last = spawn(url, "resume", run_id, DIE="1")
    assert line(last).startswith("failed None too many recoveries")
    assert last.wait(20) == 0
    async with open_store(url) as store:
        assert (await store.get(run_id)).status == "failed"
        handle = await podium.resume(run_id, workflow=driver.counting, store=store, settings=settings)
        assert (await handle.result()).output == [0, 1, 2, 3], "once the cause is removed it can go on"


async def test_a_cancel_from_another_process_reaches_the_driver(
    spawn: Spawn, url: str, tmp_path: Path, settings: Settings
) -> None:
    first = spawn(url, "start", GATE=str(tmp_path / "never"))
    run_id = line(first)
    read_until(first, "step 1")
    async with open_store(url) as store:
        cancelled = await podium.cancel(run_id, reason="enough", store=store, settings=settings)
    assert cancelled.status == "cancelled"
    assert line(first).startswith("cancelled ")
    assert first.wait(10) == 0


async def test_an_answer_from_another_process_reaches_the_driver(
    spawn: Spawn, url: str, tmp_path: Path, settings: Settings
) -> None:
    gate = tmp_path / "gate"
    first = spawn(url, "ask", GATE=str(gate))
    run_id = line(first)
    async with open_store(url) as store, aclosing(store.tail(run_id)) as tail:
        async for row in tail:
            if row.type == "run.waiting":
                await podium.answer(run_id, "blue", store=store, settings=settings)
            if row.type == "run.answered":
                break
    gate.touch()
    assert read_until(first, "completed blue")
    assert first.wait(10) == 0


async def test_a_driver_that_was_silent_beyond_its_lease_loses_its_run_without_being_asked(
    spawn: Spawn, pg_server: Server, tmp_path: Path
) -> None:
    """Nobody has to know that it hangs: after its lease anybody may take the run up."""
    gate = tmp_path / "gate"
    url = f"{pg_server.new_database()}?lease_s=1"
    first = spawn(url, "start", GATE=str(gate))
    run_id = line(first)
    read_until(first, "step 1")
    os.kill(first.pid, signal.SIGSTOP)
    try:
        async with open_store(url) as store:
            while (await store.get(run_id)).status == "running":  # noqa: ASYNC110 - the lease is the clock
                await asyncio.sleep(0.05)
        gate.touch()
        second = spawn(url, "resume", run_id)
        assert read_until(second, "completed [0, 1, 2, 3]")[0] == "step 1"
        assert second.wait(10) == 0
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert line(first).startswith("FencedError: ")
    assert first.wait(10) == 0


# ── a full disk ──


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


async def test_a_full_disk_pauses_the_run_and_room_lets_it_go_on(
    small_disk: Path, settings: Settings
) -> None:
    path, ballast = small_disk / "podium.sqlite", small_disk / "ballast"
    made: list[int] = []

    async def large(n: int) -> str:
        made.append(n)
        if n == 3 and made.count(3) == 1:
            ballast.write_bytes(b"x" * _free_bytes(small_disk))
        return f"{n}" * 20_000

    async def flow(run: podium.Run, request: str) -> int:
        texts = [await run.step("large", large, n) for n in range(8)]
        return sum(map(len, texts))

    workflow = podium.Workflow(flow, "flow")
    async with open_store(str(path)) as store:
        first = await podium.run(workflow, "go", store=store, settings=settings)
        assert (first.status, first.stop_reason, first.exit_code) == ("paused", "disk full", 4)
        assert "no space left" in first.error
        assert "resume" in first.hint
        other = await store.read(first.run_id)
        assert other[-1].type == "step.completed", "the store still answers readers"
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    ballast.unlink()
    finished = list(made)
    async with open_store(str(path)) as store:
        assert (await store.get(first.run_id)).status == "paused"
        second = await (
            await podium.resume(first.run_id, workflow=workflow, store=store, settings=settings)
        ).result()
    assert (second.status, second.output) == ("completed", 160_000)
    assert made[len(finished)] == finished[-1], "only the step whose result found no room ran again"
    assert [n for n in range(8) if made.count(n) > 1] == [finished[-1]]


def _free_bytes(folder: Path) -> int:
    stat = os.statvfs(folder)
    return stat.f_bavail * stat.f_frsize


# ── somebody else's lock ──


async def test_a_write_lock_held_for_three_seconds_by_another_process_fails_nothing(
    store: Store, tmp_path: Path
) -> None:
    program = (
        "import sqlite3, sys, time; db = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "db.execute('BEGIN IMMEDIATE'); print('locked', flush=True); time.sleep(3); db.execute('COMMIT')"
    )
    beats: list[int] = []

    async def flow(run: podium.Run, request: str) -> int:
        await run.step("before", str, 0)
        locker = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, str(tmp_path / "podium.sqlite"), stdout=subprocess.PIPE
        )
        assert locker.stdout is not None
        assert await locker.stdout.readline() == b"locked\n"
        for n in range(5):
            await run.step("during", str, n)
        await locker.wait()
        return 5

    async def heartbeat() -> None:
        while True:
            beats.append(1)
            await asyncio.sleep(0.05)

    beating = asyncio.create_task(heartbeat())
    result = await podium.run(podium.Workflow(flow, "flow"), "go", store=store)
    beating.cancel()
    assert (result.status, result.output) == ("completed", 5)
    assert len(beats) > 20, "the loop kept running while the writer waited"
