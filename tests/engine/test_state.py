"""The state of a run is a fold over its log, the same live and afterwards."""

from __future__ import annotations

from datetime import UTC, datetime

import podium
from podium.engine.events import Event, RunCreated
from podium.engine.log import Store
from podium.engine.state import RunState


async def state_of(store: Store, run_id: str) -> RunState:
    return RunState.of(row.to_event(run_id) for row in await store.read(run_id))


async def test_a_completed_run(store: Store) -> None:
    async def fail() -> None:
        raise ValueError("no")

    async def pay() -> str:
        return "paid"

    async def flow(run: podium.Run, request: str, *, size: int = 3) -> podium.Outcome:
        await run.step("pay", pay, cost=podium.Charge(usd=0.25, calls=1))
        try:
            await run.step("fail", fail)
        except podium.StepFailedError:
            run.warn("one step failed")
        await run.artifact("a.txt", "text")
        return podium.Outcome(output={"size": size}, quality=0.9)

    result = await podium.run(
        podium.Workflow(flow, "flow"), "go", store=store, options={"size": 5}, budget=podium.Budget(usd=1)
    )
    state = await state_of(store, result.run_id)
    assert (state.status, state.output, state.quality) == ("completed", {"size": 5}, 0.9)
    assert (state.request, state.options, state.budget.usd) == ("go", {"size": 5}, 1)
    assert state.usage.usd == 0.25
    assert state.steps["pay"].charge.usd == 0.25
    assert (state.steps["fail"].status, state.steps["fail"].error) == ("failed", "no")
    assert state.warnings == result.warnings == ["one step failed"]
    assert [made.name for made in state.artifacts.values()] == ["a.txt"]
    assert state.in_flight == []
    row = await store.get(result.run_id)
    assert (row.status, row.usage.usd, row.workflow) == ("completed", 0.25, "flow")


async def test_a_first_warning_stands_before_the_others(store: Store) -> None:
    async def flow(run: podium.Run, request: str) -> str:
        run.warn("a source is missing")
        run.warn("the draft is better", first=True)
        return request

    result = await podium.run(podium.Workflow(flow, "flow"), "go", store=store)
    wanted = ["the draft is better", "a source is missing"]
    assert result.warnings == (await state_of(store, result.run_id)).warnings == wanted
    replayed = await podium.replay(result.run_id, workflow=podium.Workflow(flow, "flow"), store=store)
    assert replayed.warnings == wanted


async def test_a_waiting_run_knows_its_question(store: Store) -> None:
    async def flow(run: podium.Run, request: str) -> str:
        await run.step("a", str.upper, "x")
        return await run.wait_for("Which?", choices=["left", "right"])

    result = await podium.run(podium.Workflow(flow, "flow"), "go", store=store)
    state = await state_of(store, result.run_id)
    assert state.status == "waiting"
    assert state.questions["question"].choices == ["left", "right"]


async def test_lives_are_counted_and_driven_time_adds_up(store: Store) -> None:
    stop = [True]

    async def flow(run: podium.Run, request: str) -> str:
        await run.step("a", str.upper, "x")
        if stop[0]:
            raise RuntimeError("stopped")
        return await run.step("b", str.upper, "y")

    workflow = podium.Workflow(flow, "flow")
    first = await podium.run(workflow, "go", store=store)
    stop[0] = False
    second = await (await podium.resume(first.run_id, workflow=workflow, store=store)).result()
    state = await state_of(store, first.run_id)
    assert state.resumes == 1
    assert state.status == "completed"
    assert second.duration_s >= first.duration_s > 0
    assert state.driven_s == second.duration_s or abs(state.driven_s - second.duration_s) < 1e-5


async def test_a_failure_with_odd_details_is_still_recorded(store: Store) -> None:
    async def odd() -> None:
        raise podium.ModelFailedError("", "OddError", "odd", thing=object())

    async def flow(run: podium.Run, request: str) -> str:
        try:
            await run.step("a", odd)
        except podium.ModelFailedError as error:
            return str(error.details["thing"])
        return "no failure"

    result = await podium.run(podium.Workflow(flow, "flow"), "go", store=store)
    assert str(result.output).startswith("<object object")
    replayed = await podium.replay(result.run_id, workflow=podium.Workflow(flow, "flow"), store=store)
    assert replayed.output == result.output


def test_a_budget_of_another_version_or_a_damaged_one_can_still_be_shown() -> None:
    logged = {"usd": 2.5, "tokens": 1.5, "calls": "many", "seconds": -1, "water_l": 3}
    created = RunCreated(workflow="tree", request="go", budget=logged)
    event = Event(run_id="r", seq=1, time=datetime.now(UTC), path="", type=created.type, data=created)
    assert RunState.of([event]).budget == podium.Budget(usd=2.5)
