"""Cross-department validation: conflicts are found, the heads concerned settle them in at most two rounds."""

from __future__ import annotations

from typing import Any

from podium.engine.log import Store
from tests.workflows.studio.crew import Crew, RunEvents, artifact, conflict, department, make

TWO = {"departments": "story,audio"}
DOOR = {"conflicts": [conflict("story", "audio")]}
NONE: dict[str, Any] = {"conflicts": []}
STAYS = {"yields": False, "reason": "the script says so", "output": ""}


def gives_way(text: str, reason: str = "red is nicer") -> dict[str, Any]:
    return {"yields": True, "reason": reason, "output": text}


async def test_departments_that_agree_pass(store: Store) -> None:
    crew = Crew()
    result = await make(store, crew, "x", **TWO)
    assert result.output["conflicts"] == []
    assert len(crew.asked_to("validate")) == 1
    log = await RunEvents.of(store, result.run_id)
    assert log.of_type("validated") == [{"round": 1, "conflicts": 0, "low": 0, "error": ""}]


async def test_a_conflict_is_resolved_by_the_head_that_yields_and_the_result_shows_who_and_why(
    store: Store,
) -> None:
    crew = Crew({"validate": DOOR, "validate#2": NONE, "*/resolve": gives_way("THE RED DOOR CREAKS")})
    result = await make(store, crew, "x", **TWO)
    assert result.status == "completed"
    (conflict,) = result.output["conflicts"]
    assert (conflict["status"], conflict["kind"], conflict["severity"]) == ("resolved", "direct", "high")
    assert (conflict["departments"], conflict["reason"]) == (["story", "audio"], "red is nicer")
    yielded = conflict["yielded"]
    assert department(result, yielded)["output"] == "THE RED DOOR CREAKS"
    name = department(result, yielded)["departmentName"]
    assert f"Resolved: {name} yielded, because red is nicer" in await artifact(store, result, "record.md")
    log = await RunEvents.of(store, result.run_id)
    assert log.of_type("conflict_resolved") == [
        {"id": "c1", "round": 1, "by": yielded, "reason": "red is nicer"}
    ]
    assert "THE RED DOOR CREAKS" in crew.asked("validate#2")[0].prompt, "the second look sees the change"


async def test_a_head_that_yields_settles_all_conflicts_between_the_same_departments(store: Store) -> None:
    second = {**DOOR["conflicts"][0], "description": "The lamp burns here and is broken there."}
    both = {"conflicts": [DOOR["conflicts"][0], second]}
    crew = Crew({"validate": both, "validate#2": NONE, "*/resolve": gives_way("A RED DOOR, A LAMP")})
    result = await make(store, crew, "x", **TWO)
    (call,) = crew.asked_to("resolve")
    assert "The lamp burns here and is broken there." in call.prompt
    assert [conflict["status"] for conflict in result.output["conflicts"]] == ["resolved", "resolved"]
    log = await RunEvents.of(store, result.run_id)
    assert [event["id"] for event in log.of_type("conflict_resolved")] == ["c1", "c2"]


async def test_the_less_relevant_department_is_asked_first_and_the_other_hears_its_reason(
    store: Store,
) -> None:
    crew = Crew(
        {
            "validate": DOOR,
            "validate#2": NONE,
            "resolve[c1-audio-1]/resolve": STAYS,
            "resolve[c1-story-1]/resolve": gives_way("THE DOOR"),
        }
    )
    result = await make(store, crew, "A story with music")
    assert result.output["routing"]["primary"] == "story"
    order = [call.path for call in crew.asked_to("resolve")]
    assert order == ["resolve[c1-audio-1]/resolve", "resolve[c1-story-1]/resolve"]
    assert "Audio Department does not yield: the script says so" in crew.asked_to("resolve")[1].prompt
    assert result.output["conflicts"][0]["yielded"] == "story"


async def test_after_two_rounds_a_conflict_stays_unresolved_and_is_shown(store: Store) -> None:
    crew = Crew({"*/validate": DOOR, "*/resolve": STAYS})
    result = await make(store, crew, "x", **TWO)
    assert result.status == "completed"
    assert (len(crew.asked_to("validate")), len(crew.asked_to("resolve"))) == (2, 4)
    (conflict,) = result.output["conflicts"]
    assert (conflict["status"], conflict["rounds"], len(conflict["said"])) == ("unresolved", 2, 4)
    record = await artifact(store, result, "record.md")
    assert record.index("**Unresolved.**") < record.index("## Story Department"), "at the top"
    assert "Unresolved" not in result.output["deliverable"]
    assert any("Unresolved conflict (high)" in warning for warning in result.warnings)
    assert "the colour of the door" in crew.asked("aggregate")[0].prompt


async def test_what_the_last_round_changed_is_checked_again(store: Store) -> None:
    script = {"*/validate": DOOR, "*/resolve": [STAYS, STAYS, gives_way("STILL BLUE")]}
    crew = Crew(script)
    result = await make(store, crew, "x", **TWO)
    assert "STILL BLUE" in crew.asked("validate#3")[0].prompt
    (conflict,) = result.output["conflicts"]
    assert (conflict["status"], conflict["yielded"]) == ("unresolved", None), "it only said that it yields"
    mended = Crew({**script, "validate#3": NONE})
    assert (await make(store, mended, "x", **TWO)).output["conflicts"][0]["status"] == "resolved"


async def test_a_yielding_department_is_asked_for_a_proper_rewrite(store: Store) -> None:
    crew = Crew({"validate": DOOR, "validate#2": NONE, "*/resolve": gives_way("NEW")})
    await make(store, crew, "x", **TWO)
    prompt = crew.asked_to("resolve")[0].prompt
    assert "rewritten so that it is of one piece" in prompt
    assert "only where it must" not in prompt


