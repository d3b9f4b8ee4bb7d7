"""Structured replies of planner, executor and aggregator, and the nodes and results that branches pass on.

Rules that depend on the node (limits, its children's labels, the root's document) are in `policy`.
A message names the broken rule, because the model reads it in the next attempt. Nodes are plain values:
branches share no state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

Name = Field(min_length=1, max_length=200)


class StrictModel(BaseModel):
    """Python names here, the contract's names in JSON."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class ScratchpadNote(StrictModel):
    """Addition of a role to its node's notes."""

    append_markdown: str
    tail_preview: str


# ── planner ──────────────────────────────────────────────────────────────────────────────────────


class Step(StrictModel):
    id: str = Name
    title: str = Name
    reason: str
    success_criteria: list[str]
    step_index: int
    one_reply: bool = False
    """The planner says that one writer can do it in one reply: no planner is asked for it."""


class Band(StrictModel):
    index: int
    goal: str
    parallelizable: bool
    steps: list[Step] = Field(min_length=1)


class Plan(StrictModel):
    summary: str
    bands: list[Band]
    assumptions: list[str] = []
    """Decisions that all parts have to agree on."""

    @property
    def steps(self) -> list[Step]:
        return [step for band in self.bands for step in band.steps]

    def problems(self) -> list[str]:
        """Return the rules that the plan breaks, whatever its node."""
        wrong: list[str] = []
        indices = [band.index for band in self.bands]
        if not self.bands:
            wrong.append("mode is plan, so plan.bands must be present: it needs at least one band")
        elif sorted(indices) != list(range(len(indices))):
            wanted = f"0..{len(indices) - 1}"
            wrong.append(f"bands must be indexed from 0..n-1: expected {wanted}, got {_listed(indices)}")
        repeated = _repeated([step.id for step in self.steps])
        if repeated:
            wrong.append(f"step ids must be unique within a plan; repeated: {_listed(repeated)}")
        return wrong


class LeafDecision(StrictModel):
    can_execute_directly: bool
    complexity: Literal["low", "medium", "high"]
    blockers: list[str]


class PlannerOutput(StrictModel):
    """Do it, or split it."""

    mode: Literal["execute", "plan"]
    mode_reason: str
    leaf_decision: LeafDecision | None = None
    plan: Plan | None = None
    scratchpad: ScratchpadNote

    @model_validator(mode="after")
    def _rules(self) -> PlannerOutput:
        if self.mode == "plan" and self.plan is None:
            raise ValueError("mode is plan, so plan.bands must be present")
        if self.mode == "plan" and self.plan is not None:
            _refuse(self.plan.problems())
        return self


# ── executor and aggregator ──────────────────────────────────────────────────────────────────────


class Action(StrictModel):
    kind: Literal["analysis", "tool_call", "document"]
    note: str
    tool_name: str | None = None
    tool_args: dict[str, Any] | None = None


class Artifact(StrictModel):
    type: Literal["document", "json"]
    label: str = Name
    title: str | None = None
    document_markdown: str | None = None
    json_payload: dict[str, Any] | None = None
    is_primary: bool | None = None

    def problems(self) -> list[str]:
        if self.type == "document":
            missing = [
                name
                for name, value in (("title", self.title), ("documentMarkdown", self.document_markdown))
                if not (value or "").strip()
            ]
            rule = f"a document artifact must include title and documentMarkdown: {self.label} has no"
            return [f"{rule} {' and no '.join(missing)}"] if missing else []
        return [] if self.json_payload is not None else [f"the json artifact {self.label} has no jsonPayload"]


class SuccessAssessment(StrictModel):
    met: bool
    notes: str | None = None


class Hint(StrictModel):
    """Recommended reading for the parent."""

    hint_type: Literal["read_documents", "read_json"]
    artifact_labels: list[str]


class Result(StrictModel):
    """The envelope in which a child answers its parent."""

    kind: Literal["json", "document", "hybrid"]
    summary: str
    success_assessment: SuccessAssessment | None = None
    primary_artifact_label: str | None = None
    parent_hint: Hint


class Answer(StrictModel):
    """Fields that executor and aggregator have in common."""

    artifacts: list[Artifact]
    result: Result
    scratchpad: ScratchpadNote

    def problems(self) -> list[str]:
        wrong = [problem for artifact in self.artifacts for problem in artifact.problems()]
        labels = [artifact.label for artifact in self.artifacts]
        repeated = _repeated(labels)
        if repeated:
            wrong.append(f"artifact labels must be unique; repeated: {_listed(repeated)}")
        primary = self.result.primary_artifact_label
        if primary is not None and primary not in labels:
            wrong.append(f"result.primaryArtifactLabel must name an artifact defined above, not {primary!r}")
        return wrong

    @property
    def primary(self) -> Artifact | None:
        """The artifact that stands for the result: the one that is named, marked, or the only document."""
        named = [
            artifact for artifact in self.artifacts if artifact.label == self.result.primary_artifact_label
        ]
        marked = [artifact for artifact in self.artifacts if artifact.is_primary]
        documents = [artifact for artifact in self.artifacts if artifact.type == "document"]
        only = documents if len(documents) == 1 else []
        return next(iter([*named, *marked, *only]), None)


