"""Rules and limits of `tree` as pure functions: guards, bands, replans, outcomes, contexts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from podium.errors import ModelFailedError, StepTimeoutError
from podium.workflows.tree.contracts import (
    AggregatorOutput,
    Answer,
    Attempt,
    Band,
    ExecutorOutput,
    Node,
    Plan,
    PlannerOutput,
    Result,
    Returned,
    Step,
    unknown_labels,
)

Deliverable = Literal["document", "json", "both"]

MAX_TOOL_CALLS = 6
"""Maximum tool calls per node."""
SCRATCHPAD_TAIL = 6_000
"""Characters of the scratchpad's tail in a prompt."""
MAX_NODES = 60
"""Default limit of nodes in the whole tree."""
PREVIEW = 280
"""Characters of the scratchpad preview in an event."""

INCLUDE = re.compile(r"^[ \t]*\{\{\s*include\s+(\S+?)\s*\}\}[ \t]*$", re.MULTILINE)
"""An include line in an aggregator's document. A child's document replaces it."""
_HEADING = re.compile(r"^(#{1,6}) +", re.MULTILINE)

MAX_DEPTH, MAX_BANDS, MAX_STEPS, MAX_REPLANS, CONCURRENCY = 4, 3, 4, 1, 4
"""Default limits."""


# ── guards ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class TreeLimits:
    """Limits of a run's tree."""

    depth: int = MAX_DEPTH
    bands: int = MAX_BANDS
    steps: int = MAX_STEPS
    """Steps per band."""
    replans: int = MAX_REPLANS
    nodes: int = MAX_NODES
    """Nodes in the whole tree, including the root."""

    @property
    def children(self) -> int:
        """Maximum children per node."""
        return self.bands * self.steps

    def shown(self, seconds_left: float | None, allowance: int) -> dict[str, Any]:
        """Return the limits for a planner's prompt. `allowance` is the maximum number of nodes below its
        node."""
        return {
            "maxDepth": self.depth,
            "maxBandsPerPlan": self.bands,
            "maxStepsPerBand": self.steps,
            "maxChildrenPerNode": min(self.children, allowance),
            "maxNodes": allowance,
            "timeBudgetSeconds": None if seconds_left is None else round(seconds_left),
        }


ONE_REPLY = "oneReply"
"""Not a limit: the parent's planner marked the step as small enough for one reply."""


def must_execute(node: Node, limits: TreeLimits) -> str:
    """Return the guard that forbids a node to split, or an empty string. A guarded node asks no planner."""
    if node.step is not None and node.step.one_reply:
        return ONE_REPLY
    if node.depth >= limits.depth:
        return "maxDepth"
    return "maxNodes" if node.allowance < 2 else ""


def share_of(node: Node, children: int) -> int:
    """Return the maximum number of nodes below each child: an equal share of the node's remaining allowance.
    It depends only on the plan, so a resume computes the same value."""
    return max(0, node.allowance - children) // max(1, children)


def broken_guard(plan: Plan, limits: TreeLimits, allowance: int) -> str:
    """Return the first limit that a plan exceeds, or an empty string."""
    if len(plan.bands) > limits.bands:
        return "maxBandsPerPlan"
    if any(len(band.steps) > limits.steps for band in plan.bands):
        return "maxStepsPerBand"
    if len(plan.steps) > limits.children:
        return "maxChildrenPerNode"
    return "maxNodes" if len(plan.steps) > allowance else ""


def over_caps(plan: Plan, limits: TreeLimits, allowance: int) -> str:
    """Return the correction for a planner whose plan is too large, or an empty string."""
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
    """Return the guard that forces a node to execute although its planner wants to split, or an empty
    string."""
    if decision.mode == "execute" or decision.plan is None:
        return ""
    return broken_guard(decision.plan, limits, allowance)


class PlanCheck:
    """Semantic check of a planner's decision, beyond its schema.

    A plan that exceeds a limit, or comes with `mode: execute`, is rejected once; after that the guard or the
    mode decides. A plan that renames steps it keeps is rejected as often as any other broken rule.
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
    """Return the bands sorted by index, with their steps sorted by index."""
    return [
        band.model_copy(update={"steps": sorted(band.steps, key=lambda step: step.step_index)})
        for band in sorted(plan.bands, key=lambda band: band.index)
    ]


# ── replanning ───────────────────────────────────────────────────────────────────────────────────


def renamed_steps(before: Plan, after: Plan) -> str:
    """Return a correction if a replanned step keeps its title but changes its id."""
    known = {step.title: step.id for step in before.steps}
    wrong = [
        f"{step.title!r} was {known[step.title]!r}, now {step.id!r}"
        for step in after.steps
        if step.title in known and known[step.title] != step.id
    ]
    return f"step ids must be stable when a node is planned again: {'; '.join(wrong)}" if wrong else ""


def still_holds(step: Step, before: Attempt | None) -> Returned | None:
    """Return the result of a step that need not run again, or None. Its id, title and criteria must be
    unchanged, and it must have succeeded."""
    returned = None if before is None else before.returned.get(step.id)
    if before is None or returned is None or returned.outcome != "success":
        return None
    old = next((other for other in before.plan.steps if other.id == step.id), None)
    unchanged = old is not None and (old.title, old.success_criteria) == (step.title, step.success_criteria)
    return returned if unchanged else None


def may_replan(replans_so_far: int, limits: TreeLimits) -> bool:
    return replans_so_far < limits.replans


# ── answers ──────────────────────────────────────────────────────────────────────────────────────


def missing_document(node: Node, answer: Answer) -> str:
    """Return a correction if the root's answer has no document as its primary artifact."""
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
    """Return the correction for a leaf's answer, or an empty string. An answer that calls tools, unless it is
    the `last`, is not final and passes."""
    return "" if answer.tool_calls and not last else missing_document(node, answer)


