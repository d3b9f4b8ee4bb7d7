"""What goes wrong in a council, and what becomes of it: failures, budgets, crashes, replays."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.budget import Budget
from podium.engine.log import Store
from tests import warm
from tests.workflows.council.team import Team, council_events, hold, ideas, scores, selection

BROKEN = RuntimeError("the line is dead")

# ── the seed's error rules ──


@pytest.mark.parametrize(
    ("task", "role", "kind"),
    [
        ("research", "Researcher", "researcher"),
        ("critique", "Critic", "critic"),
        ("implement", "Implementer", "implementer"),
        ("synthesize", "Team Leader", "synthesis"),
    ],
)
async def test_an_agent_that_fails_in_a_round_is_a_warning_and_the_round_goes_on(
    store: Store, task: str, role: str, kind: str
) -> None:
    team = Team({task: BROKEN})
    result = await hold(store, team, preset="full", rounds=1)
    assert (result.status, result.output["final_idea"]["id"]) == ("completed", "I1")
    assert any(f"The {role} failed in round 1" in warning for warning in result.output["warnings"])
    assert kind not in [m["type"] for m in result.output["messages"]]
    warned = [data for name, data in await council_events(store, result.run_id) if name == "warning"]
    assert warned[0]["message"] in result.warnings
    assert warned[0]["round"] == 1


async def test_a_failed_critic_still_leaves_the_implementers_doubts_to_answer(store: Store) -> None:
    team = Team({"round-1/critique": BROKEN})
    await hold(store, team, preset="full", rounds=1)
    assert team.tasks[3:8] == ["critique", "implement", "rebut", "critique", "synthesize"]
    alone = Team({"critique": BROKEN})
    await hold(store, alone, preset="extended", rounds=1)
    assert "rebut" not in alone.tasks, "there was nothing to answer"


async def test_a_failed_defence_is_not_replied_to(store: Store) -> None:
    team = Team({"rebut": BROKEN})
    result = await hold(store, team, preset="extended", rounds=1)
    assert (team.tasks.count("critique"), result.status) == (1, "completed")


async def test_a_failed_ideation_is_tried_once_more_and_a_later_round_can_mend_it(store: Store) -> None:
    team = Team({"round-1/ideate": BROKEN, "round-1/ideate#2": BROKEN})
    result = await hold(store, team, rounds=2)
    assert result.status == "completed"
    assert {idea["round"] for idea in result.output["ideas"]} == {2}


async def test_a_failed_moderator_leaves_the_choice_to_the_leader(store: Store) -> None:
    team = Team({"ideate": ideas("a", "b", "c"), "validate": BROKEN, "select": selection("I2")})
    result = await hold(store, team)
    assert (result.status, result.output["scored"], result.output["final_idea"]["id"]) == (
        "completed",
        False,
        "I2",
    )
    assert any("The Moderator failed" in warning for warning in result.output["warnings"])


@pytest.mark.parametrize("reply", ["They are all fine.", {"evaluations": "good"}, {"evaluations": [1, 2]}])
async def test_an_evaluation_that_never_holds_a_score_is_a_failed_moderator(store: Store, reply: Any) -> None:
    result = await hold(store, Team({"validate": reply}))
    assert (result.status, result.output["scored"]) == ("completed", False)


async def test_a_failed_selection_leaves_the_highest_score(store: Store) -> None:
    team = Team({"ideate": ideas("a", "b", "c"), "validate": scores(I1=5, I2=9, I3=7), "select": BROKEN})
    result = await hold(store, team)
    assert (result.output["final_idea"]["id"], result.output["leader_choice"]) == ("I2", None)
    assert any("selection failed" in warning for warning in result.output["warnings"])


async def test_a_selection_in_prose_is_quoted_and_counts_if_it_names_one_idea(store: Store) -> None:
    team = Team({"ideate": ideas("apples", "pears", "plums"), "select": "Take the pears, they are ripe."})
    result = await hold(store, team, roles="leader,ideation")
    assert (result.output["leader_choice"], result.output["final_idea"]["title"]) == ("I2", "pears")
    assert any("Take the pears" in m["content"] for m in result.output["messages"])
    assert len(team.asked_to("select")) == 1, "what it means is plain"
    unclear = Team({"ideate": ideas("apples", "pears", "plums"), "select": "Apples or pears, who knows."})
    result = await hold(store, unclear, roles="leader,ideation")
    assert (result.output["leader_choice"], result.output["final_idea"]["id"]) == (None, "I1")
    assert len(unclear.asked_to("select")) == 3
    assert any("not in the agreed form" in warning for warning in result.output["warnings"])


@pytest.mark.parametrize("reply", [BROKEN, "", "<script>alert(1)</script>"])
async def test_a_failed_visualization_is_a_warning_and_the_report_is_there_all_the_same(
    store: Store, reply: Any
) -> None:
    result = await hold(store, Team({"visualize": reply}))
    assert (result.status, result.output["status"]) == ("completed", "completed")
    assert any("UI Creator" in warning for warning in result.output["warnings"])
    assert [artifact.name for artifact in result.artifacts] == ["recommendation.md", "report.html"]
    assert "visualization" not in [m["type"] for m in result.output["messages"]]


async def test_a_failed_kickoff_fails_the_run_and_can_be_tried_again(store: Store) -> None:
    result = await hold(store, Team({"kickoff": BROKEN}))
    assert result.status == "failed"
    assert "the line is dead" in result.error
    again = await (await podium.resume(result.run_id, model=Team(), store=store)).result()
    assert again.status == "completed"


@pytest.mark.parametrize("reply", [{"ideas": []}, BROKEN])
async def test_no_idea_at_all_fails_the_run(store: Store, reply: Any) -> None:
    team = Team({"ideate": reply})
    result = await hold(store, team, preset="extended")
    assert result.status == "failed"
    assert "No idea was generated" in result.error
    assert not {"validate", "select", "visualize"} & set(team.tasks)
    if reply is BROKEN:
        again = await (await podium.resume(result.run_id, model=Team(), store=store)).result()
        assert again.status == "completed", "the step that failed last is tried again"


async def test_a_blank_contribution_is_no_message(store: Store) -> None:
    result = await hold(store, Team({"critique": "   ", "synthesize": ""}), preset="extended", rounds=1)
    assert result.status == "completed"
    assert any("The reply is empty" in warning for warning in result.output["warnings"])
    assert any("The Team Leader said nothing" in warning for warning in result.output["warnings"])
    assert all(m["content"].strip() for m in result.output["messages"])


# ── budgets ──


async def test_out_of_budget_what_is_there_is_scored_from_the_reserve(store: Store) -> None:
    team = Team()
    result = await hold(store, team, preset="extended", budget=Budget(calls=10))
    assert (result.status, result.stop_reason) == ("partial", "budget")
    assert team.tasks[-1] == "validate"
    assert len(team.calls) == 10, "nothing of the reserve is left over"
    assert (result.output["final_idea"]["id"], result.output["scored"]) == ("I1", True)
    assert result.output["status"] == "partial"
    assert "report.html" in [artifact.name for artifact in result.artifacts]


async def test_without_a_reserve_the_first_idea_is_named_without_scores(store: Store) -> None:
    result = await hold(store, Team(), budget=Budget(calls=2))
    assert result.status == "partial"
    assert result.output["final_idea"] is None
    more = await hold(store, Team(), budget=Budget(calls=3), preset="extended")
    assert (more.status, more.output["ideas"]) == ("partial", [])


async def test_a_council_that_ran_out_goes_on_with_a_bigger_budget(store: Store) -> None:
    team = Team()
    first = await hold(store, team, preset="extended", budget=Budget(calls=10))
    handle = await podium.resume(first.run_id, model=team, store=store, budget=Budget(calls=60))
    result = await handle.result()
    assert (result.status, result.output["rounds"], len(result.output["ideas"])) == ("completed", 2, 10)
    plain = await hold(store, Team(), preset="extended")
    assert [m["content"] for m in result.output["messages"]] == [
        m["content"] for m in plain.output["messages"]
    ]
    assert len(team.calls) <= 16 + 2, "one evaluation was for the first ending"
    assert [idea["score"] for idea in result.output["ideas"]] == [
        idea["score"] for idea in plain.output["ideas"]
    ]


async def test_another_model_takes_over_without_saying_again_what_was_said(store: Store) -> None:
    team = Team()
    first = await hold(store, team, preset="extended", budget=Budget(calls=10))
    handle = await podium.resume(first.run_id, model="rehearsal", store=store, budget=Budget(calls=60))
    result = await handle.result()
    assert result.status == "completed"
    ids = [data["id"] for name, data in await council_events(store, result.run_id) if name == "message"]
    before = [m["id"] for m in first.output["messages"][:-1]]
    assert all(ids.count(name) == 1 for name in before), "all but the evaluation of the first ending"
    assert result.output["messages"][: len(before)] == first.output["messages"][:-1]


async def test_a_budget_of_what_it_costs_is_enough(store: Store) -> None:
    """The last words may draw on the reserve, so nothing of it is left over."""
    for preset, calls in (("standard", 6), ("extended", 16), ("full", 25)):
        team = Team()
        result = await hold(store, team, preset=preset, budget=Budget(calls=calls))
        assert (result.status, len(team.calls)) == ("completed", calls), preset


@pytest.mark.parametrize("calls", range(1, 16))
async def test_every_budget_ends_as_partial_with_the_best_so_far(store: Store, calls: int) -> None:
    team = Team()
    result = await hold(store, team, preset="extended", budget=Budget(calls=calls))
    assert len(team.calls) <= calls
    assert result.status == "partial", "a part of each ceiling is kept for the ending"
    assert (result.output["final_idea"] is not None) == bool(result.output["ideas"])


# ── the log ──


async def test_a_finished_council_replays_without_a_call(store: Store) -> None:
    team = Team({"critique": BROKEN, "validate": scores(I1=11, I2=5)})
    first = await hold(store, team, preset="full", rounds=2)
    calls = len(team.calls)
    again = await podium.replay(first.run_id, store=store)
    assert again.output == first.output
    assert len(team.calls) == calls


PROGRAM = Path(__file__).parent / "programs" / "killed.py"


@pytest.mark.parametrize("at", [1, 4, 9, 14, 16])
async def test_after_kill_9_a_council_ends_in_the_same_result(store: Store, tmp_path: Path, at: int) -> None:
    """The process is killed by its own model in the middle of call `at`."""
    url = f"sqlite:///{tmp_path}/podium.sqlite"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, str(PROGRAM), url, str(at)]
    completed = await asyncio.to_thread(warm.run, command, env=env, timeout=60)
    assert completed.returncode == -signal.SIGKILL, completed.stderr
    (row,) = await store.list_runs()
    team = Team()
    result = await (await podium.resume(row.run_id, model=team, store=store)).result()
    plain = await hold(store, Team(), preset="extended")
    assert (result.status, len(team.calls)) == ("completed", 16 - (at - 1))
    assert _without_times(result.output) == _without_times(plain.output)


def _without_times(output: dict[str, Any]) -> dict[str, Any]:
    return {**output, "messages": [{**m, "timestamp": ""} for m in output["messages"]]}
