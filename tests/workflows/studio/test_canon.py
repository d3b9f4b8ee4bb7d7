"""Contradictions with what a project has settled: found by rule, settled by the head concerned in at most two
rounds, shown with who yielded and why. With the real brain."""

from __future__ import annotations

from typing import Any

import pytest

import podium
from podium.brain import Brain, Fact
from podium.brain.review import import_facts
from podium.engine.budget import Budget
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.settings import Settings
from podium.workflows.studio.fold import StudioState
from tests.workflows.studio.crew import Crew, RunEvents, artifact, conflict, department, make

BROWN = "Omar looks up. His eyes are brown."
KNOWN = (("Omar", "eye colour", "brown"), ("Hale", "status", "dead"))


def logged(subject: str, predicate: str, value: str) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "value": value, "kind": "character"}


BLUE = {"facts": [logged("Omar", "eyes", "blue")]}
RIGHT = {"facts": [logged("Omar", "eyes", "brown")]}
NOTHING: dict[str, Any] = {"facts": []}
YIELDS = {"yields": True, "reason": "it is settled", "output": BROWN}
STAYS = {"yields": False, "reason": "the light changes", "output": ""}


@pytest.fixture
async def bread(store: Store) -> Store:
    """A store whose project `bread` knows two things."""
    facts = [
        Fact(id=f"f{nth}", subject=who, predicate=what, value=value, kind="character", status="accepted")
        for nth, (who, what, value) in enumerate(KNOWN)
    ]
    await import_facts(store, facts, settings=Settings(), project="bread")
    return store


async def goes_on(store: Store, crew: Crew, request: str = "omar looks up", **options: Any) -> RunResult:
    return await make(store, crew, request, project="bread", specialists="never", **options)


async def test_the_head_concerned_yields_and_the_result_shows_who_and_why(bread: Store) -> None:
    crew = Crew(
        {"facts/character/extract_facts": BLUE, "facts#2/character/extract_facts": RIGHT, "*/resolve": YIELDS}
    )
    result = await goes_on(bread, crew)
    (conflict,) = result.output["conflicts"]
    assert (conflict["departments"], conflict["status"], conflict["severity"]) == (
        ["character", "canon"],
        "resolved",
        "high",
    )
    assert (conflict["yielded"], conflict["reason"]) == ("character", "it is settled")
    assert department(result, "character")["output"] == BROWN
    settled = "Resolved: Character Department yielded, because it is settled"
    assert settled in await artifact(bread, result, "record.md")
    assert not [line for line in result.warnings if "Unresolved" in line]
    prompt = crew.asked_to("resolve")[0].prompt
    assert "“blue” instead of “brown”" in prompt
    assert "- Omar, eye colour: brown" in prompt.partition("cannot yield")[2]
    events = await RunEvents.of(bread, result.run_id)
    assert [(event["id"], event["round"]) for event in events.of_type("conflict_found")] == [("c1", 1)]
    assert [(event["by"], event["round"]) for event in events.of_type("conflict_resolved")] == [
        ("character", 1)
    ]
    assert [event["conflicts"] for event in events.of_type("validated")] == [1, 0]


async def test_facts_are_proposed_from_the_text_as_it_is_in_the_end(bread: Store) -> None:
    hungry = {"facts": [*RIGHT["facts"], logged("Omar", "fears", "hunger")]}
    crew = Crew(
        {
            "facts/character/extract_facts": BLUE,
            "facts#2/character/extract_facts": hungry,
            "*/resolve": YIELDS,
        }
    )
    await goes_on(bread, crew)
    brain = await Brain.open(bread, "bread")
    assert [(fact.predicate, fact.value) for fact in await brain.facts(("proposed",))] == [
        ("eyes", "brown"),
        ("fears", "hunger"),
    ]
    assert BROWN in crew.asked("facts#2/character/extract_facts")[0].prompt


