"""The seam to a project's memory, with a memory that is passed in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium.engine.log import Store
from podium.workflows.studio.canon import Canon, NewFact
from podium.workflows.studio.flow import studio_with
from tests.workflows.studio.crew import Crew, make

GREEN = {
    "subject": "Omar",
    "predicate": "eye colour",
    "value": "green",
    "kind": "character",
    "quote": "green eyes",
}


class Memory:
    """A project that knows one thing."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.proposed: list[tuple[str, list[NewFact]]] = []

    async def open(self, store: Store, project: str) -> Canon:
        self.opened.append(project)
        return self

    async def names(self) -> list[str]:
        return ["omar"]

    async def recall(self, text: str, limit: int) -> list[str]:
        return ["Omar: eye colour is brown"]

    async def contradictions(self, run_id: str, facts: Sequence[NewFact]) -> list[str]:
        return [f"{one.subject} {one.predicate}: {one.value}, settled: brown" for one in facts]

    async def propose(self, run_id: str, facts: Sequence[NewFact]) -> None:
        self.proposed.append((run_id, list(facts)))


def crew() -> Crew:
    script: dict[str, Any] = {"facts/character/extract_facts": {"facts": [GREEN]}}
    return Crew(script)


async def test_a_project_is_asked_for_names_and_facts_and_is_told_new_ones(store: Store) -> None:
    memory, model = Memory(), crew()
    found = await make(
        store,
        model,
        "omar looks up",
        workflow=studio_with(memory.open),
        project="bread",
        specialists="always",
    )
    assert memory.opened == ["bread"]
    assert found.output["routing"]["primary"] == "character", "the project knows the name"
    for task in ("brief", "execute", "grade", "synthesize"):
        assert "- Omar: eye colour is brown" in model.tasks(task)[0].prompt
    assert memory.proposed == [(found.run_id, [NewFact.model_validate(GREEN)])]


async def test_a_contradiction_with_what_is_settled_is_found_and_shown(store: Store) -> None:
    memory = Memory()
    found = await make(store, crew(), "omar looks up", workflow=studio_with(memory.open), project="bread")
    (one,) = found.output["conflicts"]
    assert (one["departments"], one["status"]) == (["character", "canon"], "unresolved")
    assert one["description"] == "Omar eye colour: green, settled: brown"
    assert "Omar eye colour: green, settled: brown" in found.output["deliverable"]


async def test_facts_that_cannot_be_had_are_a_warning(store: Store) -> None:
    memory = Memory()
    model = Crew({"facts/character/extract_facts": RuntimeError("no")})
    found = await make(store, model, "omar looks up", workflow=studio_with(memory.open), project="bread")
    assert found.status == "completed"
    assert any("No facts were taken" in warning for warning in found.warnings)


async def test_without_a_project_nothing_is_remembered(store: Store) -> None:
    memory, model = Memory(), crew()
    await make(store, model, "Create character Omar", workflow=studio_with(memory.open))
    assert (memory.opened, memory.proposed, model.tasks("extract_facts")) == ([], [], [])
