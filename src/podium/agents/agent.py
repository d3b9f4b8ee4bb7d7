"""Agents: name, role, instructions and model profile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.agents.prompts import Prompts
    from podium.agents.tools import Tool
    from podium.engine.budget import Budget


@dataclass(frozen=True, slots=True)
class Agent:
    """One member of a team. Two agents with the same fields are equal."""

    name: str
    role: str = ""
    """Its role in the team: `supervisor`, `critic`, …; `--model-for ROLE=MODEL` refers to it."""
    instructions: str = ""
    """Instructions; part of the system prompt of each ask."""
    profile: str = "balanced"
    """The model profile that it needs; the settings map profiles to models."""
    model: str = ""
    """A specific model; overrides the profile."""
    temperature: float = 0.7
    max_tokens: int = 4096
    """Maximum tokens of a reply."""
    timeout: float = 300.0
    """Seconds that one call may take, without waits for a free slot or for budget."""
    attempts: int = 3
    """Attempts per model when its provider fails, before the next model of the profile is used."""
    tools: Sequence[Any] = field(default=(), compare=False)
    """Tools that it may call: functions, `@podium.tool`s, other agents as tools, …"""
    max_turns: int = 20
    """Most turns of one ask with tools. In the last one it must answer."""
    max_tool_calls: int = 50
    """Most tool calls of one ask."""
    parallel_calls: bool = True
    """Execute the calls of one turn side by side; False: one after another, in the model's order."""
    window: int = 0
    """Context window in tokens to which a conversation with tools is fitted; 0: the model's."""
    prompts: Prompts | None = None
    """The prompts of its tasks, for asks without one."""

    @property
    def system(self) -> str:
        """The system prompt. Does not repeat a role that the name contains, or an opening "You are …"."""
        role, opening = _words(self.role), _words(self.instructions.strip().partition(".")[0])
        known = not role or f" {role} " in f" {_words(self.name)} "
        known |= opening.startswith("you are ") and f" {role} " in f" {opening} "
        who = f"You are {self.name}." if known else f"You are {self.name}. Your role: {role}."
        return f"{who}\n\n{self.instructions.strip()}".strip()

    def as_tool(
        self, *, name: str = "", description: str = "", returns: Any = str, budget: Budget | None = None
    ) -> Tool:
        """Return a tool with which another agent can ask this one. `budget` is the ceiling of one call."""
        from podium.agents.tools import agent_tool  # noqa: PLC0415 - most agents have no tools

        return agent_tool(self, name=name, description=description, returns=returns, budget=budget)


def _words(text: str) -> str:
    """Return the words of a text in lower case, one space apart."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))
