"""The six workflows that are killed: how each is started, its ceilings, and the result it must give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import podium
from podium.models.model import Call, Model
from tests.engine.programs import crash_flow, kill_models
from tests.engine.programs.kill_models import Counting, cutting, grading
from tests.workflows.council import team as council_team
from tests.workflows.tree import team as tree_team

MODELS = Path(kill_models.__file__)


class Grade(msgspec.Struct):
    score: int
    by: str


CRITIC = podium.Agent("Nora", "critic", max_tokens=100)
WRITER = podium.Agent("Ida", "writer", max_tokens=100)


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One workflow and how it is started."""

    workflow: podium.Workflow | str
    model: Callable[[], Model] | None = None
    """`None`: the models of the profile, or none at all."""
    profile: Sequence[str] = ()
    """Functions of `kill_models`, the first one first."""
    options: Mapping[str, Any] = {}
    folder: str = ""
    """The option that takes a folder of files."""
    concurrency: int = 3
    calls: int | None = None
    """The ceiling of calls of the whole run."""
    branch_calls: Mapping[str, int] = {}
    """Ceilings of branches, by their path."""
    counts_steps: bool = False
    """What is counted are plain steps: their functions call no model."""


# ── replies that need repairs, models that fail ──

ASKS = ((0, 0), (1, 0), (2, 0), (0, 1), (1, 2), (2, 3), (2, 1), (1, 1))
"""Repairs that each ask needs, and the attempt at which its first model fails (0: at none)."""


@podium.workflow
async def repairs(run: podium.Run, request: str) -> dict[str, Any]:
    """Four branches of two asks each."""

    async def pair(number: int) -> list[Grade]:
        grades: list[Grade] = []
        for needed, fails_at in ASKS[number * 2 : number * 2 + 2]:
            prompt = f"Grade it: repairs={needed} fails_at={fails_at}"
            grades.append(await run.ask(CRITIC, "grade", prompt=prompt, returns=Grade))
        return grades

    parts = await run.gather({f"b{number}": pair(number) for number in range(4)})
    return {name: part.unwrap() for name, part in parts.items()}


# ── branches with ceilings that bind ──

BRANCHES: dict[str, tuple[int, tuple[int, ...]]] = {
    "tight": (2, (1, 1, 1, 1)),
    "exact": (3, (1, 1, 1)),
    "roomy": (4, (1, 2)),
    "repaired": (4, (1, 2, 1, 2)),
}
"""The ceiling of each branch, and the calls that each of its asks needs."""
WIDE, WIDE_ASKS = 3, 6
"""The ceiling of the branch that asks side by side, and how many it asks."""
OUT = "-"
"""Stands for an ask that the ceiling did not allow."""


async def _narrow(run: podium.Run, name: str) -> list[str]:
    limit, asks = BRANCHES[name]
    answers: list[str] = []
    async with run.branch("narrow", budget=podium.Budget(calls=limit)):
        for number, calls in enumerate(asks):
            prompt = f"{name} {number}: repairs={calls - 1} fails_at=0"
            try:
                grade = await run.ask(CRITIC, "grade", prompt=prompt, returns=Grade)
            except podium.BudgetExhaustedError:
                answers.append(OUT)
            else:
                answers.append(f"{number}:{grade.score}")
    return answers


async def _wide(run: podium.Run) -> int:
    """How many of the asks that compete for one ceiling were answered."""
    prompt = "wide: repairs=0 fails_at=0"
    async with run.branch("narrow", budget=podium.Budget(calls=WIDE)):
        parts = await run.gather(
            {str(n): run.ask(CRITIC, "grade", prompt=prompt, returns=Grade) for n in range(WIDE_ASKS)}
        )
    return sum(isinstance(part, podium.Ok) for part in parts.values())


@podium.workflow
async def branches(run: podium.Run, request: str) -> dict[str, Any]:
    """Branches side by side, each with a ceiling of its own."""
    parts = await run.gather({**{name: _narrow(run, name) for name in BRANCHES}, "wide": _wide(run)})
    return {name: part.unwrap() for name, part in parts.items()}


def branch_result(lost: Mapping[str, int]) -> dict[str, Any]:
    """Return what `branches` gives when so many calls of each branch were lost: each counts as spent."""
    results: dict[str, Any] = {}
    for name, (limit, asks) in BRANCHES.items():
        left, texts = limit - lost.get(name, 0), list[str]()
        for number, calls in enumerate(asks):
            texts.append(f"{number}:{calls}" if calls <= left else OUT)
            left = max(left - calls, 0)
        results[name] = texts
    results["wide"] = WIDE - lost.get("wide", 0)
    return results


# ── a chain of replies that are cut off, under a ceiling ──

CUTS = ((0, "text"), (1, "text"), (2, "text"), (1, "data"), (2, "data"), (1, "empty"), (0, "data"))
"""How often the reply to each ask is cut off, and what it is."""
CHAIN_CALLS = 13
"""Calls of a chain that is not disturbed; a text is continued only once."""


@podium.workflow
async def chain(run: podium.Run, request: str) -> list[Any]:
    """Asks one after the other."""
    results: list[Any] = []
    for cuts, kind in CUTS:
        returns: Any = Grade if kind == "data" else str
        prompt = f"Write it: cuts={cuts} kind={kind}"
        results.append(await run.ask(WRITER, "write", prompt=prompt, returns=returns))
    return results


# ── the workflows that ship with the package ──


class TreeTeam(tree_team.Team):
    """Every executor uses a tool, and then another one; one is told that its tool has failed."""

    def __init__(self) -> None:
        super().__init__({"plan": tree_team.plan(tree_team.band(0, "a", "b"), tree_team.band(1, "c"))})

    def plain(self, call: Call) -> Any:
        name = call.path.rpartition("/")[2]
        wanted = {"execute": "prices.txt", "execute#2": "missing.txt" if "b" in call.path else "shops.txt"}
        if name in wanted:
            return tree_team.leaf(actions=[tree_team.tool_call("read_file", path=wanted[name])])
        if call.task == "execute":  # it has read both: what it writes shows what the tools gave
            seen = [word for word in ("coffee 4", "market", "missing.txt") if word in call.prompt]
            return tree_team.leaf(tree_team.document(text=f"# A title\n\nSeen: {', '.join(seen)}"))
        return super().plain(call)


class CouncilTeam(council_team.Team):
    """Scores need a repair, and so does the research."""

    def plain(self, call: Call) -> Any:
        if call.task in {"validate", "research"} and call.attempt == 1:
            return "I would rather not say."
        return super().plain(call)


CASES: dict[str, Case] = {
    "steps": Case(workflow=crash_flow.crash, concurrency=5, counts_steps=True),
    "repairs": Case(workflow=repairs, profile=("first", "second")),
    "branches": Case(
        workflow=branches,
        model=lambda: Counting(grading),
        branch_calls={
            **{f"{name}/narrow": limit for name, (limit, _) in BRANCHES.items()},
            "wide/narrow": WIDE,
        },
        concurrency=4,
    ),
    "tree": Case(workflow="tree", model=lambda: Counting(TreeTeam()), folder="files"),
    "council": Case(
        workflow="council", model=lambda: Counting(CouncilTeam()), options={"preset": "extended"}
    ),
    "chain": Case(workflow=chain, model=lambda: Counting(cutting), calls=CHAIN_CALLS + 1),
}
