"""A council at work: who speaks when, what they read, how ideas come in, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.errors import UsageError
from podium.workflows.council.discussion import CRITERIA
from tests.workflows.council.team import Team, council_events, hold, idea, ideas

# ── phases and turns ──


@pytest.mark.parametrize(("preset", "number"), [("standard", 6), ("extended", 16), ("full", 25)])
async def test_an_undisturbed_council_makes_as_many_calls(store: Store, preset: str, number: int) -> None:
    team = Team()
    result = await hold(store, team, preset=preset)
    assert (result.status, result.output["status"], len(team.calls)) == ("completed", "completed", number)
    assert result.usage.calls == number
    assert result.warnings == []


async def test_the_order_of_a_full_discussion(store: Store) -> None:
    team = Team()
    await hold(store, team, preset="full")
    turns = ["research", "ideate", "critique", "implement", "rebut", "critique", "synthesize"]
    assert team.tasks == ["kickoff", *turns, *turns, *turns, "validate", "select", "visualize"]
    assert [call.role for call in team.calls[:8]] == [
        "team_leader",
        "researcher",
        "ideation",
        "critic",
        "implementer",
        "ideation",
        "critic",
        "team_leader",
    ]
    assert team.paths[1:3] == ["round-1/research", "round-1/ideate"]


async def test_a_missing_role_is_skipped(store: Store) -> None:
    team = Team()
    result = await hold(store, team, roles="leader,ideation", rounds=2)
    assert team.tasks == ["kickoff", "ideate", "synthesize", "ideate", "synthesize", "select"]
    assert (result.output["scored"], result.output["final_idea"]["id"]) == (False, "I1")


async def test_a_team_may_be_given_as_a_list(store: Store) -> None:
    team = Team()
    await hold(store, team, roles=["team_leader", "ideation", "critic"])
    assert team.tasks == ["kickoff", "ideate", "critique", "synthesize", "select"]


async def test_critic_and_implementer_speak_only_when_there_are_ideas(store: Store) -> None:
    team = Team({"round-1/ideate": {"ideas": []}, "round-1/ideate#2": {"ideas": []}})
    result = await hold(store, team, preset="full", rounds=2)
    first = [call.task for call in team.calls if call.path.startswith("round-1/")]
    assert first == ["research", "ideate", "ideate", "synthesize"]
    assert "round-2/critique" in team.paths
    assert result.status == "completed"


async def test_without_deep_dive_nobody_defends_the_ideas(store: Store) -> None:
    team = Team()
    await hold(store, team, preset="extended", deep_dive=False)
    assert "rebut" not in team.tasks
    assert team.tasks.count("critique") == 2


async def test_deep_dive_is_answered_idea_by_idea_and_the_critic_replies(store: Store) -> None:
    team = Team()
    result = await hold(store, team, preset="extended", rounds=1)
    messages = [(m["from"], m["to"], m["type"]) for m in result.output["messages"]]
    assert messages[3:6] == [
        ("critic", "team", "critic"),
        ("ideation", "critic", "ideation"),
        ("critic", "ideation", "critic"),
    ]
    assert "# Your task: reply to the defence" in team.asked_to("critique")[1].prompt


async def test_a_deep_dive_with_nobody_to_answer_is_left_out_and_says_so(store: Store) -> None:
    team = Team()
    result = await hold(store, team, deep_dive=True)
    assert len(team.calls) == 6
    assert any("deep dive is skipped" in warning for warning in result.output["warnings"])


async def test_passes_ask_for_ideas_more_than_once_in_a_round(store: Store) -> None:
    team = Team()
    result = await hold(store, team, passes=3)
    assert team.tasks == ["kickoff", *3 * ["ideate"], "synthesize", "validate", "select", "visualize"]
    assert len(result.output["ideas"]) == 15
    assert "# Your task: ideas for round 1 of 1" in team.asked_to("ideate")[0].prompt
    assert "# Your task: better ideas, round 1 of 1" in team.asked_to("ideate")[1].prompt


async def test_a_later_speaker_reads_everything_that_was_said_before(store: Store) -> None:
    team = Team()
    result = await hold(store, team, preset="full")
    last = team.asked_to("implement")[-1].prompt
    before = [m for m in result.output["messages"] if m["type"] != "visualization"]
    index = max(nth for nth, m in enumerate(before) if m["type"] == "implementer")
    words = [m["content"] for m in before[:index] if not m["content"].startswith("- **I")]
    assert all(text in last for text in words)
    assert all(
        f"[{idea['id']}] {idea['title']} - {idea['description']}" in last for idea in result.output["ideas"]
    )
    assert "condensed" not in last


async def test_messages_have_the_fields_and_types_of_the_seed(store: Store) -> None:
    result = await hold(store, Team(), preset="full", rounds=1)
    messages = result.output["messages"]
    assert all(set(m) == {"id", "from", "to", "content", "timestamp", "type"} for m in messages)
    assert [m["id"] for m in messages] == [f"M{nth}" for nth in range(1, len(messages) + 1)]
    assert [m["type"] for m in messages] == [
        "kickoff",
        "researcher",
        "ideation",
        "critic",
        "implementer",
        "ideation",
        "critic",
        "synthesis",
        "validation",
        "selection",
        "visualization",
    ]
    stamps = [m["timestamp"] for m in messages]
    assert stamps == sorted(stamps)


async def test_ideas_have_the_fields_of_the_contract(store: Store) -> None:
    result = await hold(store, Team())
    assert set(result.output) == {
        "topic",
        "status",
        "rounds",
        "ideas",
        "final_idea",
        "scored",
        "below_threshold",
        "leader_choice",
        "chosen",
        "reasoning",
        "recommendation",
        "deliverable",
        "open_points",
        "settled_points",
        "messages",
        "comparison",
        "baseline",
        "warnings",
    }
    (first, *_) = result.output["ideas"]
    assert list(first) == [
        "id",
        "title",
        "description",
        "category",
        "round",
        "refines",
        "criteria",
        "score",
        "pros",
        "cons",
        "feedback",
        "validated",
        "version",
        "history",
        "origin",
    ]
    assert first["criteria"] == dict.fromkeys(CRITERIA, 8.0)
    assert (result.output["topic"], result.output["rounds"]) == ("the topic", 1)


async def test_the_order_of_events(store: Store) -> None:
    team = Team({"ideate": ideas("a", "b", "c")})
    result = await hold(store, team)
    assert [name for name, _ in await council_events(store, result.run_id)] == [
        "phase",
        "message",
        "phase",
        "message",
        *3 * ["idea_added"],
        "message",
        "phase",
        *3 * ["idea_scored"],
        "message",
        "message",
        "selected",
        "phase",
        "message",
        "report_ready",
    ]


# ── ideas ──


async def test_with_too_few_ideas_the_missing_number_is_asked_for_once(store: Store) -> None:
    team = Team({"ideate": [ideas("a"), ideas("b")]})
    result = await hold(store, team, preset="extended", rounds=1)
    assert team.tasks.count("ideate") == 2
    assert "Bring 3 new ideas that differ from those above" in team.asked_to("ideate")[1].prompt
    assert [idea["title"] for idea in result.output["ideas"]] == ["a", "b"]
    assert "Only 2 of at least 4 ideas came up; 2 are missing (--min-ideas)." in result.warnings


async def test_min_ideas_counts_the_ideas_of_all_rounds(store: Store) -> None:
    team = Team({"ideate": [ideas("a", "b"), ideas("c"), ideas("d")]})
    await hold(store, team, rounds=2, min_ideas=3)
    assert team.tasks.count("ideate") == 3, "one more in round 1, none in round 2"
    more = Team({"ideate": ideas("a", "b", "c", "d")})
    await hold(store, more, min_ideas=5)
    assert more.tasks.count("ideate") == 2


async def test_of_200_ideas_20_are_taken_and_the_rest_is_dropped_with_a_warning(store: Store) -> None:
    team = Team({"ideate": ideas(*(f"Idea number {nth}" for nth in range(200)))})
    result = await hold(store, team)
    assert len(result.output["ideas"]) == 20
    assert any("180 were dropped" in warning for warning in result.output["warnings"])
    assert result.status == "completed"


async def test_ideas_may_stand_in_a_markdown_fence_or_as_a_bare_list(store: Store) -> None:
    listed = json.dumps([idea("a"), idea("b"), "just a title"])
    team = Team({"ideate": f"Here they are:\n\n```json\n{listed}\n```\nEnjoy!"})
    result = await hold(store, team)
    assert [idea["title"] for idea in result.output["ideas"]] == ["a", "b", "just a title"]
    assert len(team.calls) == 6, "no repair was needed"


async def test_ideas_in_prose_are_sent_back(store: Store) -> None:
    team = Team({"ideate": ["My first idea is a bicycle, my second a bus.", ideas("a", "b", "c")]})
    result = await hold(store, team)
    assert len(result.output["ideas"]) == 3
    assert len(team.asked_to("ideate")) == 2
    assert "could not be used" in team.asked_to("ideate")[1].prompt


async def test_ideas_that_stay_prose_are_a_failure_and_asked_for_once_more(store: Store) -> None:
    team = Team({"round-1/ideate": "only words", "round-1/ideate#2": ideas("a", "b", "c")})
    result = await hold(store, team)
    assert [idea["title"] for idea in result.output["ideas"]] == ["a", "b", "c"]
    assert any("Ideation Specialist failed in round 1" in warning for warning in result.output["warnings"])


async def test_a_refinement_refers_to_the_idea_it_refines(store: Store) -> None:
    team = Team(
        {
            "ideate": [
                ideas("a", "b", "c"),
                {"ideas": [idea("better a", refines="a"), idea("d", refines="I99")]},
            ]
        }
    )
    result = await hold(store, team, rounds=2)
    refined = {idea["title"]: (idea["refines"], idea["round"]) for idea in result.output["ideas"]}
    assert (refined["better a"], refined["d"]) == ((["I1"], 2), ([], 2))


# ── what is refused, before anything is asked ──


@pytest.mark.parametrize(
    "options",
    [
        {"roles": "ideation,moderator"},
        {"roles": "leader"},
        {"roles": 7},
        {"rounds": 0},
        {"rounds": 6},
        {"passes": 4},
        {"min_ideas": 0},
        {"min_score": 11},
        {"preset": "huge"},
        {"context_window": 100},
        {"files": "/no/such/folder", "preset": "full"},
        {"web": True},
    ],
)
async def test_wrong_options_are_refused_before_any_call(store: Store, options: dict[str, Any]) -> None:
    team = Team()
    with pytest.raises(UsageError):
        await hold(store, team, **options)
    assert team.calls == []


async def test_an_empty_topic_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="empty"):
        await hold(store, Team(), "  ")


# ── the gate ──


async def test_a_person_may_reject_the_result(store: Store) -> None:
    waiting = await hold(store, Team(), approve=["result"])
    assert waiting.status == "waiting"
    (question,) = waiting.questions.values()
    assert "Idea 1" in question.question
    await podium.answer(waiting.run_id, "reject", store=store)
    result = await (await podium.resume(waiting.run_id, model=Team(), store=store)).result()
    assert (result.status, result.stop_reason, result.output["status"]) == (
        "partial",
        "result rejected",
        "rejected",
    )
    assert result.output["final_idea"]["id"] == "I1"
