"""However a run is stopped, and whoever goes away: it can be resumed, nothing is left running, nothing is
lost, and no order is taken for another."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import time
from pathlib import Path

import pytest

import podium
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.errors import FencedError
from podium.settings import Settings
from podium.stores import open_store

ONE_CALL = Charge(calls=1)


class Forever:
    """Something that never ends by itself."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = 0

    async def __call__(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1


def one_step(fn: Forever) -> podium.Workflow:
    async def one(run: podium.Run, request: str) -> None:
        await run.step("forever", fn)

    return podium.Workflow(one, "one")


@pytest.mark.parametrize("order", ["cancel", "pause", "both"])
async def test_an_order_before_the_first_step(store: Store, order: str) -> None:
    ran: list[int] = []

    async def one(run: podium.Run, request: str) -> None:
        await run.step("a", ran.append, 1)

    workflow = podium.Workflow(one, "one")
    handle = await podium.start(workflow, "go", store=store)
    if order == "both":
        handle.request_pause()
    result = await (handle.pause() if order == "pause" else handle.cancel())
    assert ran == []
    assert result.status == (await store.get(result.run_id)).status
    assert result.status == ("paused" if order == "pause" else "cancelled")
    if order == "pause":
        resumed = await podium.resume(result.run_id, workflow=workflow, store=store)
        assert (await resumed.result()).status == "completed"


async def test_a_pause_between_the_start_of_a_step_and_its_call_is_no_failure(store: Store) -> None:
    """It is not what came of the step: a resumed run would take it for that, and go on without the answer."""
    made: list[str] = []
    handles: list[podium.RunHandle] = []
    ready = asyncio.Event()

    async def call() -> str:
        made.append("call")
        return "answer"

    async def stop_the_first() -> None:
        if len(handles) == 1:
            handles[0].request_pause()

    async def flow(run: podium.Run, request: str) -> str:
        await ready.wait()
        # The step's task is made first, the order is given second, and only then does the task begin.
        outcomes = await run.gather({"work": run.step("ask", call, cost=ONE_CALL), "stop": stop_the_first()})
        return str(outcomes["work"].unwrap())

    workflow = podium.Workflow(flow, "flow")
    handles.append(await podium.start(workflow, "go", store=store))
    ready.set()
    paused = await handles[0].result()
    assert (paused.status, made) == ("paused", [])
    assert "step.failed" not in [event.type for event in await store.read(paused.run_id)]
    handles.append(await podium.resume(paused.run_id, workflow=workflow, store=store))
    finished = await handles[1].result()
    assert (finished.status, finished.output, made) == ("completed", "answer", ["call"])


async def test_a_call_in_flight_gets_as_long_as_the_setting_says_and_no_longer(store: Store) -> None:
    step = Forever()
    settings = Settings(pause_grace=0.2)
    handle = await podium.start(one_step(step), "go", store=store, settings=settings)
    await step.begun.wait()
    async with asyncio.timeout(8):  # without the setting it would be ten seconds
        paused = await handle.pause()
    assert (paused.status, step.ended) == ("paused", 1)


async def test_a_cancel_is_stronger_than_a_pause_under_way(store: Store) -> None:
    step = Forever()
    handle = await podium.start(one_step(step), "go", store=store)
    await step.begun.wait()
    handle.request_pause()
    await asyncio.sleep(0)
    began = time.monotonic()
    result = await handle.cancel("enough")
    assert time.monotonic() - began < 2.0, "the grace of a pause is 10 s"
    assert (result.status, result.stop_reason) == ("cancelled", "enough")
    assert step.ended == 1


async def test_a_cancel_while_the_run_goes_to_wait(store: Store) -> None:
    leaving = asyncio.Event()

    async def asking(run: podium.Run, request: str) -> None:
        try:
            await run.wait_for("Sure?")
        except asyncio.CancelledError:
            leaving.set()
            await asyncio.sleep(60)

    handle = await podium.start(podium.Workflow(asking, "asking"), "go", store=store)
    await leaving.wait()
    assert (await handle.cancel()).status == "cancelled"


async def test_what_a_workflow_raises_when_it_is_stopped_is_no_accident(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    step = Forever()

    async def protests(run: podium.Run, request: str) -> None:
        try:
            await run.step("forever", step)
        except asyncio.CancelledError:
            raise ValueError("not now") from None

    handle = await podium.start(podium.Workflow(protests, "protests"), "go", store=store)
    await step.begun.wait()
    assert (await handle.cancel()).status == "cancelled"
    del handle
    gc.collect()
    assert [record.getMessage() for record in caplog.records] == []


async def test_whoever_gives_up_waiting_for_a_run_leaves_it_resumable(store: Store) -> None:
    step = Forever()
    before = asyncio.all_tasks()
    waiting = asyncio.create_task(podium.run(one_step(step), "go", store=store))
    await step.begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert step.ended == 1
    assert asyncio.all_tasks() == before, "nothing goes on behind the caller's back"
    (row,) = await store.list_runs()
    assert (row.status, row.holder) == ("paused", "")


async def test_a_time_out_of_the_workflows_own_ends_the_step(store: Store) -> None:
    """And frees its slot, so that the next call can be made."""
    step = Forever()

    async def impatient(run: podium.Run, request: str) -> str:
        try:
            async with asyncio.timeout(0.05):
                await run.step("forever", step, cost=ONE_CALL)
        except TimeoutError:
            return await run.step("instead", str.upper, request, cost=ONE_CALL)
        return "no time-out"

    workflow = podium.Workflow(impatient, "impatient")
    result = await podium.run(workflow, "go", store=store, concurrency=1)
    assert (result.output, step.ended) == ("GO", 1)
    assert result.usage.calls == 2, "a call that was cut off counts"


async def test_a_cancellation_from_inside_is_a_failure(store: Store) -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError

    async def in_a_step(run: podium.Run, request: str) -> None:
        await run.step("a", cancelled)

    async def in_a_branch(run: podium.Run, request: str) -> list[bool]:
        return [bool(part) for part in (await run.gather({"a": cancelled(), "b": asyncio.sleep(0)})).values()]

    async def in_the_workflow(run: podium.Run, request: str) -> None:
        await cancelled()

    first = await podium.run(podium.Workflow(in_a_step, "w"), "go", store=store)
    assert (first.status, first.error) == ("failed", "a: CancelledError")
    second = await podium.run(podium.Workflow(in_a_branch, "w"), "go", store=store)
    assert (second.status, second.output) == ("completed", [False, True])
    third = await podium.run(podium.Workflow(in_the_workflow, "w"), "go", store=store)
    assert third.status == "failed"
    assert "was cancelled" in third.error


async def test_whatever_a_step_raises_its_caller_gets(store: Store) -> None:
    class Unusual(BaseException):
        pass

    async def unusual() -> None:
        raise Unusual("not an Exception")

    async def one(run: podium.Run, request: str) -> None:
        await run.step("a", unusual)

    result = await podium.run(podium.Workflow(one, "one"), "go", store=store)
    assert (result.status, result.error) == ("failed", "a: Unusual: not an Exception")


async def test_an_order_for_an_earlier_life_stops_no_later_one(store: Store) -> None:
    """The cancel came when the run had just failed; the person who resumes it knows that."""
    broken = [True]

    async def one(run: podium.Run, request: str) -> str:
        if broken[0]:
            raise ValueError("broken")
        await asyncio.sleep(0.15)  # time enough for everything in the inbox to arrive
        return await run.step("a", str.upper, request)

    workflow = podium.Workflow(one, "one")
    first = await podium.run(workflow, "go", store=store)
    await store.post(first.run_id, "cancel", "too late")
    broken[0] = False
    second = await (await podium.resume(first.run_id, workflow=workflow, store=store)).result()
    assert second.status == "completed"
    assert await store.inbox(first.run_id) == []


async def test_a_pause_through_the_inbox_counts_once(store: Store) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        begun.set()
        await go_on.wait()

    async def two(run: podium.Run, request: str) -> str:
        await run.step("slow", slow)
        await asyncio.sleep(0.15)  # time enough for everything in the inbox to arrive
        return await run.step("a", str.upper, request)

    workflow = podium.Workflow(two, "two")
    handle = await podium.start(workflow, "go", store=store)
    await begun.wait()
    await store.post(handle.run_id, "pause", "lunch")
    await asyncio.sleep(0.15)  # it has to arrive before the step ends
    go_on.set()
    first = await handle.result()
    assert (first.status, first.stop_reason) == ("paused", "lunch")
    second = await (await podium.resume(first.run_id, workflow=workflow, store=store)).result()
    assert second.output == "GO"


async def test_somebody_else_can_cancel_a_run_that_had_failed_before(store: Store) -> None:
    step = Forever()
    broken = [True]

    async def one(run: podium.Run, request: str) -> None:
        if broken[0]:
            raise ValueError("broken")
        await run.step("forever", step)

    workflow = podium.Workflow(one, "one")
    first = await podium.run(workflow, "go", store=store)
    broken[0] = False
    handle = await podium.resume(first.run_id, workflow=workflow, store=store)
    await step.begun.wait()
    assert (await podium.cancel(first.run_id, store=store)).status == "cancelled"
    assert (await handle.result()).status == "cancelled"


async def test_a_run_that_was_taken_over_makes_no_more_calls(store: Store) -> None:
    """Its replies could not be recorded any more, so its queue of callers must not go on."""
    calls: list[int] = []
    go_on = asyncio.Event()

    async def call(n: int) -> None:
        calls.append(n)
        await (go_on if n < 2 else asyncio.Event()).wait()

    async def fan(run: podium.Run, request: str) -> None:
        await run.gather({str(n): run.step("call", call, n, cost=ONE_CALL) for n in range(40)})

    handle = await podium.start(podium.Workflow(fan, "fan"), "go", store=store, concurrency=2)
    async for event in handle.events():
        if len(calls) == 2:
            break
        assert event
    await store.acquire(handle.run_id, take_over=True)
    go_on.set()
    with pytest.raises(FencedError):
        await handle.result()
    assert len(calls) <= 4, "those in flight, and those that got their slots"


PROGRAM = Path(__file__).parent / "programs" / "leave.py"


@pytest.mark.parametrize("how", ["timeout", "return", "break", "iterate", *map(str, range(0, 12, 3))])
def test_a_program_that_leaves_says_nothing_and_leaves_a_resumable_run(how: str, tmp_path: Path) -> None:
    """However and whenever the event loop ends: no warning, no forgotten task, no lock."""
    url = f"sqlite:///{tmp_path}/podium.sqlite"
    command = [sys.executable, "-X", "dev", "-W", "error", str(PROGRAM), url, how]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    lines = [line for line in completed.stderr.splitlines() if not line.startswith("Executing <")]
    assert (completed.returncode, lines) == (0, [])

    async def look() -> tuple[str, str]:
        async with open_store(url) as store:
            (row,) = await store.list_runs()
            return row.status, row.holder

    status, holder = asyncio.run(look())
    assert status in {"paused", "queued"}
    assert holder == ""