async def test_departments_of_a_conflict_may_be_named(store: Store) -> None:
    named = {"conflicts": [conflict("Story Department", "AUDIO")]}
    crew = Crew({"validate": named, "validate#2": NONE, "*/resolve": gives_way("NEW")})
    result = await make(store, crew, "x", **TWO)
    assert result.output["conflicts"][0]["departments"] == ["story", "audio"]


async def test_a_conflict_that_comes_back_is_open_again(store: Store) -> None:
    crew = Crew({"*/validate": DOOR, "*/resolve": [gives_way("A"), STAYS]})
    result = await make(store, crew, "x", **TWO)
    (conflict,) = result.output["conflicts"]
    assert conflict["status"] == "unresolved"
    assert "had yielded, but it is still there" in conflict["said"][0]


async def test_several_conflicts_are_settled_one_by_one(store: Store) -> None:
    both = {
        "conflicts": [
            conflict("story", "audio", what="the door"),
            conflict("audio", "story", what="the hour"),
        ]
    }
    crew = Crew({"validate": both, "validate#2": NONE, "*/resolve": gives_way("NEW")})
    result = await make(store, crew, "x", **TWO)
    assert [conflict["id"] for conflict in result.output["conflicts"]] == ["c1", "c2"]
    assert {conflict["status"] for conflict in result.output["conflicts"]} == {"resolved"}


async def test_a_validation_that_names_nobody_we_know_is_sent_back(store: Store) -> None:
    wrong = {"conflicts": [conflict("story", "catering")]}
    crew = Crew({"validate": [wrong, NONE]})
    await make(store, crew, "x", **TWO)
    assert "there is no department catering; there are story, audio" in crew.asked("validate")[1].prompt


async def test_a_validation_that_fails_is_a_warning(store: Store) -> None:
    crew = Crew({"*/validate": RuntimeError("no idea")})
    result = await make(store, crew, "x", **TWO)
    assert result.status == "completed"
    assert any("could not be checked against each other" in warning for warning in result.warnings)


async def test_a_head_that_yields_without_a_text_is_sent_back(store: Store) -> None:
    crew = Crew({"validate": DOOR, "validate#2": NONE, "*/resolve": [gives_way(" "), gives_way("NEW")]})
    result = await make(store, crew, "x", **TWO)
    assert "`output` must hold your whole text" in crew.asked_to("resolve")[1].prompt
    assert result.output["conflicts"][0]["status"] == "resolved"


async def test_a_head_that_cannot_answer_leaves_it_to_the_other(store: Store) -> None:
    crew = Crew({"validate": DOOR, "validate#2": NONE, "resolve[c1-story-1]/resolve": RuntimeError("out")})
    result = await make(store, crew, "x", **TWO)
    (conflict,) = result.output["conflicts"]
    assert conflict["yielded"] == "audio"
    assert "Story Department could not answer" in conflict["said"][0]


async def test_one_department_is_not_checked_against_itself(store: Store) -> None:
    crew = Crew()
    await make(store, crew, "x", departments="story")
    assert crew.asked_to("validate") == []


# ── details ──


def low(*departments: str, what: str = "dusk or evening") -> dict[str, Any]:
    return conflict(*departments, what=what, severity="low")


async def test_low_conflicts_alone_are_listed_and_cost_no_round(store: Store) -> None:
    crew = Crew({"*/validate": {"conflicts": [low("story", "audio")]}})
    result = await make(store, crew, "x", **TWO)
    assert (len(crew.asked_to("validate")), crew.asked_to("resolve")) == (1, [])
    (conflict,) = result.output["conflicts"]
    assert (conflict["status"], conflict["severity"], conflict["rounds"]) == ("unresolved", "low", 0)
    assert "dusk or evening" in crew.asked("aggregate")[0].prompt, "the master decides it"
    assert "dusk or evening **Listed only**" in await artifact(store, result, "record.md")
    page = await artifact(store, result, "record.html")
    assert "Listed only" in page
    assert "after 0 rounds" not in page
    log = await RunEvents.of(store, result.run_id)
    assert log.of_type("validated") == [{"round": 1, "conflicts": 1, "low": 1, "error": ""}]


async def test_a_higher_conflict_costs_a_round_in_which_low_ones_are_not_asked_about(store: Store) -> None:
    both = {"conflicts": [low("story", "character"), conflict("story", "audio")]}
    crew = Crew({"validate": both, "validate#2": NONE, "*/resolve": gives_way("NEW")})
    result = await make(store, crew, "x", departments="story,audio,character")
    assert [call.path for call in crew.asked_to("resolve")] == ["resolve[c2-story-1]/resolve"]
    assert [conflict["status"] for conflict in result.output["conflicts"]] == ["unresolved", "resolved"]
    assert len(crew.asked_to("validate")) == 2


async def test_a_rewrite_settles_low_conflicts_between_the_same_departments(store: Store) -> None:
    both = {"conflicts": [low("story", "audio"), conflict("story", "audio")]}
    crew = Crew({"validate": both, "validate#2": NONE, "*/resolve": gives_way("NEW")})
    result = await make(store, crew, "x", **TWO)
    (call,) = crew.asked_to("resolve")
    assert "dusk or evening" in call.prompt
    assert [conflict["status"] for conflict in result.output["conflicts"]] == ["resolved", "resolved"]


async def test_where_only_low_conflicts_are_left_no_second_round_is_held(store: Store) -> None:
    script = {"validate": DOOR, "validate#2": {"conflicts": [low("story", "audio")]}}
    crew = Crew({**script, "*/resolve": gives_way("NEW")})
    await make(store, crew, "x", **TWO)
    assert (len(crew.asked_to("validate")), len(crew.asked_to("resolve"))) == (2, 1)
