"""What a project knows: the seam with a memory that is passed in, and two runs with the real brain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import podium
from podium.agents.ask import Run
from podium.brain import Brain
from podium.brain.review import Review
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.errors import UsageError
from podium.workflows.studio.context import CanonPort, Denial, NewFact, Recalled
from podium.workflows.studio.flow import studio_with
from tests.workflows.studio.crew import Crew, artifact, conflict, department, make


def fact_data(subject: str, predicate: str, value: str) -> dict[str, Any]:
    return {
        "subject": subject,
        "predicate": predicate,
        "value": value,
        "kind": "character",
        "quote": f"{subject} {value}",
    }


GREEN = fact_data("Omar", "eye colour", "green")


class Memory:
    """A project that knows one thing."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.closed = 0
        self.proposed: list[tuple[str, list[NewFact]]] = []

    async def open(self, run: Run, project: str) -> CanonPort:
        self.opened.append(project)
        return self

    async def names(self) -> list[str]:
        return ["omar"]

    def recall_cost(self, text: str) -> Charge | None:
        return None

    async def recall(self, text: str, limit: int) -> Recalled:
        return Recalled(["Omar, eye colour: brown"], "it could not go by meaning")

    async def contradictions(self, facts: Sequence[NewFact]) -> list[Denial]:
        return [
            Denial(f"{fact.subject} {fact.predicate}: {fact.value}, settled: brown", "high", "f1", "brown")
            for fact in facts
        ]

    async def propose(self, run_id: str, facts: Sequence[NewFact]) -> int:
        self.proposed.append((run_id, list(facts)))
        return len(facts)

    async def close(self) -> None:
        self.closed += 1


def crew(**more: Any) -> Crew:
    return Crew({"*/extract_facts": {"facts": [GREEN]}, **more})


async def looks_up(store: Store, memory: Memory, model: Crew, **options: Any) -> RunResult:
    return await make(
        store, model, "omar looks up", workflow=studio_with(memory.open), project="bread", **options
    )


# ── the seam ──


async def test_a_project_is_asked_for_names_and_facts_and_is_reported_new_ones(store: Store) -> None:
    memory, model = Memory(), crew()
    result = await looks_up(store, memory, model, specialists="always")
    assert (memory.opened, memory.closed) == (["bread"], 1)
    assert result.output["routing"]["primary"] == "character", "the project knows the name"
    for task in ("brief", "execute", "grade", "synthesize", "validate"):
        assert "- Omar, eye colour: brown" in model.asked_to(task)[0].prompt
    assert memory.proposed == [(result.run_id, [NewFact.model_validate(GREEN)])]
    assert "it could not go by meaning" in result.warnings


async def test_a_contradiction_with_what_is_settled_is_found_by_rule_and_shown(store: Store) -> None:
    result = await looks_up(store, Memory(), crew())
    (conflict,) = result.output["conflicts"]
    assert (conflict["departments"], conflict["status"]) == (["character", "canon"], "unresolved")
    assert conflict["description"] == "Omar eye colour: green, settled: brown"
    assert "Omar eye colour: green, settled: brown" in await artifact(store, result, "record.md")


async def test_a_contradiction_that_the_master_sees_is_settled_by_the_head_because_canon_never_yields(
    store: Store,
) -> None:
    model = Crew(
        {
            "*/extract_facts": {"facts": []},
            "validate": {"conflicts": [conflict("canon", "character", what="his eyes")]},
            "validate#2": {"conflicts": []},
            "*/resolve": {"yields": True, "reason": "canon", "output": "Brown eyes."},
        }
    )
    result = await looks_up(store, Memory(), model)
    (contradiction,) = result.output["conflicts"]
    assert (contradiction["status"], contradiction["yielded"]) == ("resolved", "character")
    assert department(result, "character")["output"] == "Brown eyes."
    assert [call.path for call in model.asked_to("resolve")] == ["resolve[c1-character-1]/resolve"]
    assert "cannot yield" in model.asked_to("resolve")[0].prompt


async def test_facts_that_cannot_be_had_are_a_warning(store: Store) -> None:
    model = Crew({"facts/character/extract_facts": RuntimeError("no")})
    result = await looks_up(store, Memory(), model)
    assert result.status == "completed"
    assert any("No facts were taken" in warning for warning in result.warnings)


async def test_without_a_project_nothing_is_remembered(store: Store) -> None:
    memory, model = Memory(), crew()
    await make(store, model, "Create character Omar", workflow=studio_with(memory.open))
    assert (memory.opened, memory.proposed, model.asked_to("extract_facts")) == ([], [], [])


async def test_a_name_that_no_project_can_have_starts_nothing(store: Store) -> None:
    with pytest.raises(UsageError, match="not the name of a project"):
        await make(store, Crew(), "x", project="a\nb\x00")
    assert await store.list_runs() == []


# ── two runs in one project, with the real brain ──


async def test_the_second_run_contradicts_the_first_and_that_is_found_and_shown(store: Store) -> None:
    first = Crew({"facts/character/extract_facts": {"facts": [GREEN, fact_data("Hale", "status", "dead")]}})
    result = await make(store, first, "Create character Omar", project="bread")
    assert result.output["conflicts"] == []
    brain = await Brain.open(store, "bread")
    waiting = await brain.facts(("proposed",))
    assert [(fact.subject, fact.source_run, fact.quote) for fact in waiting] == [
        ("Omar", result.run_id, "Omar green"),
        ("Hale", result.run_id, "Hale dead"),
    ]
    await Review(brain, by="Ada").accept_all(waiting)
    blue = [fact_data("Omar", "eyes", "blue"), fact_data("Hale", "says", "Light the lamp!")]
    second = Crew({"facts/character/extract_facts": {"facts": blue}})
    again = await make(store, second, "omar and hale meet", project="bread", specialists="never")
    assert again.output["routing"]["primary"] == "character", "their names are known now"
    assert "Omar, eye colour: green" in second.asked("character/head_execute")[0].prompt
    eyes, speech = again.output["conflicts"]
    assert ("green" in eyes["description"], "blue" in eyes["description"]) == (True, True)
    assert (speech["severity"], "dead" in speech["description"]) == ("critical", True)
    assert eyes["description"] in await artifact(store, again, "record.md")
    replayed = await podium.replay(again.run_id, store=store)
    assert replayed.output == again.output
