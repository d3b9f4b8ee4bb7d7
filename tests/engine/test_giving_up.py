"""A workflow that gives up: the run fails, and what it has is handed over."""

from __future__ import annotations

from typing import Any

import pytest

import podium
from podium.engine.codec import decode
from podium.engine.log import Store
from podium.engine.state import RunState
from podium.errors import GaveUpError


def giving_up(output: Any) -> podium.Workflow:
    async def flow(run: podium.Run, request: str) -> str:
        raise GaveUpError("It cannot be done.", hint="Ask for less.", output=output)

    return podium.Workflow(flow, "flow")


@pytest.mark.parametrize("size", [10, 200_000], ids=["small", "large"])
async def test_what_it_has_is_in_the_result_and_in_the_log(store: Store, size: int) -> None:
    made = {"done": "x" * size}
    result = await podium.run(giving_up(made), "x", store=store)
    assert (result.status, result.error, result.hint) == ("failed", "It cannot be done.", "Ask for less.")
    assert result.output == made
    state = RunState.of([row.to_event(result.run_id) for row in await store.read(result.run_id)])
    logged = decode(await store.get_blob(state.output_blob)) if state.output_blob else state.output
    assert (state.status, logged) == ("failed", made)
    assert bool(state.output_blob) == (size > 100_000), "a large output does not lie in the log itself"


async def test_what_cannot_be_logged_does_not_hide_why_it_failed(store: Store) -> None:
    result = await podium.run(giving_up(object()), "x", store=store)
    assert (result.status, result.error, result.output) == ("failed", "It cannot be done.", None)


async def test_a_resume_runs_the_step_behind_it_again(store: Store) -> None:
    answers = [RuntimeError("down"), None]

    async def ask() -> str:
        problem = answers.pop(0)
        if problem is not None:
            raise problem
        return "up"

    async def flow(run: podium.Run, request: str) -> str:
        try:
            return await run.step("ask", ask)
        except podium.StepFailedError as error:
            raise GaveUpError("Unable.", output="half") from error

    workflow = podium.Workflow(flow, "flow")
    result = await podium.run(workflow, "x", store=store)
    assert (result.status, result.output) == ("failed", "half")
    again = await (await podium.resume(result.run_id, workflow=workflow, store=store)).result()
    assert (again.status, again.output) == ("completed", "up")


async def test_a_run_can_look_at_others_in_its_store_inside_a_step(store: Store) -> None:
    async def count(run: podium.Run, request: str) -> int:
        async def look() -> int:
            return len(await run.store.list_runs())

        return await run.step("look", look)

    workflow = podium.Workflow(count, "count")
    first = await podium.run(workflow, "x", store=store)
    second = await podium.run(workflow, "x", store=store)
    assert (first.output, second.output) == (1, 2)
    assert (await podium.replay(first.run_id, workflow=workflow, store=store)).output == 1
