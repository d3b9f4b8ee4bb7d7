"""Every rule and number of the tree, as pure functions: guards, bands, replans, outcomes, contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from msgspec.structs import replace

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
DOCUMENT_SNIPPET = 2_000
"""Characters of a child's document that a parent is shown."""
PREVIEW = 280
"""Characters of a scratchpad's last lines that its event carries."""

MAX_DEPTH, MAX_BANDS, MAX_STEPS, MAX_REPLANS, CONCURRENCY = 4, 3, 4, 1, 4
"""The guards, where nobody gives others."""


# ── guards ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Limits:
    """The guards of a run."""

    depth: int = MAX_DEPTH
    bands: int = MAX_BANDS
    steps: int = MAX_STEPS
    """Per band."""
    replans: int = MAX_REPLANS

    @property
    def children(self) -> int:
        """Per node."""
        return self.bands * self.steps

    def shown(self, seconds_left: float | None) -> dict[str, Any]:
        """What a planner may plan with."""
        return {
            "maxDepth": self.depth,
            "maxBandsPerPlan": self.bands,
            "maxStepsPerBand": self.steps,
            "maxChildrenPerNode": self.children,
            "timeBudgetSeconds": None if seconds_left is None else round(seconds_left),
        }


def must_execute(node: Node, limits: Limits) -> bool:
    """At the deepest level nobody plans."""
    return node.depth >= limits.depth


def broken_guard(plan: Plan, limits: Limits) -> str:
    """The first cap that a plan passes; empty if it keeps within all."""
    if len(plan.bands) > limits.bands:
        return "maxBandsPerPlan"
    if any(len(band.steps) > limits.steps for band in plan.bands):
        return "maxStepsPerBand"
    return "maxChildrenPerNode" if len(plan.steps) > limits.children else ""


def over_caps(plan: Plan, limits: Limits) -> str:
    """What a planner is told of a plan that is too large."""
    guard = broken_guard(plan, limits)
    if not guard:
        return ""
    widest = max(len(band.steps) for band in plan.bands)
    return (
        f"{guard}: the plan has {len(plan.bands)} bands with up to {widest} steps, {len(plan.steps)} steps "
        f"in all; at most {limits.bands} bands, {limits.steps} steps per band and {limits.children} steps "
        f"in all are allowed. Merge or drop steps"
    )


def execution_guard(decision: PlannerOutput, limits: Limits) -> str:
    """Why a node has to execute although its planner wants to split it; empty: it need not."""
    if decision.mode == "execute" or decision.plan is None:
        return ""
    return broken_guard(decision.plan, limits)


class PlanCheck:
    """What is wrong with a planner's decision beyond its shape.

    A plan that passes a cap, or comes with `mode: execute`, is sent back once; after that the guard or the
    mode decides. A plan that renames steps it keeps is sent back as often as any other broken rule.
    """

    def __init__(self, limits: Limits, before: Attempt | None) -> None:
        self._limits = limits
        self._before = before
        self._warned = False

    def __call__(self, decision: PlannerOutput) -> str:
        if decision.plan is None:
            return ""
        once = ""
        if decision.mode == "execute":
            once = "mode is execute, so leave out plan, or choose mode plan"
        else:
            once = over_caps(decision.plan, self._limits)
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


def may_replan(replans_so_far: int, limits: Limits) -> bool:
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
    if not answer.next.should_replan:
        found += [missing_document(node, answer)]
    return "; ".join(problem for problem in found if problem)


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


def retryable(error: Exception) -> bool:
    """Whether a failed node might do better another time: a provider in trouble, not a wrong answer."""
    trouble = isinstance(error, (ModelFailedError, StepTimeoutError))
    return trouble and getattr(error, "error_type", "") in ("ProviderError", "ModelFault", "TimeoutError")


SCRATCHPAD = "scratchpad.md"


def file_names(answer: Answer) -> list[str]:
    """A file name for each artifact: its label, with what it holds. The notes keep theirs."""
    names = [f"{one.label}.{'md' if one.type == 'document' else 'json'}" for one in answer.artifacts]
    return [f"result-{name}" if name == SCRATCHPAD else name for name in names]