async def test_a_head_that_does_not_yield_is_asked_twice_and_then_it_stays_open(bread: Store) -> None:
    crew = Crew({"*/extract_facts": BLUE, "*/resolve": STAYS})
    result = await goes_on(bread, crew)
    assert result.status == "completed"
    (conflict,) = result.output["conflicts"]
    assert (conflict["status"], conflict["rounds"]) == ("unresolved", 2)
    assert conflict["said"] == 2 * ["Character Department does not yield: the light changes."]
    assert len(crew.asked_to("resolve")) == 2
    assert len(crew.asked_to("extract_facts")) == 1, "the text is the same, so are its facts"
    assert "**Unresolved.** Character Department does not yield" in await artifact(bread, result, "record.md")
    assert any("Unresolved conflict (high)" in line for line in result.warnings)


async def test_a_head_that_only_says_so_is_found_out(bread: Store) -> None:
    crew = Crew(
        {
            "*/extract_facts": BLUE,
            "resolve[c1-character-1]/resolve": {**YIELDS, "output": "Blue, still."},
            "resolve[c1-character-2]/resolve": {**YIELDS, "output": "Blue, as ever."},
        }
    )
    result = await goes_on(bread, crew)
    (conflict,) = result.output["conflicts"]
    assert (conflict["status"], conflict["yielded"]) == ("unresolved", None)
    assert conflict["said"] == 2 * ["Character Department had yielded, but it is still there."]
    assert len(crew.asked_to("extract_facts")) == 3, "the last word is looked at too"


async def test_what_a_changed_text_no_longer_says_is_settled_by_that(bread: Store) -> None:
    two = {"facts": [*BLUE["facts"], logged("Hale", "says", "Light the lamp!")]}
    crew = Crew(
        {
            "facts/character/extract_facts": two,
            "facts#2/character/extract_facts": RIGHT,
            "resolve[c1-character-1]/resolve": YIELDS,
            "resolve[c2-character-1]/resolve": STAYS,
        }
    )
    result = await goes_on(bread, crew)
    eyes, speech = result.output["conflicts"]
    assert (eyes["yielded"], speech["yielded"]) == ("character", "character")
    assert "no longer" in speech["reason"]


async def test_a_changed_text_may_deny_something_else_and_that_is_settled_in_the_second_round(
    bread: Store,
) -> None:
    speaks = {"facts": [logged("Hale", "says", "Light the lamp!")]}
    crew = Crew(
        {
            "facts/character/extract_facts": BLUE,
            "facts#2/character/extract_facts": speaks,
            "facts#3/character/extract_facts": NOTHING,
            "resolve[c1-character-1]/resolve": {**YIELDS, "output": "Hale speaks."},
            "resolve[c2-character-2]/resolve": YIELDS,
        }
    )
    result = await goes_on(bread, crew)
    assert [conflict["status"] for conflict in result.output["conflicts"]] == ["resolved", "resolved"]
    assert result.output["conflicts"][1]["severity"] == "critical"


async def test_facts_that_cannot_be_had_the_second_time_leave_it_at_what_the_head_said(bread: Store) -> None:
    crew = Crew(
        {
            "facts/character/extract_facts": BLUE,
            "facts#2/character/extract_facts": RuntimeError("no"),
            "*/resolve": YIELDS,
        }
    )
    result = await goes_on(bread, crew)
    assert result.output["conflicts"][0]["status"] == "resolved"
    assert any("No facts were taken" in warning for warning in result.warnings)
    assert await (await Brain.open(bread, "bread")).facts(("proposed",)) == []


async def test_the_master_reads_what_was_found_by_rule_so_that_nothing_is_settled_twice(bread: Store) -> None:
    crew = Crew({"*/extract_facts": BLUE, "*/resolve": STAYS})
    await goes_on(bread, crew)
    prompt = crew.asked("validate")[0].prompt
    assert "“blue” instead of “brown”" in prompt.partition("# Found already")[2]


async def test_only_the_department_that_denies_it_is_asked(bread: Store) -> None:
    crew = Crew(
        {
            "facts/story/extract_facts": BLUE,
            "facts#2/story/extract_facts": RIGHT,
            "*/resolve": YIELDS,
        }
    )
    result = await goes_on(bread, crew, departments="character,story")
    assert [call.path for call in crew.asked_to("resolve")] == ["resolve[c1-story-1]/resolve"]
    assert "facts#2/character/extract_facts" not in crew.paths
    assert department(result, "story")["output"] == BROWN