class ExecutorOutput(Answer):
    """The work of a leaf."""

    actions: list[Action]

    @model_validator(mode="after")
    def _rules(self) -> ExecutorOutput:
        labels = {artifact.label for artifact in self.artifacts}
        unknown = [name for name in self.result.parent_hint.artifact_labels if name not in labels]
        problems = self.problems()
        if unknown:
            problems.append(unknown_labels(unknown, sorted(labels)))
        if any(action.kind == "tool_call" and not action.tool_name for action in self.actions):
            problems.append("a tool_call action must name its tool in toolName")
        _refuse(problems)
        return self

    @property
    def tool_calls(self) -> list[Action]:
        return [action for action in self.actions if action.kind == "tool_call"]


class Synthesis(StrictModel):
    summary: str
    key_findings: list[str]
    gaps: list[str]


class Next(StrictModel):
    should_replan: bool
    replan_reason: str | None = None


class AggregatorOutput(Answer):
    """A parent's result from its children's results."""

    synthesis: Synthesis
    next: Next
    actions: list[Action] | None = None
    """Requests to read on in documents that are shown only in part; beyond the seed's contract."""

    @property
    def tool_calls(self) -> list[Action]:
        return [action for action in self.actions or () if action.kind == "tool_call"]

    @model_validator(mode="after")
    def _rules(self) -> AggregatorOutput:
        _refuse(self.problems())
        return self


def unknown_labels(unknown: Sequence[str], known: Sequence[str]) -> str:
    choice = f"defined: {_listed(known)}" if known else "none is defined"
    return (
        f"result.parentHint.artifactLabels must reference artifacts defined above: {_listed(unknown)} "
        f"is not among them ({choice})"
    )


def _repeated(names: Sequence[str]) -> list[str]:
    """Those that occur more than once, each once."""
    if len(set(names)) == len(names):
        return []
    return [name for name, count in Counter(names).items() if count > 1]


def _refuse(problems: list[str]) -> None:
    if problems:
        raise ValueError("; ".join(problems))


def _listed(values: Sequence[object]) -> str:
    return ", ".join(str(value) for value in values[:12]) + (", …" if len(values) > 12 else "")


class KeptArtifact(msgspec.Struct, frozen=True):
    """A saved artifact, as the parent sees it."""

    artifact_id: str
    type: str
    label: str
    title: str
    text: str
    """The whole document, or the JSON text."""
    document_id: str | None = None
    primary: bool = False

    def shown(self) -> dict[str, Any]:
        """The artifact as data for a prompt, without its text."""
        return {
            "artifactId": self.artifact_id,
            "documentId": self.document_id,
            "type": self.type,
            "label": self.label,
            "title": self.title,
        }


class Returned(msgspec.Struct, frozen=True):
    """Result of a node: completed with an outcome, failed, or blocked by a budget."""

    node_id: str
    step_id: str
    title: str
    status: str
    outcome: str = ""
    envelope: dict[str, Any] = {}
    artifacts: tuple[KeptArtifact, ...] = ()
    error: str = ""

    @property
    def hinted(self) -> frozenset[str]:
        """Labels of the artifacts that the parent should read."""
        hint: dict[str, list[str]] = self.envelope.get("parentHint") or {}
        return frozenset(hint.get("artifactLabels", ()))

    @property
    def summary(self) -> str:
        return str(self.envelope.get("summary") or self.error)

    def shown(self) -> dict[str, Any]:
        """The result as data for a prompt: the envelope of a completed node, otherwise the error."""
        identity = {
            "stepId": self.step_id,
            "nodeId": self.node_id,
            "title": self.title,
            "status": self.status,
        }
        if self.status != "completed":
            return {**identity, "error": self.error}
        return {**identity, "outcome": self.outcome, "result": self.envelope}


class Node(msgspec.Struct, frozen=True):
    """One task and its position in the tree."""

    id: str
    title: str
    reason: str = ""
    criteria: tuple[str, ...] = ()
    depth: int = 0
    parent: Node | None = None
    step: Step | None = None
    band: Band | None = None
    step_index: int | None = None
    earlier: tuple[Returned, ...] = ()
    """Results of earlier bands of the parent's plan and of the plans above it."""
    nearer: int = 0
    """Index in `earlier` at which the results of the parent's own plan start."""
    plan: Plan | None = None
    """The plan that this node is a step of."""
    allowance: int = 0
    """Maximum number of nodes below this one."""
    draft: str = ""
    """A direct answer to the whole request. Only the root has one."""

    @property
    def is_root(self) -> bool:
        return self.parent is None

    @property
    def line(self) -> tuple[Node, ...]:
        """The nodes from the root down to this one."""
        return (self,) if self.parent is None else (*self.parent.line, self)

    @property
    def root(self) -> Node:
        return self.line[0]

    @property
    def step_id(self) -> str:
        """Id of the step that it does; empty for the root."""
        return "" if self.step is None else self.step.id

    @property
    def parent_id(self) -> str | None:
        return None if self.parent is None else self.parent.id

    def shown(self) -> dict[str, Any]:
        """The node's identity as data for a prompt."""
        return {
            "title": self.title,
            "reason": self.reason,
            "successCriteria": list(self.criteria),
            "depth": self.depth,
        }


class Attempt(msgspec.Struct, frozen=True):
    """One plan of a node and the results of its steps. A replan starts from it."""

    version: int
    plan: Plan
    returned: dict[str, Returned] = {}
    """By step id."""
    runs: dict[str, int] = {}
    """Number of nodes created for each step, over all plans."""
    replan_reason: str = ""
