"""Who is asked: a name, a role, a way of working, and what kind of model that needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podium.agents.prompts import Prompts


@dataclass(frozen=True, slots=True)
class Agent:
    """One member of a team. Two agents with the same fields are the same agent."""

    name: str
    role: str = ""
    """What it is in the team: `supervisor`, `critic`, …; also what `--model-for ROLE=MODEL` names."""
    instructions: str = ""
    """How it works; becomes part of the system prompt of each ask."""
    profile: str = "balanced"
    """The kind of model it needs; the settings say which model that is."""
    model: str = ""
    """A certain model, stronger than the profile."""
    temperature: float = 0.7
    max_tokens: int = 4096
    """The longest reply."""
    timeout: float = 300.0
    """Seconds that one call may take; waiting for a free slot or for budget does not count."""
    attempts: int = 3
    """How often a model is called when its provider is in trouble, before the next one of the profile is."""
    prompts: Prompts | None = None
    """Where its tasks' prompts are found when an ask gives none."""

    @property
    def system(self) -> str:
        """The system prompt. A role that the name says, or an opening "You are …", is not repeated."""
        role, opening = _words(self.role), _words(self.instructions.strip().partition(".")[0])
        known = not role or f" {role} " in f" {_words(self.name)} "
        known |= opening.startswith("you are ") and f" {role} " in f" {opening} "
        who = f"You are {self.name}." if known else f"You are {self.name}. Your role: {role}."
        return f"{who}\n\n{self.instructions.strip()}".strip()


def _words(text: str) -> str:
    """Return the words of a text in lower case, one space apart."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))
