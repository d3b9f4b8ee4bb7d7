"""Who is asked: the master, and heads and specialists as the team file describes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from podium.agents.agent import Agent
from podium.agents.prompts import Prompts
from podium.workflows.studio.team import AgentSpec

PROMPTS = Prompts.load(Path(__file__).parent / "prompts")
LONGEST_REPLY = 8192

MASTER = Agent(
    "Master Orchestrator",
    role="master",
    instructions=(
        "You lead a studio of departments. You decide who works on a request, and you bring together what "
        "they deliver. You state only what they delivered, and name what is missing."
    ),
    profile="powerful",
    max_tokens=LONGEST_REPLY,
    temperature=0.3,
    prompts=PROMPTS,
)


def head_of(spec: AgentSpec) -> Agent:
    return _agent(spec, "head")


def grader_of(spec: AgentSpec) -> Agent:
    """The head while it grades: the same standards for everybody, so with little freedom."""
    return replace(_agent(spec, "head"), temperature=0.2)


def specialist_of(spec: AgentSpec) -> Agent:
    return _agent(spec, "specialist")


def _agent(spec: AgentSpec, role: str) -> Agent:
    skills = f" Your skills: {', '.join(spec.skills)}." if spec.skills else ""
    return Agent(
        spec.name, role=role, instructions=f"{spec.instructions.strip()}{skills}".strip(),
        profile=spec.profile, temperature=spec.temperature, timeout=spec.timeout,
        max_tokens=LONGEST_REPLY, prompts=PROMPTS,
    )  # fmt: skip
