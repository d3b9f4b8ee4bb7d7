"""Scores and the winner: what is valid, what goes back, who wins."""

from __future__ import annotations

from typing import Any

import pytest

from podium.engine.log import Store
from podium.workflows.council.discussion import CRITERIA
from tests.workflows.council.team import Team, evaluation, hold, ideas, scores, selection

# ── scores ──


async def test_an_ideas_score_is_the_mean_of_its_criteria(store: Store) -> None:
    criteria = dict(zip(CRITERIA, (8, 7, 9, 6.5, 7.3), strict=True))
    team = Team({"ideate": ideas("a", "b", "c"), "validate": scores(I1=criteria, I2=5, I3=4)})
    result = await hold(store, team)
    final = result.output["final_idea"]
    assert (final["id"], final["score"], final["criteria"], final["validated"]) == (
        "I1",
        7.56,
        criteria,
        True,
    )
    assert (final["pros"], final["cons"], final["feedback"]) == (["good"], ["bad"], "work on it")


async def test_ideas_may_be_scored_by_title_and_scores_may_be_nested(store: Store) -> None:
    nested = {"idea_id": "b", "criteria": dict.fromkeys(CRITERIA, 9), "feedback": "x"}
    team = Team(
        {
            "ideate": ideas("a", "b", "c"),
            "validate": {"evaluations": [evaluation("A", 5), nested, evaluation("I3", 4)]},
        }
    )
    result = await hold(store, team)
    assert [idea["score"] for idea in result.output["ideas"]] == [5, 9, 4]
    assert len(team.asked_to("validate")) == 1


@pytest.mark.parametrize("wrong", [11, -1, "seven", None])
async def test_an_impossible_score_goes_through_repair(store: Store, wrong: Any) -> None:
    good = scores(I1=6, I2=7, I3=5)
    team = Team({"ideate": ideas("a", "b", "c"), "validate": [scores(I1=6, I2=wrong, I3=5), good]})
    result = await hold(store, team)
    assert [idea["score"] for idea in result.output["ideas"]] == [6, 7, 5]
    assert len(team.asked_to("validate")) == 2
    assert result.output["warnings"] == []


@pytest.mark.parametrize("wrong", [11, -1, "seven"])
async def test_what_stays_invalid_is_unscored_and_ranks_below_all_others(store: Store, wrong: Any) -> None:
    team = Team(
        {"ideate": ideas("a", "b", "c"), "validate": scores(I1=wrong, I2=2, I3=1), "select": selection("I1")}
    )
    result = await hold(store, team)
    assert [(idea["score"], idea["validated"]) for idea in result.output["ideas"]] == [
        (None, False),
        (2, True),
        (1, True),
    ]
    assert (result.output["final_idea"]["id"], result.output["leader_choice"]) == ("I2", "I1")
    assert len(team.asked_to("validate")) == 3, "two repairs"
    assert any("Without valid scores" in warning and "I1" in warning for warning in result.output["warnings"])


async def test_unknown_and_missing_ideas_in_an_evaluation_are_sent_back(store: Store) -> None:
    team = Team(
        {"ideate": ideas("a", "b", "c"), "validate": [scores(I1=6, I2=7, I9=9), scores(I1=6, I2=7, I3=8)]}
    )
    result = await hold(store, team)
    assert "there is no idea I9" in team.asked_to("validate")[1].prompt
    assert "missing: I3" in team.asked_to("validate")[1].prompt
    assert result.output["final_idea"]["id"] == "I3"


# ── the winner ──


async def test_a_leader_who_insists_on_a_lower_scored_idea_is_quoted_but_not_followed(store: Store) -> None:
    team = Team(
        {
            "ideate": ideas("a", "b", "c"),
            "validate": scores(I1=9, I2=7, I3=6),
            "select": selection("I3", "It is I3 that I love."),
        }
    )
    result = await hold(store, team)
    assert (result.output["final_idea"]["id"], result.output["leader_choice"]) == ("I1", "I3")
    assert any("It is I3 that I love." in m["content"] for m in result.output["messages"])


@pytest.mark.parametrize(("choice", "winner"), [("I3", "I3"), ("I1", "I2")])
async def test_a_tie_is_decided_by_the_leader_among_the_tied(store: Store, choice: str, winner: str) -> None:
    team = Team(
        {"ideate": ideas("a", "b", "c"), "validate": scores(I1=5, I2=8, I3=8), "select": selection(choice)}
    )
    assert (await hold(store, team)).output["final_idea"]["id"] == winner


async def test_no_moderator_means_no_scores_and_the_leaders_choice(store: Store) -> None:
    team = Team({"ideate": ideas("a", "b", "c"), "select": selection("c")})
    result = await hold(store, team, roles="leader,ideation,ui")
    assert (result.output["scored"], result.output["below_threshold"]) == (False, False)
    assert (result.output["final_idea"]["id"], result.output["leader_choice"]) == ("I3", "I3")
    assert "validate" not in team.tasks


@pytest.mark.parametrize(("given", "below"), [({}, True), ({"min_score": 4.5}, False)])
async def test_all_ideas_below_the_threshold_still_name_a_winner(
    store: Store, given: dict[str, Any], below: bool
) -> None:
    team = Team({"ideate": ideas("a", "b", "c"), "validate": scores(I1=4, I2=5, I3=3)})
    result = await hold(store, team, **given)
    assert (result.status, result.output["final_idea"]["id"]) == ("completed", "I2")
    assert result.output["below_threshold"] is below
    assert any("below the threshold of 6" in warning for warning in result.warnings) is below


async def test_a_choice_that_no_idea_has_is_sent_back(store: Store) -> None:
    team = Team({"ideate": ideas("a", "b", "c"), "select": [selection("the blue one"), selection("b")]})
    result = await hold(store, team)
    assert result.output["leader_choice"] == "I2"
    assert "there is no idea 'the blue one'" in team.asked_to("select")[1].prompt
