"""`podium worker`: what it takes, drives and hands back."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

import pytest

import podium
from podium.api import raise_budget
from podium.cluster.port import shared
from podium.cluster.worker import Sweep
from podium.engine.codec import decode
from podium.engine.log import Row
from podium.errors import NotResumableError
from tests.cluster.fleet import FLOWS, PATIENCE_S, Lab


def is_step(path: str, kind: str) -> Callable[[Row], bool]:
    return lambda row: row.type == kind and row.path == path


async def test_accepted_runs_are_driven_by_whichever_worker_has_a_place(fleet: Lab) -> None:
    rows = [await fleet.start("three", f"number {number}") for number in range(10)]
    await fleet.machine()
    await fleet.machine()
    for row in rows:
        log = await fleet.over(row.run_id)
        output = decode(log[-1].data)["output"]
        assert output[0] == row.request
    paid = fleet.paid()
    assert len(paid) == 30
    assert all(len(calls) == 1 for calls in paid.values())
    await fleet.carries(0, 0)


async def test_to_submit_a_run_twice_is_to_submit_it_once(fleet: Lab) -> None:
    row = await fleet.start("three")
    await fleet.fleet.accept(row)
    await fleet.carries(1, 0)
    await fleet.machine()
    await fleet.over(row.run_id)
    assert all(len(calls) == 1 for calls in fleet.paid().values())


async def test_a_stopped_worker_hands_its_runs_over_at_once_and_nothing_is_run_again(fleet: Lab) -> None:
    gate = fleet.folder / "open"
    row = await fleet.start("gated", str(gate))
    first = await fleet.machine(FLEET_STEP_S="0")
    await fleet.event(row.run_id, is_step("pay-1", "step.started"))
    second = await fleet.machine()
    first.signal(signal.SIGTERM)
    await first.said("Stopping: 1 run")
    gate.touch()  # the call that was in flight ends now, and is recorded
    assert await first.end() == 0
    log = await fleet.over(row.run_id)
    await second.said(f"Run {row.run_id} is completed")
    assert [len(calls) for calls in fleet.paid().values()] == [1, 1, 1]
    resumed = next(event for event in log if event.type == "run.resumed")
    assert decode(resumed.data)["after"] == "paused"
    drivers = [pid for _, _, _, pid in fleet.noted("paid")]
    assert drivers == [str(first.pid), str(first.pid), str(second.pid)]


async def test_a_second_signal_cuts_off_what_is_in_flight_and_still_hands_over(fleet: Lab) -> None:
    gate = fleet.folder / "open"
    row = await fleet.start("gated", str(gate))
    first = await fleet.machine()
    await fleet.event(row.run_id, is_step("pay-1", "step.started"))
    first.signal(signal.SIGTERM)
    await first.said("Stopping: 1 run")
    first.signal(signal.SIGTERM)
    assert await first.end() == 0
    gate.touch()
    await fleet.machine()
    await fleet.over(row.run_id)
    assert [len(calls) for calls in fleet.paid().values()] == [1, 2, 1]


async def test_a_worker_takes_only_the_workflows_that_it_is_there_for(fleet: Lab) -> None:
    other = await fleet.start("asks", "Which?")
    row = await fleet.start("three")
    await fleet.machine("--workflows", "three,four")
    await fleet.over(row.run_id)
    assert (await fleet.store.get(other.run_id)).status == "queued"
    await fleet.machine("--workflows", "asks")
    await fleet.event(other.run_id, "run.waiting")


async def test_a_run_that_lost_its_worker_goes_before_all_that_wait(fleet: Lab) -> None:
    gates = [fleet.folder / name for name in ("lost", "busy")]
    lost = await fleet.start("gated", str(gates[0]))
    first = await fleet.machine("--concurrency", "1")
    await fleet.event(lost.run_id, is_step("pay-1", "step.started"))
    busy = await fleet.start("gated", str(gates[1]))
    await fleet.machine("--concurrency", "1", FLEET_STEP_S="0")
    await fleet.event(busy.run_id, is_step("pay-1", "step.started"))
    waiting = [await fleet.start("three", f"number {number}") for number in range(20)]
    await fleet.carries(20, 2)
    await first.kill()
    async with asyncio.timeout(PATIENCE_S):
        while not await fleet.losses(lost.run_id):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)
    gates[0].touch()
    gates[1].touch()
    for row in (lost, busy, *waiting):
        await fleet.over(row.run_id)
    in_turn = list(dict.fromkeys(run_id for run_id, *_ in fleet.noted("paid")[4:]))
    assert in_turn.index(lost.run_id) < len(waiting) / 2, "it stood in line behind all others"
    assert set(in_turn) == {row.run_id for row in (lost, busy, *waiting)}


async def test_a_worker_that_was_only_asleep_is_fenced_and_its_calls_stop(fleet: Lab) -> None:
    gate = fleet.folder / "open"
    row = await fleet.start("gated", str(gate))
    first = await fleet.machine()
    await fleet.event(row.run_id, is_step("pay-1", "step.started"))
    first.signal(signal.SIGSTOP)
    second = await fleet.machine()
    await fleet.event(row.run_id, "run.resumed")  # its lease is over
    gate.touch()
    log = await fleet.over(row.run_id)
    first.signal(signal.SIGCONT)
    await first.said(f"Run {row.run_id} is not driven here any more")
    assert [event.seq for event in await fleet.store.read(row.run_id)] == [event.seq for event in log]
    by_first = [step for _, step, _, pid in fleet.noted("paid") if pid == str(first.pid)]
    assert by_first == ["0", "1"], "after it woke up it began another step"
    again = await fleet.start("three")  # and it is a worker like any other
    second.signal(signal.SIGTERM)
    assert await second.end() == 0
    await fleet.over(again.run_id)


async def test_a_run_whose_job_was_lost_is_found_in_the_log(fleet: Lab) -> None:
    row = await fleet.start("three")
    await fleet.engine.forget(row.run_id)
    assert await fleet.engine.carried([row.run_id]) == set()
    machine = await fleet.machine()
    await fleet.over(row.run_id)
    await machine.said("was lost by the engine")


async def test_somebodys_own_run_is_left_alone(fleet: Lab) -> None:
    own = await podium.start(f"{FLOWS}:asks", "Which?", store=fleet.store, model="rehearsal")
    assert (await own.result()).status == "waiting"
    await podium.answer(own.run_id, "this", store=fleet.store)
    sweep = Sweep(shared(fleet.store), fleet.engine)
    assert await sweep.sweep() == 0


async def test_a_run_that_waits_holds_no_place_and_an_answer_given_anywhere_brings_it_back(
    fleet: Lab,
) -> None:
    machine = await fleet.machine("--concurrency", "1")
    waiting = await fleet.start("asks", "Which?")
    await fleet.event(waiting.run_id, "run.waiting")
    await fleet.over((await fleet.start("three")).run_id)  # on the only place that there is
    assert (await fleet.store.get(waiting.run_id)).status == "waiting"
    await podium.answer(waiting.run_id, "this", store=fleet.store)
    await fleet.fleet.go_on(await fleet.store.get(waiting.run_id))
    log = await fleet.over(waiting.run_id)
    assert decode(log[-1].data)["output"] == "this"
    await machine.said(f"Run {waiting.run_id} is completed")
    steps = [step for run_id, step, *_ in fleet.noted("paid") if run_id == waiting.run_id]
    assert steps == ["0", "1"]


async def test_an_answer_that_was_only_left_in_the_inbox_is_found(fleet: Lab) -> None:
    await fleet.machine()
    row = await fleet.start("asks", "Which?")
    await fleet.event(row.run_id, "run.waiting")
    await podium.answer(row.run_id, "this", store=fleet.store)
    log = await fleet.over(row.run_id)
    assert decode(log[-1].data)["output"] == "this"


async def test_a_cancel_reaches_a_run_on_another_machine(fleet: Lab) -> None:
    row = await fleet.start("gated", str(fleet.folder / "never"))
    machine = await fleet.machine()
    await fleet.event(row.run_id, is_step("pay-1", "step.started"))
    cancelled = await podium.cancel(row.run_id, reason="enough", store=fleet.store)
    assert (cancelled.status, cancelled.stop_reason) == ("cancelled", "enough")
    await machine.said(f"Run {row.run_id} is cancelled")
    assert (await fleet.store.read(row.run_id))[-1].type == "run.cancelled"


async def test_a_run_that_is_cancelled_before_its_turn_is_never_driven(fleet: Lab) -> None:
    row = await fleet.start("three")
    await podium.cancel(row.run_id, store=fleet.store)
    after = await fleet.start("three")
    await fleet.machine("--concurrency", "1")
    await fleet.over(after.run_id)
    assert {run_id for run_id, *_ in fleet.noted("paid")} == {after.run_id}


async def test_a_run_that_sleeps_holds_no_place_and_wakes_in_time(fleet: Lab) -> None:
    machine = await fleet.machine("--concurrency", "1")
    asleep = await fleet.start("sleeps", "6.5")
    await machine.said(f"Run {asleep.run_id} is paused")
    row = await fleet.store.get(asleep.run_id)
    assert row.stop_reason.startswith("asleep until ")
    other = await fleet.over((await fleet.start("three")).run_id)  # on the only place that there is
    log = await fleet.over(asleep.run_id)
    assert log[-1].time_us > other[-1].time_us
    woken = next(event.time_us for event in log if event.path == "after") / 1e6
    slept = next(
        float(decode(event.data)["result"])
        for event in log
        if event.path == "sleep" and b"result" in event.data
    )
    assert woken >= slept
    assert [len(calls) for calls in fleet.paid().values() if len(calls) != 1] == []


async def test_a_raised_budget_reaches_a_run_on_another_machine(fleet: Lab) -> None:
    gate = fleet.folder / "open"
    row = await fleet.start("counts", str(gate), budget=podium.Budget(calls=2))
    await fleet.machine()
    await fleet.event(row.run_id, is_step("wait", "step.started"))
    await raise_budget(row.run_id, podium.Budget(calls=3), store=fleet.store)
    await fleet.event(row.run_id, "budget.raised")
    gate.touch()
    log = await fleet.over(row.run_id)
    assert podium.RunState.of(event.to_event(row.run_id) for event in log).budget.calls == 3
    assert (await fleet.store.get(row.run_id)).budget.calls == 3


async def test_a_budget_that_was_raised_too_late_for_a_stretch_holds_in_the_next(fleet: Lab) -> None:
    row = await fleet.start("counts", str(fleet.folder), budget=podium.Budget(calls=2))
    await raise_budget(row.run_id, podium.Budget(calls=3), store=fleet.store)
    await fleet.machine()
    log = await fleet.over(row.run_id)
    assert podium.RunState.of(event.to_event(row.run_id) for event in log).budget.calls == 3


async def test_nothing_is_raised_that_has_no_ceiling_or_a_higher_one(fleet: Lab) -> None:
    row = await fleet.start("counts", str(fleet.folder), budget=podium.Budget(calls=2))
    for lower in (podium.Budget(calls=1), podium.Budget(usd=5), podium.Budget(seconds=9)):
        with pytest.raises(NotResumableError, match="nothing that was asked is more"):
            await raise_budget(row.run_id, lower, store=fleet.store)


@pytest.mark.parametrize(("old", "new"), [("1", "2"), ("2", "1")])
async def test_runs_finish_on_workers_of_another_version_and_say_what_ran_again(
    fleet: Lab, old: str, new: str
) -> None:
    gate = fleet.folder / "open"
    first = await fleet.machine(FLEET_VERSION=old)
    rows = [await fleet.start("upgraded", str(gate)) for _ in range(3)]
    for row in rows:
        await fleet.event(row.run_id, is_step("wait", "step.started"))
    second = await fleet.machine(FLEET_VERSION=new)
    first.signal(signal.SIGTERM)
    await first.said("Stopping: 3 runs")  # two signals at once would be one
    first.signal(signal.SIGTERM)
    assert await first.end() == 0
    gate.touch()
    for row in rows:
        log = await fleet.over(row.run_id)
        assert decode(log[-1].data)["output"] == ["same any", f"other {new}"]
        assert [event.path for event in log if event.type == "step.stale"] == ["other"]
    await second.said("is completed")
    paid = sorted((step, version) for _, step, version, _ in fleet.noted("paid"))
    assert paid == 3 * [("other", "1")] + 3 * [("other", "2")] + 3 * [("same", "any")]
