"""Every rule and number of the tree, as pure functions: guards, bands, replans, outcomes, contexts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from podium.errors import ModelFailedError, StepTimeoutError
from podium.workflows.tree.contracts import (
    AggregatorOutput,
    Answer,
    Band,
    ExecutorOutput,
    Plan,
    PlannerOutput,
    Result,
    Step,
    unknown_labels,
)
from podium.workflows.tree.node import Attempt, Node, Returned

Deliverable = Literal["document", "json", "both"]

MAX_TOOL_CALLS = 6
"""Per node."""
SCRATCHPAD_TAIL = 6_000
"""Characters of its notes that a role is shown."""
MAX_NODES = 60
"""Nodes of a whole tree, where nobody gives another number."""
PREVIEW = 280
"""Characters of a scratchpad's last lines that its event carries."""

INCLUDE = re.compile(r"^[ \t]*\{\{\s*include\s+(\S+?)\s*\}\}[ \t]*$", re.MULTILINE)
"""A line of an aggregator's document that stands for a child's document."""
_HEADING = re.compile(r"^(#{1,6}) +", re.MULTILINE)

MAX_DEPTH, MAX_BANDS, MAX_STEPS, MAX_REPLANS, CONCURRENCY = 4, 3, 4, 1, 4
"""The guards, where nobody gives others."""


# ── guards ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class TreeLimits:
    """The guards of a run."""

    depth: int = MAX_DEPTH
    bands: int = MAX_BANDS
    steps: int = MAX_STEPS
    """Per band."""
    replans: int = MAX_REPLANS
    nodes: int = MAX_NODES
    """In the whole tree, the root included."""

    @property
    def children(self) -> int:
        """Per node."""
        return self.bands * self.steps

    def shown(self, seconds_left: float | None, allowance: int) -> dict[str, Any]:
        """What a planner may plan with; `allowance` is how many nodes there may be below its own."""
        return {
            "maxDepth": self.depth,
            "maxBandsPerPlan": self.bands,
            "maxStepsPerBand": self.steps,
            "maxChildrenPerNode": min(self.children, allowance),
            "maxNodes": allowance,
            "timeBudgetSeconds": None if seconds_left is None else round(seconds_left),
        }


ONE_REPLY = "oneReply"
"""Not a limit: the parent's planner has decided that a step is small enough."""


def must_execute(node: Node, limits: TreeLimits) -> str:
    """The guard that forbids a node to split, so that no planner is asked; empty: it may."""
    if node.step is not None and node.step.one_reply:
        return ONE_REPLY
    if node.depth >= limits.depth:
        return "maxDepth"
    return "maxNodes" if node.allowance < 2 else ""


def share_of(node: Node, children: int) -> int:
    """How many nodes there may be below each of a node's children: equal parts of what is left of its own
    allowance. It depends on the plan alone, so a resume finds the same."""
    return max(0, node.allowance - children) // max(1, children)


def broken_guard(plan: Plan, limits: TreeLimits, allowance: int) -> str:
    """The first cap that a plan passes; empty if it keeps within all."""
    if len(plan.bands) > limits.bands:
        return "maxBandsPerPlan"
    if any(len(band.steps) > limits.steps for band in plan.bands):
        return "maxStepsPerBand"
    if len(plan.steps) > limits.children:
        return "maxChildrenPerNode"
    return "maxNodes" if len(plan.steps) > allowance else ""


def over_caps(plan: Plan, limits: TreeLimits, allowance: int) -> str:
    """What a planner is told of a plan that is too large."""
    guard = broken_guard(plan, limits, allowance)
    if not guard:
        return ""
    widest = max(len(band.steps) for band in plan.bands)
    return (
        f"{guard}: the plan has {len(plan.bands)} bands with up to {widest} steps, {len(plan.steps)} steps "
        f"in all; at most {limits.bands} bands, {limits.steps} steps per band and "
        f"{min(limits.children, allowance)} steps in all are allowed. Merge or drop steps"
    )


def execution_guard(decision: PlannerOutput, limits: TreeLimits, allowance: int) -> str:
    """Why a node has to execute although its planner wants to split it; empty: it need not."""
    if decision.mode == "execute" or decision.plan is None:
        return ""
    return broken_guard(decision.plan, limits, allowance)


