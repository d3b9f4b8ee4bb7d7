"""The state of a run, rebuilt from its log at any point."""

from __future__ import annotations

import podium
from podium.engine.codec import encode
from podium.engine.events import Event
from podium.engine.log import Store
from podium.workflows.research.fold import AgentState, as_data
from podium.workflows.research.policy import Phase, is_allowed
from tests.workflows.research.crew import Crew, half_checked, study, workflow_of


async def log_of(store: Store, run_id: str) -> list[Event]:
    return [row.to_event(run_id) for row in await store.read(run_id)]


async def test_at_every_point_of_the_log_the_state_is_one_of_the_machine(store: Store) -> None:
    logged = await study(store, Crew({"fact_check": [half_checked(0.2), None]}), min_quality=0.85)
    log = await log_of(store, logged.result.run_id)
    state, before = AgentState(), None
    for event in log:
        state.apply(event)
        if state.current_phase is not before:
            assert state.current_phase is not None
            assert is_allowed(before, state.current_phase)
            before = state.current_phase
        encode(as_data(state))
    assert state.current_phase is Phase.COMPLETED


async def test_the_fold_and_the_result_show_the_same(store: Store) -> None:
    logged = await study(store, Crew({"fact_check": [half_checked(0.2), None]}), min_quality=0.85)
    state = AgentState.of(await log_of(store, logged.result.run_id))
    output = logged.output
    assert state.execution_id == output["execution_id"]
    assert state.phase_history == output["phase_history"]
    assert [one["plan"] for one in state.plan_history] == [one["plan"] for one in output["plan_history"]]
    assert [one["quality"] for one in state.plan_history] == [
        one["quality"] for one in output["plan_history"]
    ]
    assert state.quality_score == output["quality"]["overall"]
    assert state.completeness_score == output["quality"]["article_quality"]
    assert state.iteration_count == output["metrics"]["iteration_count"] == 2
    assert state.total_tokens == output["metrics"]["tokens"]
    assert state.warnings == output["warnings"]
    assert (state.should_continue, state.feedback) == (False, [])
    assert state.brief["topic"] == "AI trends"
    assert state.max_iterations == 3


async def test_what_the_agents_did_is_in_the_log_in_order(store: Store) -> None:
    logged = await study(store, Crew())
    state = AgentState.of(await log_of(store, logged.result.run_id))
    done = [(one.agent, one.action) for one in state.agent_actions if one.action != "complete_worker"]
    step = ("StateManager", "transition_phase")
    assert done == [
        ("Controller", "initialize"),
        step,
        step,
        ("Planner", "create_plan"),
        step,
        ("Strategy", "optimize_plan"),
        step,
        step,
        ("Supervisor", "evaluate"),
        step,
        ("Merger", "create_output"),
        step,
    ]
    created = next(one for one in state.agent_actions if one.action == "create_plan")
    assert created.details == {"steps": 4, "cost": 2.4}
    evaluated = next(one for one in state.agent_actions if one.action == "evaluate")
    assert evaluated.details["decision"] == "COMPLETE"
    times = [one.time for one in state.agent_actions if one.agent == "StateManager"]
    assert times == sorted(times)


async def test_in_the_middle_of_an_execution_results_and_steps_are_there(store: Store) -> None:
    logged = await study(store, Crew())
    log = await log_of(store, logged.result.run_id)
    writing = next(
        nth for nth, event in enumerate(log) if getattr(event.data, "worker", "") == "article_writer"
    )
    state = AgentState.of(log[: writing + 1])
    assert state.current_phase is Phase.EXECUTING
    assert state.current_step_index == 2
    assert {one["worker"] for one in state.results_of("research")} == {
        "web_search",
        "academic_search",
        "news_search",
    }
    assert state.results_of("writing") == []
    running = [task.worker for task in state.all_tasks if task.status == "running"]
    assert running == ["article_writer"]
    done = AgentState.of(log)
    assert done.current_step_index == 4
    assert {task.status for task in done.all_tasks} == {"completed"}
    assert done.results_of("quality")


async def test_tasks_show_their_attempts_losses_and_cost(store: Store) -> None:
    crew = Crew({"edit": [RuntimeError("once"), None], "fact_check": RuntimeError("always")})
    logged = await study(store, crew)
    state = AgentState.of(await log_of(store, logged.result.run_id))
    tasks = {task.worker: task for task in state.all_tasks}
    assert (tasks["editor"].status, tasks["editor"].attempts) == ("completed", 2)
    assert (tasks["fact_checker"].status, tasks["fact_checker"].attempts) == ("skipped", 3)
    assert tasks["editor"].charge.calls == 2
    assert tasks["web_search"].charge.calls == 0
    assert sum(task.charge.calls for task in state.all_tasks) == state.charge.calls - 2, "assess and judge"


async def test_a_run_that_failed_and_goes_on_is_in_the_phase_that_it_failed_in(store: Store) -> None:
    logged = await study(store, Crew({"write_article": RuntimeError("down")}))
    run_id = logged.result.run_id
    assert AgentState.of(await log_of(store, run_id)).current_phase is Phase.FAILED
    handle = await podium.resume(run_id, workflow=workflow_of(), model=Crew(), store=store)
    await handle.result()
    log = await log_of(store, run_id)
    again = next(nth for nth, event in enumerate(log) if event.type == "run.resumed")
    assert AgentState.of(log[: again + 1]).current_phase is Phase.EXECUTING
    assert AgentState.of(log).current_phase is Phase.COMPLETED


async def test_a_run_that_a_budget_has_ended_goes_on_in_its_phase_too(store: Store) -> None:
    logged = await study(store, Crew(), budget=podium.Budget(calls=4))
    run_id = logged.result.run_id
    assert AgentState.of(await log_of(store, run_id)).current_phase is Phase.COMPLETED
    handle = await podium.resume(
        run_id, workflow=workflow_of(), model=Crew(), store=store, budget=podium.Budget(calls=40)
    )
    assert (await handle.result()).status == "completed"
    log = await log_of(store, run_id)
    again = next(nth for nth, event in enumerate(log) if event.type == "run.resumed")
    assert AgentState.of(log[: again + 1]).current_phase is Phase.EXECUTING
    state = AgentState.of(log)
    assert state.current_phase is Phase.COMPLETED
    assert len(state.evaluations) == 1, "the measure of the stop is replaced"