async def test_departments_and_canon_are_settled_in_the_same_rounds(bread: Store) -> None:
    crew = Crew(
        {
            "facts/story/extract_facts": BLUE,
            "*/resolve": YIELDS,
            "validate": {"conflicts": [conflict("character", "story", what="the hour")]},
            "validate#2": {"conflicts": []},
        }
    )
    result = await goes_on(bread, crew, departments="character,story")
    assert [set(conflict["departments"]) for conflict in result.output["conflicts"]] == [
        {"story", "canon"},
        {"character", "story"},
    ]
    assert {conflict["status"] for conflict in result.output["conflicts"]} == {"resolved"}
    assert "and the project's canon**" in await artifact(bread, result, "record.md")


async def test_a_contradiction_that_nothing_in_the_request_points_to_is_found(bread: Store) -> None:
    speaks = {"facts": [logged("Hale", "says", "Light the lamp!")]}
    crew = Crew({"facts/story/extract_facts": speaks, "facts#2/story/extract_facts": NOTHING})
    result = await goes_on(bread, crew, "A tale of bread", departments="story")
    (conflict,) = result.output["conflicts"]
    assert (conflict["status"], conflict["severity"]) == ("resolved", "critical")
    assert crew.asked_to("validate") == [], "one department, and nothing settled has to do with the request"
    assert "- Hale, status: dead" in crew.asked_to("resolve")[0].prompt


async def test_the_master_reads_what_is_settled_of_whom_the_texts_name_and_not_only_the_request(
    bread: Store,
) -> None:
    """What no rule can find, a model can: if it is told."""
    ghostly = {"conflicts": [conflict("canon", "story", what="Hale lights the lamp although he is dead")]}
    crew = Crew(
        {
            "story/head_execute": "At dusk it is Hale who sees to the lamp.",
            "validate": ghostly,
            "validate#2": {"conflicts": []},
            "*/resolve": YIELDS,
        }
    )
    result = await goes_on(bread, crew, "A tale of bread", departments="story")
    assert "- Hale, status: dead" not in crew.asked("story/head_execute")[0].prompt
    assert "- Hale, status: dead" in crew.asked("validate")[0].prompt
    assert "- Hale, status: dead" in crew.asked_to("resolve")[0].prompt
    assert result.output["conflicts"][0]["yielded"] == "story"


async def test_the_log_shows_the_same_as_the_output(bread: Store) -> None:
    crew = Crew({"*/extract_facts": BLUE, "*/resolve": {**YIELDS, "output": "Blue, still."}})
    result = await goes_on(bread, crew)
    rows = await bread.read(result.run_id)
    (state,) = StudioState.of(row.to_event(result.run_id) for row in rows).conflicts.values()
    assert (state.yielded, result.output["conflicts"][0]["yielded"]) == ("", None)


async def test_a_replay_comes_to_the_same_without_a_call(bread: Store) -> None:
    crew = Crew(
        {"facts/character/extract_facts": BLUE, "facts#2/character/extract_facts": RIGHT, "*/resolve": YIELDS}
    )
    result = await goes_on(bread, crew)
    assert (await podium.replay(result.run_id, store=bread)).output == result.output


async def test_a_budget_that_ends_while_facts_are_taken_keeps_none_and_can_go_on(bread: Store) -> None:
    fears = {"facts": [logged("Omar", "fears", "hunger")]}
    crew = Crew(
        {
            "facts/character/extract_facts": fears,
            "facts/story/extract_facts": BLUE,
            "facts#2/story/extract_facts": NOTHING,
            "*/resolve": YIELDS,
        }
    )
    few = await goes_on(bread, crew, departments="character,story", budget=Budget(calls=4))
    assert (few.status, few.stop_reason) == ("partial", "budget")
    assert any("not checked to the end" in warning for warning in few.warnings)
    assert await (await Brain.open(bread, "bread")).facts(("proposed",)) == []
    handle = await podium.resume(few.run_id, model=crew, store=bread, budget=Budget(calls=40))
    result = await handle.result()
    assert (result.status, result.output["conflicts"][0]["yielded"]) == ("completed", "story")
    waiting = await (await Brain.open(bread, "bread")).facts(("proposed",))
    assert [fact.predicate for fact in waiting] == ["fears"]
