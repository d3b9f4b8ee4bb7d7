"""A council at work: who speaks when, what they read, ideas, scores, the winner."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.loading import load_module
from podium.engine.log import Store
from podium.errors import UsageError
from podium.settings import ProviderOptions
from podium.workflows.council.discussion import CRITERIA
from tests.tools.site import Answer, serving
from tests.workflows.council.team import Team, evaluation, hold, idea, ideas, scores, selection, told

# ── phases and turns ──


@pytest.mark.parametrize(("preset", "number"), [("standard", 6), ("extended", 16), ("full", 25)])
async def test_an_undisturbed_council_makes_as_many_calls(store: Store, preset: str, number: int) -> None:
    team = Team()
    found = await hold(store, team, preset=preset)
    assert (found.status, found.output["status"], len(team.calls)) == ("completed", "completed", number)
    assert found.usage.calls == number
    assert found.warnings == []


async def test_the_order_of_a_full_discussion(store: Store) -> None:
    team = Team()
    await hold(store, team, preset="full")
    turns = ["research", "ideate", "critique", "implement", "rebut", "critique", "synthesize"]
    assert team.tasks == ["kickoff", *turns, *turns, *turns, "validate", "select", "visualize"]
    assert [call.role for call in team.calls[:8]] == [
        "team_leader", "researcher", "ideation", "critic", "implementer", "ideation", "critic", "team_leader",
    ]  # fmt: skip
    assert team.paths[1:3] == ["round-1/research", "round-1/ideate"]


async def test_a_missing_role_is_skipped(store: Store) -> None:
    team = Team()
    found = await hold(store, team, roles="leader,ideation", rounds=2)
    assert team.tasks == ["kickoff", "ideate", "synthesize", "ideate", "synthesize", "select"]
    assert (found.output["scored"], found.output["final_idea"]["id"]) == (False, "I1")


async def test_critic_and_implementer_speak_only_when_there_are_ideas(store: Store) -> None:
    team = Team({"round-1/ideate": {"ideas": []}, "round-1/ideate#2": {"ideas": []}})
    found = await hold(store, team, preset="full", rounds=2)
    first = [call.task for call in team.calls if call.path.startswith("round-1/")]
    assert first == ["research", "ideate", "ideate", "synthesize"]
    assert "round-2/critique" in team.paths
    assert found.status == "completed"


async def test_without_deep_dive_nobody_defends_the_ideas(store: Store) -> None:
    team = Team()
    await hold(store, team, preset="extended", deep_dive=False)
    assert "rebut" not in team.tasks
    assert team.tasks.count("critique") == 2


async def test_deep_dive_is_answered_idea_by_idea_and_the_critic_replies(store: Store) -> None:
    team = Team()
    found = await hold(store, team, preset="extended", rounds=1)
    said = [(m["from"], m["to"], m["type"]) for m in found.output["messages"]]
    assert said[3:6] == [
        ("critic", "team", "critic"),
        ("ideation", "critic", "ideation"),
        ("critic", "ideation", "critic"),
    ]
    assert "The ideas were defended" in team.asked("critique")[1].prompt


async def test_a_deep_dive_with_nobody_to_answer_is_left_out_and_says_so(store: Store) -> None:
    team = Team()
    found = await hold(store, team, deep_dive=True)
    assert len(team.calls) == 6
    assert any("deep dive is left out" in warning for warning in found.output["warnings"])


async def test_passes_ask_for_ideas_more_than_once_in_a_round(store: Store) -> None:
    team = Team()
    found = await hold(store, team, passes=3)
    assert team.tasks == ["kickoff", *3 * ["ideate"], "synthesize", "validate", "select", "visualize"]
    assert len(found.output["ideas"]) == 15
    assert "Generate creative ideas based on the discussion so far" in team.asked("ideate")[0].prompt
    again = "Building on previous ideas and feedback, generate refined or new creative ideas"
    assert again in team.asked("ideate")[1].prompt


async def test_the_prompts_are_those_of_the_seed(store: Store) -> None:
    team = Team()
    await hold(store, team, "Bikes for all", preset="full", rounds=2)
    said = {call.path: call.prompt for call in team.calls}
    assert (
        "We have a team of 7 agents to explore: Bikes for all\n\n"
        "Team members: Ideation Specialist, Moderator, Researcher, Critic, Implementer\n\n"
        "Please set the direction for this discussion. What should each team member focus on?"
    ) in said["kickoff"]
    assert "Provide research and context for this topic" in said["round-1/research"]
    assert "Generate creative ideas based on the discussion so far" in said["round-1/ideate"]
    assert (
        "Building on previous ideas and feedback, generate refined or new creative ideas"
        in said["round-2/ideate"]
    )
    assert "Challenge the assumptions in these ideas. What could go wrong?" in said["round-1/critique"]
    assert (
        "How would we actually implement these ideas? What's the practical approach?"
        in said["round-1/implement"]
    )
    assert (
        "Synthesize the contributions from round 2. What are the key insights? What should the team focus on "
        "in the next round? If this is the final round, identify which ideas are strongest."
    ) in said["round-2/synthesize"]
    assert "Provide final scores and comprehensive evaluation of all ideas discussed" in said["validate"]
    assert (
        "Based on all the discussion, evaluation, and team input, select the best idea and explain your "
        "decision"
    ) in said["select"]


# ── context and messages ──


async def test_every_ask_carries_topic_discussion_and_ideas_in_the_shape_of_the_seed(store: Store) -> None:
    team = Team(
        {"ideate": {"ideas": [idea("Bikes", "Many bikes."), idea("Buses", "More."), idea("Trams", "Fast.")]},
         "validate": scores(I1=7, I2=8, I3=6)}
    )  # fmt: skip
    await hold(store, team, "Get about")
    assert team.calls[0].prompt.startswith("Topic: Get about\n\nPrevious Discussion:\n")
    chosen = team.asked("select")[0].prompt
    assert "[team_leader -> team]: Team Leader on kickoff." in chosen
    assert "[ideation -> team]: - **I1. Bikes**: Many bikes." in chosen
    assert (
        "Current Ideas:\n1. [I1] Bikes - Many bikes.\n   Score: 7/10\n2. [I2] Buses - More.\n   Score: 8/10"
    ) in chosen
    assert "   Score: not scored" in team.asked("validate")[0].prompt


async def test_a_later_speaker_reads_everything_that_was_said_before(store: Store) -> None:
    team = Team()
    found = await hold(store, team, preset="full")
    last = team.asked("implement")[-1].prompt
    before = [m for m in found.output["messages"] if m["type"] != "visualization"]
    index = max(nth for nth, m in enumerate(before) if m["type"] == "implementer")
    assert all(m["content"] in last for m in before[:index])
    assert "condensed" not in last


async def test_messages_have_the_fields_and_types_of_the_seed(store: Store) -> None:
    found = await hold(store, Team(), preset="full", rounds=1)
    messages = found.output["messages"]
    assert all(set(m) == {"id", "from", "to", "content", "timestamp", "type"} for m in messages)
    assert [m["id"] for m in messages] == [f"M{nth}" for nth in range(1, len(messages) + 1)]
    assert [m["type"] for m in messages] == [
        "kickoff", "researcher", "ideation", "critic", "implementer", "ideation", "critic", "synthesis",
        "validation", "selection", "visualization",
    ]  # fmt: skip
    stamps = [m["timestamp"] for m in messages]
    assert stamps == sorted(stamps)


async def test_ideas_have_the_fields_of_the_contract(store: Store) -> None:
    found = await hold(store, Team())
    assert set(found.output) == {
        "topic", "status", "rounds", "ideas", "final_idea", "scored", "below_threshold", "leader_choice",
        "messages", "warnings",
    }  # fmt: skip
    (first, *_) = found.output["ideas"]
    assert list(first) == [
        "id", "title", "description", "category", "round", "refines", "criteria", "score", "pros", "cons",
        "feedback", "validated",
    ]  # fmt: skip
    assert first["criteria"] == dict.fromkeys(CRITERIA, 8.0)
    assert (found.output["topic"], found.output["rounds"]) == ("the topic", 1)


async def test_the_order_of_events(store: Store) -> None:
    team = Team({"ideate": ideas("a", "b", "c")})
    found = await hold(store, team)
    assert [name for name, _ in await told(store, found.run_id)] == [
        "phase", "message", "phase", "message", *3 * ["idea_added"], "message", "phase", *3 * ["idea_scored"],
        "message", "message", "selected", "phase", "message", "report_ready",
    ]  # fmt: skip


# ── ideas ──


async def test_with_too_few_ideas_the_missing_number_is_asked_for_once(store: Store) -> None:
    team = Team({"ideate": [ideas("a"), ideas("b")]})
    found = await hold(store, team, preset="extended", rounds=1)
    assert team.tasks.count("ideate") == 2
    assert "at least 3 more ideas: bring 3 that differ" in team.asked("ideate")[1].prompt
    assert [one["title"] for one in found.output["ideas"]] == ["a", "b"]


async def test_min_ideas_counts_the_ideas_of_all_rounds(store: Store) -> None:
    team = Team({"ideate": [ideas("a", "b"), ideas("c"), ideas("d")]})
    await hold(store, team, rounds=2, min_ideas=3)
    assert team.tasks.count("ideate") == 3, "one more in round 1, none in round 2"
    more = Team({"ideate": ideas("a", "b", "c", "d")})
    await hold(store, more, min_ideas=5)
    assert more.tasks.count("ideate") == 2


async def test_of_200_ideas_20_are_taken_and_the_rest_is_dropped_with_a_warning(store: Store) -> None:
    team = Team({"ideate": ideas(*(f"Idea number {nth}" for nth in range(200)))})
    found = await hold(store, team)
    assert len(found.output["ideas"]) == 20
    assert any("180 were dropped" in warning for warning in found.output["warnings"])
    assert found.status == "completed"


async def test_ideas_may_stand_in_a_markdown_fence_or_as_a_bare_list(store: Store) -> None:
    listed = json.dumps([idea("a"), idea("b"), "just a title"])
    team = Team({"ideate": f"Here they are:\n\n```json\n{listed}\n```\nEnjoy!"})
    found = await hold(store, team)
    assert [one["title"] for one in found.output["ideas"]] == ["a", "b", "just a title"]
    assert len(team.calls) == 6, "no repair was needed"


async def test_ideas_in_prose_are_sent_back(store: Store) -> None:
    team = Team({"ideate": ["My first idea is a bicycle, my second a bus.", ideas("a", "b", "c")]})
    found = await hold(store, team)
    assert len(found.output["ideas"]) == 3
    assert len(team.asked("ideate")) == 2
    assert "could not be used" in team.asked("ideate")[1].prompt


async def test_ideas_that_stay_prose_are_a_failure_and_asked_for_once_more(store: Store) -> None:
    team = Team({"round-1/ideate": "only words", "round-1/ideate#2": ideas("a", "b", "c")})
    found = await hold(store, team)
    assert [one["title"] for one in found.output["ideas"]] == ["a", "b", "c"]
    assert any("Ideation Specialist failed in round 1" in warning for warning in found.output["warnings"])


async def test_a_refinement_refers_to_the_idea_it_refines(store: Store) -> None:
    team = Team(
        {
            "ideate": [
                ideas("a", "b", "c"),
                {"ideas": [idea("better a", refines="a"), idea("d", refines="I99")]},
            ]
        }
    )
    found = await hold(store, team, rounds=2)
    refined = {one["title"]: (one["refines"], one["round"]) for one in found.output["ideas"]}
    assert (refined["better a"], refined["d"]) == (("I1", 2), (None, 2))


# ── scores ──


async def test_an_ideas_score_is_the_mean_of_its_criteria(store: Store) -> None:
    given = dict(zip(CRITERIA, (8, 7, 9, 6.5, 7.3), strict=True))
    team = Team({"ideate": ideas("a", "b", "c"), "validate": scores(I1=given, I2=5, I3=4)})
    found = await hold(store, team)
    final = found.output["final_idea"]
    assert (final["id"], final["score"], final["criteria"], final["validated"]) == ("I1", 7.56, given, True)
    assert (final["pros"], final["cons"], final["feedback"]) == (["good"], ["bad"], "work on it")


async def test_ideas_may_be_scored_by_title_and_scores_may_be_nested(store: Store) -> None:
    nested = {"idea_id": "b", "criteria": dict.fromkeys(CRITERIA, 9), "feedback": "x"}
    team = Team(
        {"ideate": ideas("a", "b", "c"),
         "validate": {"evaluations": [evaluation("A", 5), nested, evaluation("I3", 4)]}}
    )  # fmt: skip
    found = await hold(store, team)
    assert [one["score"] for one in found.output["ideas"]] == [5, 9, 4]
    assert len(team.asked("validate")) == 1


@pytest.mark.parametrize("wrong", [11, -1, "seven", None])
async def test_an_impossible_score_goes_through_repair(store: Store, wrong: Any) -> None:
    good = scores(I1=6, I2=7, I3=5)
    team = Team({"ideate": ideas("a", "b", "c"), "validate": [scores(I1=6, I2=wrong, I3=5), good]})
    found = await hold(store, team)
    assert [one["score"] for one in found.output["ideas"]] == [6, 7, 5]
    assert len(team.asked("validate")) == 2
    assert found.output["warnings"] == []


@pytest.mark.parametrize("wrong", [11, -1, "seven"])
async def test_what_stays_invalid_is_unscored_and_ranks_below_all_others(store: Store, wrong: Any) -> None:
    team = Team(
        {"ideate": ideas("a", "b", "c"), "validate": scores(I1=wrong, I2=2, I3=1), "select": selection("I1")}
    )
    found = await hold(store, team)
    assert [(one["score"], one["validated"]) for one in found.output["ideas"]] == [
        (None, False),
        (2, True),
        (1, True),
    ]
    assert (found.output["final_idea"]["id"], found.output["leader_choice"]) == ("I2", "I1")
    assert len(team.asked("validate")) == 3, "two repairs"
    assert any("Without valid scores" in warning and "I1" in warning for warning in found.output["warnings"])


async def test_unknown_and_missing_ideas_in_an_evaluation_are_sent_back(store: Store) -> None:
    team = Team(
        {"ideate": ideas("a", "b", "c"), "validate": [scores(I1=6, I2=7, I9=9), scores(I1=6, I2=7, I3=8)]}
    )
    found = await hold(store, team)
    assert "there is no idea I9" in team.asked("validate")[1].prompt
    assert "missing: I3" in team.asked("validate")[1].prompt
    assert found.output["final_idea"]["id"] == "I3"


# ── the winner ──


async def test_a_leader_who_insists_on_a_lower_scored_idea_is_quoted_but_not_followed(store: Store) -> None:
    team = Team(
        {"ideate": ideas("a", "b", "c"), "validate": scores(I1=9, I2=7, I3=6),
         "select": selection("I3", "It is I3 that I love.")}
    )  # fmt: skip
    found = await hold(store, team)
    assert (found.output["final_idea"]["id"], found.output["leader_choice"]) == ("I1", "I3")
    assert any("It is I3 that I love." in m["content"] for m in found.output["messages"])


@pytest.mark.parametrize(("choice", "winner"), [("I3", "I3"), ("I1", "I2")])
async def test_a_tie_is_decided_by_the_leader_among_the_tied(store: Store, choice: str, winner: str) -> None:
    team = Team(
        {"ideate": ideas("a", "b", "c"), "validate": scores(I1=5, I2=8, I3=8), "select": selection(choice)}
    )
    assert (await hold(store, team)).output["final_idea"]["id"] == winner


async def test_no_moderator_means_no_scores_and_the_leaders_choice(store: Store) -> None:
    team = Team({"ideate": ideas("a", "b", "c"), "select": selection("c")})
    found = await hold(store, team, roles="leader,ideation,ui")
    assert (found.output["scored"], found.output["below_threshold"]) == (False, False)
    assert (found.output["final_idea"]["id"], found.output["leader_choice"]) == ("I3", "I3")
    assert "validate" not in team.tasks


@pytest.mark.parametrize(("given", "below"), [({}, True), ({"min_score": 4.5}, False)])
async def test_all_ideas_below_the_threshold_still_name_a_winner(
    store: Store, given: dict[str, Any], below: bool
) -> None:
    team = Team({"ideate": ideas("a", "b", "c"), "validate": scores(I1=4, I2=5, I3=3)})
    found = await hold(store, team, **given)
    assert (found.status, found.output["final_idea"]["id"]) == ("completed", "I2")
    assert found.output["below_threshold"] is below
    assert any("below the threshold of 6" in warning for warning in found.warnings) is below


async def test_a_choice_that_no_idea_has_is_sent_back(store: Store) -> None:
    team = Team({"ideate": ideas("a", "b", "c"), "select": [selection("the blue one"), selection("b")]})
    found = await hold(store, team)
    assert found.output["leader_choice"] == "I2"
    assert "there is no idea 'the blue one'" in team.asked("select")[1].prompt


# ── what is refused, before anything is asked ──


@pytest.mark.parametrize(
    "options",
    [
        {"roles": "ideation,moderator"},
        {"roles": "leader"},
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


# ── models of their own ──


async def test_a_role_can_have_a_model_of_its_own(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "critics.py"
    file.write_text(
        "asked = []\n\nasync def critic(call):\n    asked.append(call.task)\n    return 'A risk.'\n"
    )
    team, own = Team(), {"critic": f"python:{file}:critic"}
    options = {"preset": "extended"}
    found = await podium.run("council", "x", model=team, model_for=own, store=store, options=options)
    assert found.status == "completed"
    assert set(load_module(file).asked) == {"critique"}
    assert "critique" not in team.tasks


PROFILES = """
from tests.workflows.council.team import Team

