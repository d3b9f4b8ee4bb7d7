"""Agents of `tree`: planner, executor and aggregator.

A role is not a node type: one node may use all three.
"""

from __future__ import annotations

from pathlib import Path

from podium.agents.agent import Agent
from podium.agents.prompts import Prompts
from podium.workflows.tree.contracts import LeafDecision

PROMPTS = Prompts.load(Path(__file__).parent / "prompts")

_PLANNER = (
    "You decide for one task of a larger tree whether it can be done in one go or has to be split. You split "
    "only where the parts are really different work. You answer with JSON that fits the schema."
)
_EXECUTOR = (
    "You do one task completely and return what you made as artifacts. You state only what you know or were "
    "given, and say what is missing. You answer with JSON that fits the schema."
)
_AGGREGATOR = (
    "You read what the parts of a task have returned and make one result of it. You use only what they "
    "returned, and name what is missing. You answer with JSON that fits the schema."
)

ROOT_PLANNER = Agent(
    "Planner", role="planner", instructions=_PLANNER, profile="powerful", temperature=0.2, prompts=PROMPTS
)
PLANNER = Agent("Planner", role="planner", instructions=_PLANNER, temperature=0.2, prompts=PROMPTS)
EXECUTOR = Agent(
    "Executor", role="executor", instructions=_EXECUTOR, max_tokens=8192, temperature=0.4, prompts=PROMPTS
)
QUICK_EXECUTOR = Agent(
    "Executor",
    role="executor",
    instructions=_EXECUTOR,
    profile="fast",
    max_tokens=8192,
    temperature=0.4,
    prompts=PROMPTS,
)
AGGREGATOR = Agent(
    "Aggregator",
    role="aggregator",
    instructions=_AGGREGATOR,
    max_tokens=8192,
    temperature=0.3,
    prompts=PROMPTS,
)


ALL = (ROOT_PLANNER, PLANNER, EXECUTOR, QUICK_EXECUTOR, AGGREGATOR)


def executor_for(decision: LeafDecision | None) -> Agent:
    """Return the fast executor for a task that the planner rated `low` without blockers, else the normal
    one."""
    easy = decision is not None and decision.complexity == "low" and not decision.blockers
    return QUICK_EXECUTOR if easy else EXECUTOR
