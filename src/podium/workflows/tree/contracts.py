"""What planner, executor and aggregator have to answer, with every rule that holds whatever the node.

Rules that depend on the node (caps, its children's labels, the root's document) are in `policy`.
A message names the rule that was broken, because the model reads it when it is asked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

Name = Field(min_length=1, max_length=200)


class StrictModel(BaseModel):
    """Python names here, the contract's names in JSON."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class ScratchpadNote(StrictModel):
    """What a role adds to its node's notes."""

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
    """What all parts have to agree on."""

    @property
    def steps(self) -> list[Step]:
        return [step for band in self.bands for step in band.steps]

    def problems(self) -> list[str]:
        """What is wrong with the plan as a plan."""
        found: list[str] = []
        indices = [band.index for band in self.bands]
        if not self.bands:
            found.append("mode is plan, so plan.bands must be present: it needs at least one band")
        elif sorted(indices) != list(range(len(indices))):
            wanted = f"0..{len(indices) - 1}"
            found.append(f"bands must be indexed from 0..n-1: expected {wanted}, got {_listed(indices)}")
        repeated = _repeated([step.id for step in self.steps])
        if repeated:
            found.append(f"step ids must be unique within a plan; repeated: {_listed(repeated)}")
        return found


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
            said = f"a document artifact must include title and documentMarkdown: {self.label} has no"
            return [f"{said} {' and no '.join(missing)}"] if missing else []
        return [] if self.json_payload is not None else [f"the json artifact {self.label} has no jsonPayload"]


class SuccessAssessment(StrictModel):
    met: bool
    notes: str | None = None


class Hint(StrictModel):
    """What the parent should read."""

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
    """What executor and aggregator have in common."""

    artifacts: list[Artifact]
    result: Result
    scratchpad: ScratchpadNote

    def problems(self) -> list[str]:
        found = [problem for artifact in self.artifacts for problem in artifact.problems()]
        labels = [artifact.label for artifact in self.artifacts]
        repeated = _repeated(labels)
        if repeated:
            found.append(f"artifact labels must be unique; repeated: {_listed(repeated)}")
        primary = self.result.primary_artifact_label
        if primary is not None and primary not in labels:
            found.append(f"result.primaryArtifactLabel must name an artifact defined above, not {primary!r}")
        return found

    @property
    def primary(self) -> Artifact | None:
        """The artifact that stands for the result: the one that is named, marked, or the only document."""
        named = [one for one in self.artifacts if one.label == self.result.primary_artifact_label]
        marked = [one for one in self.artifacts if one.is_primary]
        documents = [one for one in self.artifacts if one.type == "document"]
        only = documents if len(documents) == 1 else []
        return next(iter([*named, *marked, *only]), None)


class ExecutorOutput(Answer):
    """The work of a leaf."""

    actions: list[Action]

    @model_validator(mode="after")
    def _rules(self) -> ExecutorOutput:
        labels = {artifact.label for artifact in self.artifacts}
        unknown = [name for name in self.result.parent_hint.artifact_labels if name not in labels]
        found = self.problems()
        if unknown:
            found.append(unknown_labels(unknown, sorted(labels)))
        if any(action.kind == "tool_call" and not action.tool_name for action in self.actions):
            found.append("a tool_call action must name its tool in toolName")
        _refuse(found)
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
    """What a parent makes of its children's results."""

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
