"""One cancel: everything stops within two seconds, no process is left, nothing starts after it, and a
reply that was paid for in the same instant is in the log."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.errors import NotResumableError

LIMIT_S = 2.0


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def until(condition: Any, what: str) -> None:
    """Wait for something that another task or process brings about."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - other processes cannot set an event
            await asyncio.sleep(0.01)
    assert condition(), what


async def test_cancel_during_a_call_ends_every_branch(store: Store) -> None:
    begun: list[int] = []

    async def call(n: int) -> None:
        begun.append(n)
        await asyncio.Event().wait()

    async def branch(run: podium.Run, n: int) -> None:
        await run.step("call", call, n)
        await run.step("call", call, n + 100)

    async def flow(run: podium.Run, request: str) -> None:
        await run.gather({str(n): branch(run, n) for n in range(5)})

    handle = await podium.start(podium.Workflow(flow, "flow"), "go", store=store)
    await until(lambda: len(begun) == 5, "all branches call")
    began = time.monotonic()
    result = await handle.cancel("enough")
    assert time.monotonic() - began < LIMIT_S
    assert (result.status, result.exit_code) == ("cancelled", 130)
    assert sorted(begun) == [0, 1, 2, 3, 4]
    rows = await store.read(result.run_id)
    assert rows[-1].type == "run.cancelled"
    assert (await store.get(result.run_id)).status == "cancelled"


async def test_cancel_kills_a_subprocess_and_its_children(store: Store, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = (
        "import os, subprocess, sys, time; "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}'); time.sleep(600)"
    )

    async def shell() -> int:
        return (await podium.run_process([sys.executable, "-c", program])).returncode

    async def flow(run: podium.Run, request: str) -> None:
        await run.step("shell", shell)

    handle = await podium.start(podium.Workflow(flow, "flow"), "go", store=store)
    await until(lambda: pids.exists() and len(pids.read_text().split()) == 2, "both processes run")
    running = [int(pid) for pid in pids.read_text().split()]
    assert all(alive(pid) for pid in running)
    began = time.monotonic()
    await handle.cancel()
    assert time.monotonic() - began < LIMIT_S
    await until(lambda: not any(alive(pid) for pid in running), "no process is left")


async def test_cancel_during_a_retry_wait_starts_no_further_call(store: Store) -> None:
    calls: list[float] = []

    async def fails() -> None:
        calls.append(time.monotonic())
        raise ConnectionError("down")

    async def flow(run: podium.Run, request: str) -> None:
        await run.step("call", fails, retry=podium.Retry(5, first_wait_s=60))

    handle = await podium.start(podium.Workflow(flow, "flow"), "go", store=store)
    await until(lambda: len(calls) == 1, "the first attempt has failed")
    began = time.monotonic()
    result = await handle.cancel()
    assert time.monotonic() - began < LIMIT_S
    assert result.status == "cancelled"
    assert len(calls) == 1


async def test_cancel_while_waiting_for_budget_and_slots(store: Store) -> None:
    begun: list[int] = []

    async def call(n: int) -> None:
        begun.append(n)
        await asyncio.Event().wait()

    async def branch(run: podium.Run, n: int) -> None:
        await run.step("call", call, n, cost=Charge(calls=1, usd=1.0))

    async def flow(run: podium.Run, request: str) -> None:
        await run.gather({str(n): branch(run, n) for n in range(9)})

    handle = await podium.start(
        podium.Workflow(flow, "flow"), "go", store=store, budget=podium.Budget(usd=4.0), concurrency=2
    )
    await until(lambda: len(begun) == 2, "two have slots")
    result = await handle.cancel()
    assert result.status == "cancelled"
    assert begun == [0, 1]
    assert result.usage.usd == pytest.approx(2.0), "calls that were cut off count in full"
    settled = await store.read(result.run_id, types=["budget.settled"])
    assert len(settled) == 2


async def test_the_paid_reply_of_the_same_instant_is_in_the_log(store: Store) -> None:
    """The reply arrives and the cancel is given in the same turn of the loop."""
    arrives: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    begun = asyncio.Event()

    async def paid() -> str:
        begun.set()
        return await arrives

    async def flow(run: podium.Run, request: str) -> str:
        return await run.step("paid", paid)

    handle = await podium.start(podium.Workflow(flow, "flow"), "go", store=store)
    await begun.wait()
    arrives.set_result("worth a dollar")
    result = await handle.cancel()
    assert result.status == "cancelled"
    completed = await store.read(result.run_id, types=["step.completed"])
    assert [b"worth a dollar" in row.data for row in completed] == [True]