class PlanCheck:
    """What is wrong with a planner's decision beyond its shape.

    A plan that passes a cap, or comes with `mode: execute`, is sent back once; after that the guard or the
    mode decides. A plan that renames steps it keeps is sent back as often as any other broken rule.
    """

    def __init__(self, limits: TreeLimits, before: Attempt | None, allowance: int) -> None:
        self._limits = limits
        self._allowance = allowance
        self._before = before
        self._warned = False

    def __call__(self, decision: PlannerOutput) -> str:
        if decision.plan is None:
            return ""
        once = ""
        if decision.mode == "execute":
            once = "mode is execute, so leave out plan, or choose mode plan"
        else:
            once = over_caps(decision.plan, self._limits, self._allowance)
        if once and not self._warned:
            self._warned = True
            return once
        if decision.mode == "plan" and not once and self._before is not None:
            return renamed_steps(self._before.plan, decision.plan)
        return ""


# ── bands ────────────────────────────────────────────────────────────────────────────────────────


def ordered(plan: Plan) -> list[Band]:
    """Bands by their index, their steps by theirs."""
    return [
        band.model_copy(update={"steps": sorted(band.steps, key=lambda step: step.step_index)})
        for band in sorted(plan.bands, key=lambda band: band.index)
    ]


# ── replanning ───────────────────────────────────────────────────────────────────────────────────


def renamed_steps(before: Plan, after: Plan) -> str:
    """Step ids stay when a node plans again: a step that keeps its title keeps its id."""
    known = {step.title: step.id for step in before.steps}
    wrong = [
        f"{step.title!r} was {known[step.title]!r}, now {step.id!r}"
        for step in after.steps
        if step.title in known and known[step.title] != step.id
    ]
    return f"step ids must be stable when a node is planned again: {'; '.join(wrong)}" if wrong else ""


def still_holds(step: Step, before: Attempt | None) -> Returned | None:
    """The result of a step that need not run again: unchanged id, title and criteria, and it succeeded."""
    returned = None if before is None else before.returned.get(step.id)
    if before is None or returned is None or returned.outcome != "success":
        return None
    old = next((one for one in before.plan.steps if one.id == step.id), None)
    unchanged = old is not None and (old.title, old.success_criteria) == (step.title, step.success_criteria)
    return returned if unchanged else None


def may_replan(replans_so_far: int, limits: TreeLimits) -> bool:
    return replans_so_far < limits.replans


# ── answers ──────────────────────────────────────────────────────────────────────────────────────


def missing_document(node: Node, answer: Answer) -> str:
    """The root ends with a document that stands for the whole."""
    if not node.is_root:
        return ""
    primary = answer.primary
    if primary is not None and primary.type == "document":
        return ""
    return (
        "the root must produce a synthesis document as its primary artifact: add an artifact of type "
        "document with title and documentMarkdown, and name its label in result.primaryArtifactLabel"
    )


def executor_problem(node: Node, answer: ExecutorOutput, *, last: bool = False) -> str:
    """What is wrong with a leaf's answer beyond its shape; one that still wants tools, and may have them, is
    not its last."""
    return "" if answer.tool_calls and not last else missing_document(node, answer)


def aggregator_problem(node: Node, children: Sequence[Returned], answer: AggregatorOutput) -> str:
    """An aggregator may hint at its own artifacts and at its children's, as `stepId/label`."""
    own = [artifact.label for artifact in answer.artifacts]
    theirs = child_labels(children)
    known = {*own, *theirs}
    unknown = [label for label in answer.result.parent_hint.artifact_labels if label not in known]
    found = [unknown_labels(unknown, [*own, *theirs])] if unknown else []
    found += [unknown_includes(answer, theirs)]
    if not answer.next.should_replan:
        found += [missing_document(node, answer)]
    return "; ".join(problem for problem in found if problem)


def unknown_includes(answer: Answer, known: Iterable[str]) -> str:
    """Includes that name no document of a child."""
    texts = [artifact.document_markdown or "" for artifact in answer.artifacts]
    wrong = [label for text in texts for label in INCLUDE.findall(text) if label not in set(known)]
    if not wrong:
        return ""
    return (
        f"there is no document to include under {', '.join(wrong)}; there are: {', '.join(known) or 'none'}"
    )