# ── what each role is shown ──────────────────────────────────────────────────────────────────────


def tail(text: str, length: int = SCRATCHPAD_TAIL) -> str:
    """The end of a text, from the beginning of a line where that is near."""
    if len(text) <= length:
        return text
    cut = text[-length:]
    line = cut.find("\n")
    return cut[line + 1 :] if 0 <= line < length // 4 else cut


def snippet(text: str, length: int = DOCUMENT_SNIPPET) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def preview(note: str, appended: str) -> str:
    """The last words of a scratchpad, for its event."""
    return snippet(" ".join((note.strip() or tail(appended, PREVIEW)).split()), PREVIEW)


def parent_ask(node: Node) -> dict[str, Any] | None:
    """What the parent wants of this node, and what is there already; nothing for the root."""
    if node.parent is None:
        return None
    return {
        "parentTitle": node.parent.title,
        "parentSuccessCriteria": list(node.parent.criteria),
        "bandGoal": "" if node.band is None else node.band.goal,
        "earlierResults": [f"{one.step_id}: {one.title}. {one.summary}" for one in node.earlier],
    }


def planner_context(
    node: Node, limits: Limits, seconds_left: float | None, notes: str, before: Attempt | None
) -> dict[str, Any]:
    """Identity, the parent's ask, budgets, notes; when replanning also the old plan and what it brought."""
    children = [] if before is None else list(before.returned.values())
    return {
        "node": node.shown(),
        "parent_ask": parent_ask(node),
        "budgets": limits.shown(seconds_left),
        "scratchpad": tail(notes),
        "existing_plan": None if before is None else _outlined(before),
        "children": [
            {
                "stepId": child.step_id, "title": child.title, "status": child.status,
                "outcome": child.outcome, "summary": child.summary,
            }
            for child in children
        ],
    }  # fmt: skip


def executor_context(
    node: Node,
    deliverable: Deliverable,
    notes: str,
    children: Sequence[Returned],
    tools: Sequence[Mapping[str, Any]],
    tool_results: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The task, the deliverable, notes, and what there is to read: of earlier steps, children and tools."""
    return {
        "node": node.shown(),
        "deliverable": wanted(node, deliverable),
        "scratchpad": tail(notes),
        "hints": [_readable(one) for one in (*node.earlier, *children)],
        "tools": list(tools),
        "tool_results": list(tool_results),
        "tool_calls_left": MAX_TOOL_CALLS - len(tool_results) if tools else 0,
    }


def aggregator_context(node: Node, notes: str, children: Sequence[Returned]) -> dict[str, Any]:
    """The children's envelopes, their artifacts, and their documents in short: nothing that they did not
    return."""
    documents = [kept for child in children for kept in child.artifacts if kept.document_id]
    return {
        "node": node.shown(),
        "is_root": node.is_root,
        "scratchpad": tail(notes),
        "results": [child.shown() for child in children],
        "artifacts": [
            {"label": f"{child.step_id}/{kept.label}", "artifactId": kept.artifact_id, "type": kept.type,
             "documentId": kept.document_id, "title": kept.title}
            for child in children
            for kept in child.artifacts
        ],
        "documents": [
            {"documentId": kept.document_id, "title": kept.title, "snippet": kept.snippet}
            for kept in documents
        ],
    }  # fmt: skip


def in_short(one: Returned) -> Returned:
    """What a plan further up has delivered: its summary is enough."""
    return replace(one, artifacts=())


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


def _outlined(before: Attempt) -> dict[str, Any]:
    return {
        "version": before.version,
        "summary": before.plan.summary,
        "steps": [
            {"id": step.id, "title": step.title, "successCriteria": step.success_criteria}
            for step in before.plan.steps
        ],
        "replanReason": before.replan_reason,
    }


def _readable(one: Returned) -> dict[str, Any]:
    return {
        "stepId": one.step_id, "title": one.title, "status": one.status, "summary": one.summary,
        "artifacts": [kept.shown() for kept in one.artifacts],
    }  # fmt: skip