asked = []
team = Team()

async def powerful(call):
    asked.append(("powerful", call.role))
    return await team(call)

async def balanced(call):
    asked.append(("balanced", call.role))
    return await team(call)
"""


async def test_leader_and_moderator_get_the_powerful_model(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "profiles.py"
    file.write_text(PROFILES)
    settings = podium.Settings(profiles={name: f"python:{file}:{name}" for name in ("powerful", "balanced")})
    found = await podium.run("council", "x", store=store, settings=settings, options={"preset": "full"})
    assert found.status == "completed", found.error
    by_role = {role: profile for profile, role in load_module(file).asked}
    assert {role for role, profile in by_role.items() if profile == "powerful"} == {
        "team_leader",
        "moderator",
    }
    assert len(by_role) == 7


async def test_a_role_can_have_a_profile_of_its_own(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "profiles.py"
    file.write_text(PROFILES)
    settings = podium.Settings(profiles={"powerful": f"python:{file}:powerful"})
    team, options = Team(), {"preset": "extended"}
    found = await podium.run(
        "council", "x", model=team, model_for={"critic": "powerful"}, store=store, settings=settings,
        options=options,
    )  # fmt: skip
    assert found.status == "completed", found.error
    assert set(load_module(file).asked) == {("powerful", "critic")}
    assert "critique" not in team.tasks


# ── the gate ──


async def test_a_person_may_reject_the_result(store: Store) -> None:
    waiting = await hold(store, Team(), approve=["result"])
    assert waiting.status == "waiting"
    (question,) = waiting.questions.values()
    assert "Idea 1" in question.question
    await podium.answer(waiting.run_id, "reject", store=store)
    found = await (await podium.resume(waiting.run_id, model=Team(), store=store)).result()
    assert (found.status, found.stop_reason, found.output["status"]) == (
        "partial",
        "result rejected",
        "rejected",
    )
    assert found.output["final_idea"]["id"] == "I1"


async def test_the_researcher_reads_a_folder_and_its_cards_are_checked(
    store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder: Path = tmp_path_factory.mktemp("notes")
    (folder / "traffic.txt").write_text("300 cars an hour")
    cards = [
        {"claim": "300 cars an hour", "source": "traffic.txt"},
        {"claim": "Many like bikes", "source": "everybody", "link": "https://example.org/invented"},
    ]
    wanted: dict[str, Any] = {"text": "", "tool_calls": [{"tool": "list_files", "args": {}, "why": "to see"}]}
    team = Team({"research": [wanted, {"text": "The facts.", "evidence": cards}]})
    found = await hold(store, team, preset="extended", rounds=1, files=str(folder))
    assert found.status == "completed"
    second = team.asked("research")[1].prompt
    assert "traffic.txt" in second.split("# What your tools found")[1]
    details = [
        data["details"] for _, data in await told(store, found.run_id) if data.get("type") == "researcher"
    ]
    assert [card["checked"] for card in details[0]["evidence"]] == [True, False]
    assert details[0]["sources"] == "list_files"


async def test_evidence_from_a_web_search_is_linked_and_checked(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")
    hits = {"results": [{"title": "Lanes", "url": "https://a.example/lanes", "content": "They help."}]}
    wanted: dict[str, Any] = {
        "text": "",
        "tool_calls": [{"tool": "search_web", "args": {"query": "bike lanes"}}],
    }
    cards = [
        {"claim": "Lanes help", "source": "Lanes", "link": "https://a.example/lanes"},
        {"claim": "Buses too", "source": "Lanes", "link": "https://a.example/lanes-and-more"},
    ]
    team = Team({"research": [wanted, {"text": "Found.", "evidence": cards}]})
    async with serving(search=Answer(json.dumps(hits).encode(), "application/json")) as site:
        settings = podium.Settings(providers={"tavily": ProviderOptions(base_url=site.url)})
        options = {"preset": "extended", "rounds": 1, "web": True}
        run = await podium.run("council", "x", model=team, store=store, settings=settings, options=options)
        assert len(site.asked) == 1
    assert run.status == "completed"
    brief = next(m for m in run.output["messages"] if m["type"] == "researcher")
    assert "(Looked up with: search_web.)" in brief["content"]
    assert "Lanes help (Lanes https://a.example/lanes)" in brief["content"]
    assert "Buses too (Lanes https://a.example/lanes-and-more; not checked)" in brief["content"]


async def test_a_search_that_fails_leaves_a_brief_from_the_model_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")
    wanted: dict[str, Any] = {
        "text": "",
        "tool_calls": [{"tool": "search_web", "args": {"query": "bike lanes"}}],
    }
    team = Team({"research": [wanted, {"text": "From memory.", "evidence": []}]})
    async with serving(search=Answer(b"", status=429)) as site:
        settings = podium.Settings(providers={"tavily": ProviderOptions(base_url=site.url)})
        options = {"preset": "extended", "rounds": 1, "web": True}
        run = await podium.run("council", "x", model=team, store=store, settings=settings, options=options)
    brief = next(m for m in run.output["messages"] if m["type"] == "researcher")
    assert "from the model alone" in brief["content"]
    assert "was asked too often" in team.asked("research")[1].prompt


async def test_a_researcher_that_never_stops_searching_is_stopped(
    store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    more: list[dict[str, Any]] = [{"tool": "list_files", "args": {}}, {"tool": "no_such_tool", "args": {}}]
    team = Team({"research": {"text": "More!", "tool_calls": more}})
    run = await hold(store, team, preset="extended", rounds=1, files=str(folder))
    assert run.status == "completed"
    assert len(team.asked("research")) == 4, "six calls, two at a time, and the last answer counts"
    assert "No more tool calls are possible" in team.asked("research")[-1].prompt


async def test_without_tools_the_brief_says_that_it_comes_from_the_model_alone(store: Store) -> None:
    found = await hold(store, Team(), preset="extended", rounds=1)
    brief = next(m for m in found.output["messages"] if m["type"] == "researcher")
    assert "from the model alone" in brief["content"]
    assert "A fact (no source; not checked)" in brief["content"]