def with_includes(text: str, children: Iterable[Returned]) -> str:
    """A document with the documents of children in the place of its includes."""
    texts = {f"{child.step_id}/{kept.label}": kept.text for child in children for kept in child.artifacts}

    def included(found: re.Match[str]) -> str:
        whole, label = found[0], found[1]
        if label not in texts:
            return whole
        return demoted(texts[label], _level_above(text, found.start(), texts[label]))

    return INCLUDE.sub(included, text)


def _level_above(text: str, place: int, included: str) -> int:
    """The level of the heading that an included document belongs below. One that brings its own heading and
    does not follow one directly is a section like the others, not a part of the section before it."""
    before = list(_HEADING.finditer(text, 0, place))
    if not before:
        return 0
    directly = not text[before[-1].end() : place].partition("\n")[2].strip()
    if directly or not _HEADING.match(included.strip()):
        return len(before[-1][1])
    sections = [len(heading[1]) for heading in _HEADING.finditer(text)][1:]
    return min(sections, default=len(before[0][1]) + 1) - 1


def demoted(text: str, below: int) -> str:
    """A document whose headings stand below a heading of a level. One that repeats that heading is left to
    its writer."""
    levels = [len(heading[1]) for heading in _HEADING.finditer(text)]
    if not levels or min(levels) > below:
        return text.strip()
    shift = below + 1 - min(levels)
    return _HEADING.sub(lambda found: f"{'#' * min(len(found[1]) + shift, 6)} ", text).strip()


def child_labels(children: Iterable[Returned]) -> dict[str, str]:
    """What direct children left behind: `stepId/label` to the artifact's id."""
    return {
        f"{child.step_id}/{kept.label}": kept.artifact_id for child in children for kept in child.artifacts
    }


def outcome_of(result: Result, artifacts: int, children: Sequence[Returned] = (), gaps: int = 0) -> str:
    """`no_op` without an artifact; `success` if the criteria are met and no child failed; else `partial`."""
    if artifacts == 0:
        return "no_op"
    assessed = result.success_assessment
    met = gaps == 0 if assessed is None else assessed.met
    failed = any(child.status != "completed" for child in children)
    return "success" if met and not failed else "partial"


def is_met(answer: Answer) -> bool:
    """Whether a result meets its criteria; without an assessment, whether it names no gap."""
    assessed = answer.result.success_assessment
    return not gaps_of(answer) if assessed is None else assessed.met


def gaps_of(answer: Answer) -> list[str]:
    """What a result does not answer, in its own words."""
    assessed = answer.result.success_assessment
    gaps = list(answer.synthesis.gaps) if isinstance(answer, AggregatorOutput) else []
    if assessed is not None and not assessed.met and not gaps:
        gaps.append(assessed.notes or "The criteria are not met.")
    return gaps


def retryable(error: Exception) -> bool:
    """Whether a failed node might do better another time: a provider in trouble, not a wrong answer."""
    trouble = isinstance(error, (ModelFailedError, StepTimeoutError))
    return trouble and getattr(error, "error_type", "") in ("ProviderError", "ModelFault", "TimeoutError")


SCRATCHPAD = "scratchpad.md"


def file_names(answer: Answer) -> list[str]:
    """A file name for each artifact: its label, with what it holds. The notes keep theirs."""
    names = [f"{one.label}.{'md' if one.type == 'document' else 'json'}" for one in answer.artifacts]
    return [f"result-{name}" if name == SCRATCHPAD else name for name in names]


# ── texts ────────────────────────────────────────────────────────────────────────────────────────


def tail(text: str, length: int = SCRATCHPAD_TAIL) -> str:
    """The end of a text, from the beginning of a line where that is near."""
    if len(text) <= length:
        return text
    cut = text[-length:]
    line = cut.find("\n")
    return cut[line + 1 :] if 0 <= line < length // 4 else cut


def snippet(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def preview(note: str, appended: str) -> str:
    """The last words of a scratchpad, for its event."""
    return snippet(" ".join((note.strip() or tail(appended, PREVIEW)).split()), PREVIEW)


def wanted(node: Node, deliverable: Deliverable) -> str:
    """The deliverable in words. Whatever the run asks of its leaves, the root owes a document."""
    words = {
        "document": "a document in Markdown",
        "json": "a JSON artifact",
        "both": "a document in Markdown and a JSON artifact",
    }
    asked = words[deliverable]
    if node.is_root and deliverable == "json":
        asked = words["both"]
    return f"{asked}; the document is the primary artifact" if node.is_root else asked
