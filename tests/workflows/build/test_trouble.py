"""Agents that fail: three tries, then the fallback; nothing is ever called done that nobody checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import podium
from podium.engine.events import StepStarted
from podium.engine.log import Store
from tests.workflows.build.team import (
    Team,
    Told,
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
    told = await Told.of(store, made.run_id)
    assert told.of_type("plan_created", approved=True)[0]["fallback"] is True
    assert told.of_type("message", type="PLAN_RESPONSE")[0]["payload"]["fallback"] is True


async def test_without_a_coder_the_attempt_fails(store: Store, tmp_path: Path) -> None:
    team = Team({"code": [BROKEN, BROKEN, BROKEN, None]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, steps_of(made)["step-1"]["attempts"]) == ("completed", 2)


async def test_without_a_tester_the_bare_result_counts(store: Store, tmp_path: Path) -> None:
    team = Team({"test_review": BROKEN, "fix_plan": BROKEN, "code": [coded("wrong"), None]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert made.status == "completed"
    assert "verify_test" not in team.tasks
    assert "The tester could not be asked" in team.asked_to("fix")[0].prompt
    assert steps_of(made)["step-1"]["testResults"]["summary"] == ""


async def test_without_a_supervisor_steps_complete_on_passing_tests_and_say_so_but_no_goal_is_achieved(
    store: Store, tmp_path: Path
) -> None:
    gates = ("plan", "code", "test", "step", "goal")
    team = Team({**{f"verify_{gate}": BROKEN for gate in gates}, "code": [coded("wrong"), None]})
    made = await make(store, team, repository(tmp_path / "project"), max_iterations=1)
    assert (made.status, made.stop_reason) == ("partial", "goal not met")
    assert made.output["tests"]["ok"] is True
    steps = steps_of(made)
    assert [(one["status"], one["verified"]) for one in steps.values()] == [("completed", False)] * 2
    assert {gate["by"] for gate in made.output["gates"]} == {"nobody"}
    messages = git(tmp_path / "project", "log", "--format=%b", f"main..{made.output['branch']}")
    assert messages.count("not verified by the supervisor") == 2
    assert made.output["escalations"] == []
    assert "GOAL_COMPLETE" not in (await Told.of(store, made.run_id)).messages()


async def test_an_unverified_step_does_not_complete_on_failing_tests(store: Store, tmp_path: Path) -> None:
    gates = ("code", "test", "step")
    wrong = modified("wrong", "again")
    team = Team({**{f"verify_{gate}": BROKEN for gate in gates}, "code": coded("wrong"), "fix": wrong,
                 "subplan": [{"steps": []}], "revise_plan": {"steps": []}})  # fmt: skip
    made = await make(store, team, repository(tmp_path / "project"), max_iterations=1)
    assert made.status == "partial"
    assert steps_of(made)["step-1"]["status"] == "failed"
    assert made.output["commits"] == []


async def test_replies_that_never_fit_are_a_failure_of_the_agent(store: Store, tmp_path: Path) -> None:
    team = Team({"verify_step": "fine by me"})
    made = await make(store, team, repository(tmp_path / "project"))
    assert made.status == "completed"
    assert [one["verified"] for one in steps_of(made).values()] == [False, False]


async def test_the_coder_may_look_things_up_ten_times_a_step_each_an_event(
    store: Store, tmp_path: Path
) -> None:
    asked = {"n": 0}

    def code(call: podium.Call) -> Any:
        asked["n"] += 1
        if asked["n"] > 12:
            return None
        wanted = (
            {"kind": "read", "target": "README.md"}
            if asked["n"] % 2
            else {"kind": "search", "target": "project"}
        )
        return {"requests": [wanted]}

    team = Team({"code": code})
    made = await make(store, team, repository(tmp_path / "project"))
    told = await Told.of(store, made.run_id)
    looked = told.of_type("looked_up", step_id="step-1")
    assert [one["number"] for one in looked] == list(range(1, 11))
    assert all(one["ok"] for one in looked)
    prompts = [call.prompt for call in team.asked_to("code")]
    assert "you have 10 left" in prompts[0]
    assert "you have 1 left" in prompts[9]
    assert "# A project" in prompts[1]
    assert "README.md:1: # A project" in prompts[2]
    assert "nothing more can be looked up after 10 times" in prompts[11]
    assert made.status == "completed"


async def test_a_coder_that_asks_for_everything_at_once_gets_the_first_ten(
    store: Store, tmp_path: Path
) -> None:
    many = {"requests": [{"kind": "search", "target": f"word {number}"} for number in range(30)]}
    team = Team({"code": [many, None]})
    made = await make(store, team, repository(tmp_path / "project"))
    looked = (await Told.of(store, made.run_id)).of_type("looked_up", step_id="step-1")
    assert [one["target"] for one in looked] == [f"word {number}" for number in range(10)]
    assert "you have 10 left" not in team.asked_to("code")[1].prompt
    assert made.status == "completed"


async def test_what_may_not_be_read_is_refused_and_told(store: Store, tmp_path: Path) -> None:
    outside = {"kind": "read", "target": "../../etc/passwd"}
    team = Team({"code": [{"requests": [outside]}, None]})
    made = await make(store, team, repository(tmp_path / "project"))
    told = await Told.of(store, made.run_id)
    assert told.of_type("looked_up")[0]["ok"] is False
    assert made.status == "completed"


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
    assert "../outside.py" in prompts[1].partition("# Why your last answer could not be used")[2]
    assert "README.md" in prompts[2].partition("# Why your last answer could not be used")[2]
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
    told = await Told.of(store, made.run_id)
    assert told.of_type("message", type="STEP_BLOCKED")[0]["from"] == "coder"


async def test_a_goal_below_its_gate_is_an_issue(store: Store, tmp_path: Path) -> None:
    team = Team({"verify_goal": [scored(20, "not at all", verified=False), scored(90)]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert [one["level"] for one in made.output["escalations"]] == ["REFOCUS"]
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