async def test_nothing_can_be_done_after_a_cancel(store: Store) -> None:
    """A workflow that clings to life: every `run.*` call raises, its result counts for nothing."""
    tried: list[str] = []
    begun = asyncio.Event()

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def flow(run: podium.Run, request: str) -> str:
        for attempt in ("first", "second"):
            try:
                await run.step("hang", hang)
            except BaseException:
                tried.append(attempt)
                if attempt == "second":
                    raise
        return "I went on"

    handle = await podium.start(podium.Workflow(flow, "flow"), "go", store=store)
    await begun.wait()
    result = await handle.cancel()
    assert (result.status, result.output) == ("cancelled", None)
    assert tried == ["first", "second"]
    assert len(await store.read(result.run_id, types=["step.started"])) == 1


async def test_an_effect_that_ignores_its_cancellation_is_cut_off(store: Store) -> None:
    begun, late = asyncio.Event(), asyncio.Event()

    async def stubborn() -> str:
        begun.set()
        for _ in range(200):
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                continue
        late.set()
        return "too late"

    async def flow(run: podium.Run, request: str) -> str:
        return await run.step("stubborn", stubborn)

    handle = await podium.start(podium.Workflow(flow, "flow"), "go", store=store)
    await begun.wait()
    began = time.monotonic()
    result = await handle.cancel()
    assert time.monotonic() - began < LIMIT_S + 0.3
    assert result.status == "cancelled"
    await asyncio.wait_for(late.wait(), 20)
    await asyncio.sleep(0.05)
    rows = await store.read(result.run_id)
    assert rows[-1].type == "run.cancelled", "nothing was written after the end"


async def test_cancel_through_the_inbox_by_somebody_else(store: Store) -> None:
    begun = asyncio.Event()

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def flow(run: podium.Run, request: str) -> None:
        await run.step("hang", hang)

    handle = await podium.start(podium.Workflow(flow, "flow"), "go", store=store)
    await begun.wait()
    row = await podium.cancel(handle.run_id, reason="by hand", store=store)
    assert (row.status, row.stop_reason) == ("cancelled", "by hand")
    assert (await handle.result()).status == "cancelled"


async def test_cancel_of_a_run_that_nobody_drives(store: Store) -> None:
    async def flow(run: podium.Run, request: str) -> str:
        return await run.wait_for("Well?")

    workflow = podium.Workflow(flow, "flow")
    result = await podium.run(workflow, "go", store=store)
    assert result.status == "waiting"
    row = await podium.cancel(result.run_id, store=store)
    assert row.status == "cancelled"
    with pytest.raises(NotResumableError, match="already cancelled"):
        await podium.cancel(result.run_id, store=store)
    with pytest.raises(NotResumableError):
        await podium.resume(result.run_id, workflow=workflow, store=store)


async def test_pause_records_what_is_in_flight_and_resumes_without_repeating_it(store: Store) -> None:
    calls: list[str] = []
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(name: str) -> str:
        calls.append(name)
        begun.set()
        await go_on.wait()
        return name

    async def flow(run: podium.Run, request: str) -> list[str]:
        return [await run.step("slow", slow, name) for name in ("one", "two")]

    workflow = podium.Workflow(flow, "flow")
    handle = await podium.start(workflow, "go", store=store)
    await begun.wait()
    handle.request_pause("Ctrl-C")
    await asyncio.sleep(0.05)
    assert not handle.done, "it waits for the call in flight"
    go_on.set()
    paused = await handle.result()
    assert (paused.status, paused.stop_reason, paused.exit_code) == ("paused", "Ctrl-C", 130)
    assert calls == ["one"]
    resumed = await (await podium.resume(paused.run_id, workflow=workflow, store=store)).result()
    assert resumed.output == ["one", "two"]
    assert calls == ["one", "two"]


async def test_a_second_pause_is_immediate(store: Store) -> None:
    begun = asyncio.Event()

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def flow(run: podium.Run, request: str) -> None:
        await run.step("hang", hang)

    handle = await podium.start(podium.Workflow(flow, "flow"), "go", store=store)
    await begun.wait()
    handle.request_pause()
    handle.request_pause()
    async with asyncio.timeout(5):
        assert (await handle.result()).status == "paused"


def test_a_killed_driver_takes_its_subprocess_with_it(tmp_path: Path) -> None:
    """`kill -9` of Podium itself: the kernel ends what it had started."""
    pids = tmp_path / "pid"
    child = os.fork()
    if child == 0:
        program = f"import os, time; open({str(pids)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
        try:
            asyncio.run(podium.run_process([sys.executable, "-c", program]))
        finally:
            os._exit(1)
    try:
        deadline = time.monotonic() + 20
        while not (pids.exists() and pids.read_text()):
            assert time.monotonic() < deadline, "the subprocess never ran"
            time.sleep(0.01)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    pid = int(pids.read_text())
    deadline = time.monotonic() + 5
    while alive(pid):
        assert time.monotonic() < deadline, "it outlived its driver"
        time.sleep(0.01)
