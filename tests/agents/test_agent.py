"""An agent is plain data."""

from __future__ import annotations

import dataclasses

import pytest

from podium.agents.agent import Agent


def test_the_system_prompt_says_who_it_is_and_how_it_works() -> None:
    assert Agent("Nora").system == "You are Nora."
    assert Agent("Nora", "critic").system == "You are Nora. Your role: critic."
    assert Agent("Nora", "critic", "\nBe strict.\n").system == (
        "You are Nora. Your role: critic.\n\nBe strict."
    )
    assert Agent("Nora", "team_leader").system == "You are Nora. Your role: team leader."
    assert Agent("Martha", "art").system == "You are Martha. Your role: art."


@pytest.mark.parametrize(
    ("name", "role", "instructions"),
    [
        ("Team Leader", "team_leader", ""),
        ("Story Head", "head", ""),
        ("Head of Design", "head", ""),
        ("Nora", "critic", "You are the critic of a team."),
    ],
)
def test_a_role_that_is_clear_from_the_name_or_the_instructions_is_not_repeated(
    name: str, role: str, instructions: str
) -> None:
    assert Agent(name, role, instructions).system.splitlines()[0] == f"You are {name}."


def test_the_defaults() -> None:
    agent = Agent("Nora")
    assert (agent.profile, agent.model, agent.temperature, agent.max_tokens, agent.timeout) == (
        "balanced",
        "",
        0.7,
        4096,
        300.0,
    )


def test_equal_fields_are_equal_agents_and_none_can_be_changed() -> None:
    assert Agent("Nora", "critic") == Agent("Nora", "critic")
    assert hash(Agent("Nora")) == hash(Agent("Nora"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Agent("Nora").name = "Otto"  # pyright: ignore[reportAttributeAccessIssue]
