"""Agents that fail: three tries, then the fallback; nothing is ever called done that nobody checked."""

from __future__ import annotations

from pathlib import Path

from podium.engine.events import StepStarted
from podium.engine.log import Store
from tests.workflows.build.team import (
    RunEvents,
    Team,
    changed,
    coded,
    git,
    make,
    modified,
    repository,
    scored,
    steps_of,
)

BROKEN = RuntimeError("no answer today")


async def test_every_agent_is_tried_three_times(store: Store, tmp_path: Path) -> None:
    team = Team({"plan": [BROKEN, BROKEN, None], "code": [BROKEN, BROKEN, None]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, made.warnings) == ("completed", [])
    assert (team.tasks.count("plan"), team.tasks[:3]) == (3, ["plan"] * 3)


async def test_between_tries_there_is_a_pause_that_grows(store: Store, tmp_path: Path) -> None:
    team = Team({"plan": [BROKEN, BROKEN, None]})
    made = await make(store, team, repository(tmp_path / "project"))
    rows = [row.to_event(made.run_id) for row in await store.read(made.run_id)]
    started = [row.data for row in rows if isinstance(row.data, StepStarted)]
    assert [one.about["seconds"] for one in started if one.kind == "sleep"] == [0.001, 0.002]


async def test_without_a_planner_there_is_a_plan_of_one_step(store: Store, tmp_path: Path) -> None:
    team = Team({"plan": BROKEN})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, list(steps_of(made))) == ("completed", ["step-1"])
    assert team.tasks[:4] == ["plan", "plan", "plan", "verify_plan"]
    assert made.warnings == ["The planner failed 3 times to plan: RuntimeError: no answer today"]
    log = await RunEvents.of(store, made.run_id)
    assert log.of_type("plan_created", approved=True)[0]["fallback"] is True
    assert log.of_type("message", type="PLAN_RESPONSE")[0]["payload"]["fallback"] is True


async def test_without_a_coder_the_attempt_fails(store: Store, tmp_path: Path) -> None:
    team = Team({"code": [BROKEN, BROKEN, BROKEN, None]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, steps_of(made)["step-1"]["attempts"]) == ("completed", 2)


async def test_without_a_tester_the_bare_result_counts(store: Store, tmp_path: Path) -> None:
    team = Team({"test_review": BROKEN, "fix_plan": BROKEN, "code": [coded("wrong"), None]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert made.status == "completed"
    assert "The tester could not be asked" in team.asked_to("fix")[0].prompt
    assert steps_of(made)["step-1"]["testResults"]["summary"] == ""


async def test_without_a_supervisor_steps_complete_on_passing_tests_and_say_so_but_no_goal_is_achieved(
    store: Store, tmp_path: Path
) -> None:
    gates = ("plan", "step", "goal")
    team = Team({**{f"verify_{gate}": BROKEN for gate in gates}, "code": [coded("wrong"), None]})
    made = await make(store, team, repository(tmp_path / "project"), max_iterations=1)
    assert (made.status, made.stop_reason) == ("partial", "goal not met")
    assert made.output["tests"]["ok"] is True
    steps = steps_of(made)
    assert [(step["status"], step["verified"]) for step in steps.values()] == [("completed", False)] * 2
    assert {gate["by"] for gate in made.output["gates"]} == {"nobody"}
    messages = git(tmp_path / "project", "log", "--format=%b", f"main..{made.output['branch']}")
    assert messages.count("Not verified by the supervisor.") == 2
    assert made.output["escalations"] == []
    assert "GOAL_COMPLETE" not in (await RunEvents.of(store, made.run_id)).messages()


async def test_an_unverified_step_does_not_complete_on_failing_tests(store: Store, tmp_path: Path) -> None:
    wrong = modified("wrong", "again")
    team = Team(
        {
            "verify_step": BROKEN,
            "code": coded("wrong"),
            "fix": wrong,
            "subplan": [{"steps": []}],
            "revise_plan": {"steps": []},
        }
    )
    made = await make(store, team, repository(tmp_path / "project"), max_iterations=1)
    assert (made.status, made.output["state"]["status"]) == ("failed", "aborted"), (
        "empty plans are issues, too"
    )
    assert "completed" not in [step["status"] for step in steps_of(made).values()]
    assert made.output["commits"] == []


async def test_replies_that_never_fit_are_a_failure_of_the_agent(store: Store, tmp_path: Path) -> None:
    team = Team({"verify_step": "fine by me"})
    made = await make(store, team, repository(tmp_path / "project"))
    assert made.status == "completed"
    assert [step["verified"] for step in steps_of(made).values()] == [False, False]


async def test_changes_that_cannot_be_applied_are_sent_back_twice_and_nothing_of_them_is_made(
    store: Store, tmp_path: Path
) -> None:
    outside = changed({"../outside.py": "x = 1\n", "fine.py": "y = 1\n"})
    edits = [{"search": "not in it", "replace": "x"}]
    edit = {"changes": [{"path": "README.md", "action": "modify", "edits": edits}]}
    team = Team({"code": [outside, edit, None]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, steps_of(made)["step-1"]["attempts"]) == ("completed", 1)
    prompts = [call.prompt for call in team.asked_to("code")]
    assert "../outside.py" in prompts[1].partition("# Why your last submission could not be used")[2]
    assert "README.md" in prompts[2].partition("# Why your last submission could not be used")[2]
    assert not (tmp_path / "outside.py").exists()
    assert "fine.py" not in str(made.output["diff_stat"])
    refused = [one["what"] for one in made.output["caught"] if one["refused"]]
    assert any("../outside.py" in what for what in refused)


async def test_a_third_change_that_cannot_be_applied_ends_the_attempt(store: Store, tmp_path: Path) -> None:
    outside = changed({"/etc/outside.py": "x = 1\n"})
    team = Team({"code": [outside, outside, outside, None]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, steps_of(made)["step-1"]["attempts"]) == ("completed", 2)


async def test_a_coder_that_says_blocked_gets_a_sub_plan_at_once(store: Store, tmp_path: Path) -> None:
    blocked = {"status": "blocked", "blocked_reason": "the library is missing"}
    team = Team({"code": [blocked, None]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, steps_of(made)["step-1"]["attempts"]) == ("completed", 1)
    assert "the library is missing" in team.asked_to("subplan")[0].prompt
    log = await RunEvents.of(store, made.run_id)
    assert log.of_type("message", type="STEP_BLOCKED")[0]["from"] == "coder"


async def test_a_goal_below_its_gate_is_an_issue(store: Store, tmp_path: Path) -> None:
    team = Team({"verify_goal": [scored(20, "not at all", verified=False), scored(90)]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert [escalation["level"] for escalation in made.output["escalations"]] == ["REFOCUS"]
    assert "(REFOCUS)" in team.asked_to("plan")[1].prompt


async def test_a_step_without_evidence_is_not_done_and_a_fix_keeps_that_of_its_change(
    store: Store, tmp_path: Path
) -> None:
    fix = {**modified(), "evidence": ""}
    team = Team({"code": [coded(evidence=" "), coded("wrong"), None], "fix": fix})
    made = await make(store, team, repository(tmp_path / "project"))
    gate = next(one for one in made.output["gates"] if not one["passed"])
    assert gate["problems"] == ["there is no evidence that the step is done"]
    assert (made.status, steps_of(made)["step-1"]["attempts"]) == ("completed", 2)
    assert steps_of(made)["step-1"]["codeOutput"]["evidence"] == "answer.txt holds it"
