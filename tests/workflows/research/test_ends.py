"""How a run ends early: out of money or calls, turned down by a person; and how it goes on after that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import podium
from podium.engine.codec import decode, encode
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.models.model import Call, Price, Reply, Usage
from podium.settings import Settings
from podium.workflows.research.flow import research_with
from tests.workflows.research.crew import (
    Crew,
    ResearchRun,
    Shelves,
    half_checked,
    research_run_of,
    study,
    workflow_of,
)
from tests.workflows.scripted import BARE

EIGHT_CALLS = 6
"""assess, synthesize, write_article, fact_check, edit, judge: what the plan of eight workers asks."""


async def resumed(store: Store, logged: ResearchRun, crew: Any, **budget: Any) -> RunResult:
    flow = workflow_of(clock=logged.clock)
    handle = await podium.resume(
        logged.result.run_id, workflow=flow, model=crew, store=store, budget=podium.Budget(**budget)
    )
    return await handle.result()


# ── budgets ──


async def test_exactly_what_it_costs_is_enough(store: Store) -> None:
    logged = await study(store, Crew(), budget=podium.Budget(calls=EIGHT_CALLS))
    assert (logged.result.status, logged.result.usage.calls) == ("completed", EIGHT_CALLS)


async def test_out_of_budget_with_an_article_hands_it_over_measured_by_program(store: Store) -> None:
    crew = Crew()
    logged = await study(store, crew, budget=podium.Budget(calls=4))
    assert (logged.result.status, logged.result.stop_reason) == ("partial", "budget")
    assert logged.result.exit_code == 4
    assert logged.output["status"] == "partial"
    assert logged.output["article"]["word_count"] > 1000
    assert logged.phases[-3:] == ["evaluating", "merging", "completed"]
    assert "coverage" not in logged.output["quality"]["parts"]["article"], "nobody could be asked"
    assert logged.output["quality"]["overall"] > 0
    assert any("podium resume" in one for one in logged.output["system_notes"])
    assert logged.result.usage.calls <= 4


async def test_out_of_budget_before_an_article_the_reserve_writes_one(store: Store) -> None:
    crew = Crew()
    logged = await study(store, crew, budget=podium.Budget(calls=3))
    assert (logged.result.status, logged.result.stop_reason) == ("partial", "budget")
    assert [call.task for call in crew.calls] == ["assess", "synthesize", "write_article"]
    assert crew.calls[-1].path == "last/write_article"
    assert logged.output["article"]["content"].startswith("# What was counted")
    assert logged.output["sources"]


async def test_out_of_budget_at_once_ends_without_an_article_but_with_the_way_reported(store: Store) -> None:
    logged = await study(store, Crew(), budget=podium.Budget(calls=0))
    assert (logged.result.status, logged.result.stop_reason) == ("partial", "budget")
    assert logged.output["article"] is None
    assert logged.output["quality"] is None
    assert logged.phases[-1] == "completed"


@pytest.mark.parametrize("calls", [0, 1, 2, 3, 4, 5])
async def test_resumed_with_a_larger_budget_it_is_completed_and_pays_nothing_twice(
    store: Store, calls: int
) -> None:
    crew = Crew()
    logged = await study(store, crew, budget=podium.Budget(calls=calls))
    assert logged.result.status == "partial"
    result = await resumed(store, logged, crew, calls=30)
    assert result.status == "completed"
    again = await research_run_of(store, result, crew)
    assert [one["to"] for one in result.output["phase_history"]] == [
        "initialized",
        "planning",
        "strategy",
        "executing",
        "evaluating",
        "merging",
        "completed",
    ]
    times = [one["timestamp"] for one in result.output["phase_history"]]
    assert times == sorted(times)
    done = [call.path for call in crew.calls]
    assert len(done) == len(set(done)), "no step was asked twice"
    assert again.output["metrics"]["tokens"] > 0


async def test_out_of_budget_in_the_second_iteration_the_first_version_is_handed_over(store: Store) -> None:
    crew = Crew({"fact_check": half_checked(0.1)})
    logged = await study(store, crew, budget=podium.Budget(calls=8), min_quality=0.9)
    assert (logged.result.status, logged.result.stop_reason) == ("partial", "budget")
    assert len(logged.all("evaluated")) == 1
    assert logged.output["quality"]["overall"] == logged.all("evaluated")[0]["quality"]
    assert [one["quality"] is None for one in logged.output["plan_history"]] == [False, True]


async def test_out_of_time_is_an_answer_too(store: Store) -> None:
    """The writer never answers. The time of the settings is shorter than that of the brief, so it counts."""

    class Stuck(Crew):
        async def __call__(self, call: Call) -> Any:
            if call.task == "write_article":
                await asyncio.Event().wait()
            return await super().__call__(call)

    result = await podium.run(
        workflow_of(),
        "AI trends",
        model=Stuck(),
        store=store,
        settings=Settings(time_limit=2.0),
        options=BARE,
    )
    assert (result.status, result.stop_reason, result.exit_code) == ("partial", "time", 4)
    assert result.output["article"] is None
    assert result.output["sources"], "what was found is handed over"
    assert "Article writing" in (await missing_of(store, result.run_id))


async def missing_of(store: Store, run_id: str) -> list[str]:
    row = next(row for row in await store.read(run_id) if row.type == "run.partial")
    return decode(row.data)["missing"]


class Priced:
    """A model that costs a cent a call."""

    name = "test:priced"
    rehearsal = False
    price = Price("known", 1.0, 1.0)

    def __init__(self, crew: Crew) -> None:
        self.crew = crew

    async def complete(self, call: Call, on_delta: Any = None) -> Reply:
        answer = await self.crew(call)
        text = answer if isinstance(answer, str) else encode(answer).decode()
        return Reply(text, Usage(100, 100, usd=0.01), self.name)

    def worst_case(self, call: Call) -> podium.Charge:
        return podium.Charge(usd=0.02, input_tokens=100, output_tokens=100, calls=1)


async def test_what_was_spent_is_reported_also_by_a_run_that_failed(store: Store) -> None:
    crew = Crew({"write_article": RuntimeError("down")})
    result = await podium.run(workflow_of(), "AI trends", model=Priced(crew), store=store, options=BARE)
    assert result.status == "failed"
    assert result.output["partial_results"]["cost_incurred"] == pytest.approx(0.02)


async def test_cost_and_tokens_are_part_of_the_result(store: Store) -> None:
    result = await podium.run(workflow_of(), "AI trends", model=Priced(Crew()), store=store, options=BARE)
    assert result.output["metrics"]["cost"] == pytest.approx(0.06)
    assert result.output["metrics"]["tokens"] == 1200


# ── gates ──


async def test_a_plan_waits_for_a_person_and_can_be_turned_down(store: Store) -> None:
    crew = Crew()
    logged = await study(store, crew, approve=("plan",))
    assert logged.result.status == "waiting"
    (question,) = logged.result.questions.values()
    assert question.question == "Run this plan (8 workers, 17m 00s, $2.40)?"
    assert crew.counted.keys() == {"assess"}
    await podium.answer(logged.result.run_id, "reject", store=store)
    result = await resumed(store, logged, crew)
    assert (result.status, result.stop_reason, result.output) == ("partial", "plan rejected", None)
    assert crew.counted.keys() == {"assess"}, "nothing was started"


async def test_an_approved_plan_and_result_complete(store: Store) -> None:
    crew = Crew()
    logged = await study(store, crew, approve=("plan", "result"))
    await podium.answer(logged.result.run_id, "approve", store=store)
    waiting = await resumed(store, logged, crew)
    assert waiting.status == "waiting"
    (question,) = waiting.questions.values()
    assert question.details.startswith("# What was counted")
    await podium.answer(logged.result.run_id, "approve", store=store)
    assert (await resumed(store, logged, crew)).status == "completed"


async def test_a_result_that_is_turned_down_is_partial(store: Store) -> None:
    crew = Crew()
    logged = await study(store, crew, approve=("result",))
    await podium.answer(logged.result.run_id, "reject", store=store)
    result = await resumed(store, logged, crew)
    assert (result.status, result.stop_reason) == ("partial", "result rejected")
    assert result.output["article"]["content"]


async def test_a_second_plan_that_is_turned_down_leaves_the_first_version(store: Store) -> None:
    crew = Crew({"fact_check": half_checked(0.1)})
    logged = await study(store, crew, approve=("plan",), min_quality=0.9)
    await podium.answer(logged.result.run_id, "approve", store=store)
    again = await resumed(store, logged, crew)
    assert again.status == "waiting", "another plan is another question"
    await podium.answer(logged.result.run_id, "reject", store=store)
    result = await resumed(store, logged, crew)
    assert (result.status, result.stop_reason) == ("partial", "plan rejected")
    assert result.output["article"]["content"]
    assert [one["to"] for one in result.output["phase_history"]][-2:] == ["merging", "completed"]


async def test_an_unknown_gate_is_refused(store: Store) -> None:
    with pytest.raises(podium.PodiumError, match="no gate route"):
        await study(store, Crew(), approve=("route",))


# ── waiting between attempts ──


async def test_attempts_wait_two_and_four_seconds_by_the_runs_own_durable_sleep(store: Store) -> None:
    """With the real clock the waits are sleeps in the log. The moment of waking is written down; it is not
    waited for here, because the run is paused in the first one."""
    crew = Crew({"write_article": RuntimeError("down")})
    handle = await podium.start(research_with(Shelves()), "AI trends", model=crew, store=store, options=BARE)
    async for event in handle.events():
        if event.type == "research.worker_retried":
            handle.request_pause("seen enough")
    await handle.result()
    rows = [
        row for row in await store.read(handle.run_id) if row.type == "step.started" and b"sleep" in row.data
    ]
    assert b'"seconds":2.0' in rows[0].data