def aggregator_problem(node: Node, children: Sequence[Returned], answer: AggregatorOutput) -> str:
    """Return the correction for an aggregator's answer, or an empty string. It may hint at its own artifacts
    and, as `stepId/label`, at its children's."""
    own = [artifact.label for artifact in answer.artifacts]
    theirs = child_labels(children)
    known = {*own, *theirs}
    unknown = [label for label in answer.result.parent_hint.artifact_labels if label not in known]
    problems = [unknown_labels(unknown, [*own, *theirs])] if unknown else []
    problems += [unknown_includes(answer, theirs)]
    if not answer.next.should_replan:
        problems += [missing_document(node, answer)]
    return "; ".join(problem for problem in problems if problem)


def unknown_includes(answer: Answer, known: Iterable[str]) -> str:
    """Return a correction for includes that name no document of a child."""
    texts = [artifact.document_markdown or "" for artifact in answer.artifacts]
    wrong = [label for text in texts for label in INCLUDE.findall(text) if label not in set(known)]
    if not wrong:
        return ""
    return (
        f"there is no document to include under {', '.join(wrong)}; there are: {', '.join(known) or 'none'}"
    )


def with_includes(text: str, children: Iterable[Returned]) -> str:
    """Replace the includes in a document with the children's documents."""
    texts = {
        f"{child.step_id}/{artifact.label}": artifact.text
        for child in children
        for artifact in child.artifacts
    }

    def included(match: re.Match[str]) -> str:
        whole, label = match[0], match[1]
        if label not in texts:
            return whole
        return demoted(texts[label], _level_above(text, match.start(), texts[label]))

    return INCLUDE.sub(included, text)


def _level_above(text: str, place: int, included: str) -> int:
    """Return the heading level that an included document belongs below. A document with its own heading that
    does not directly follow a heading is a section of its own, not part of the section before it."""
    before = list(_HEADING.finditer(text, 0, place))
    if not before:
        return 0
    directly = not text[before[-1].end() : place].partition("\n")[2].strip()
    if directly or not _HEADING.match(included.strip()):
        return len(before[-1][1])
    sections = [len(heading[1]) for heading in _HEADING.finditer(text)][1:]
    return min(sections, default=len(before[0][1]) + 1) - 1


def demoted(text: str, below: int) -> str:
    """Shift a document's headings below the given level. A document whose headings are deep enough stays
    unchanged. A repeated heading is not removed."""
    levels = [len(heading[1]) for heading in _HEADING.finditer(text)]
    if not levels or min(levels) > below:
        return text.strip()
    shift = below + 1 - min(levels)
    return _HEADING.sub(lambda match: f"{'#' * min(len(match[1]) + shift, 6)} ", text).strip()


def child_labels(children: Iterable[Returned]) -> dict[str, str]:
    """Map `stepId/label` to the artifact id, for the artifacts of direct children."""
    return {
        f"{child.step_id}/{artifact.label}": artifact.artifact_id
        for child in children
        for artifact in child.artifacts
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
    """True if a result meets its criteria or, without an assessment, names no gap."""
    assessed = answer.result.success_assessment
    return not gaps_of(answer) if assessed is None else assessed.met


def gaps_of(answer: Answer) -> list[str]:
    """Return the gaps that a result names itself."""
    assessed = answer.result.success_assessment
    gaps = list(answer.synthesis.gaps) if isinstance(answer, AggregatorOutput) else []
    if assessed is not None and not assessed.met and not gaps:
        gaps.append(assessed.notes or "The criteria are not met.")
    return gaps


def retryable(error: Exception) -> bool:
    """True if a retry may succeed: a provider failure or a timeout, not a wrong answer."""
    trouble = isinstance(error, (ModelFailedError, StepTimeoutError))
    return trouble and getattr(error, "error_type", "") in ("ProviderError", "ModelFault", "TimeoutError")


SCRATCHPAD = "scratchpad.md"


def file_names(answer: Answer) -> list[str]:
    """Return a file name for each artifact: its label and an extension. The scratchpad's name is reserved."""
    names = [
        f"{artifact.label}.{'md' if artifact.type == 'document' else 'json'}" for artifact in answer.artifacts
    ]
    return [f"result-{name}" if name == SCRATCHPAD else name for name in names]


# ── texts ────────────────────────────────────────────────────────────────────────────────────────


def tail(text: str, length: int = SCRATCHPAD_TAIL) -> str:
    """Return the end of a text, from the start of a line if one is near."""
    if len(text) <= length:
        return text
    cut = text[-length:]
    line = cut.find("\n")
    return cut[line + 1 :] if 0 <= line < length // 4 else cut


def snippet(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def preview(note: str, appended: str) -> str:
    """Return the preview of a scratchpad for its event."""
    return snippet(" ".join((note.strip() or tail(appended, PREVIEW)).split()), PREVIEW)


def wanted(node: Node, deliverable: Deliverable) -> str:
    """Describe the deliverable in words. The root always writes a document, whatever the leaves return."""
    words = {
        "document": "a document in Markdown",
        "json": "a JSON artifact",
        "both": "a document in Markdown and a JSON artifact",
    }
    text = words[deliverable]
    if node.is_root and deliverable == "json":
        text = words["both"]
    return f"{text}; the document is the primary artifact" if node.is_root else text
