"""Event types of `tree`. Field names follow the contract: camelCase in JSON."""

from __future__ import annotations

from typing import Any, ClassVar

from podium.engine.events import EventData


class TreeEvent(EventData, frozen=True, kw_only=True, rename="camel"):
    """Every event of a tree belongs to a node."""

    node_id: str


class RunStarted(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.run_started"
    objective: str


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────


class NodeCreated(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.node_created"
    parent_node_id: str | None
    title: str
    reason: str
    success_criteria: list[str]
    depth: int
    band_index: int | None = None
    step_index: int | None = None


class NodeDelegated(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    """A step was given to a node of its own."""

    type: ClassVar[str] = "tree.node_delegated"
    step_id: str
    child_node_id: str


class NodeStatus(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.node_status"
    status: str
    """`planning, delegating, executing, waiting, aggregating` or `blocked`. Completion and failure have their
    own events."""
    role: str = ""
    message: str = ""
    """`band:0`, `guard:maxDepth`, `budget:usd`, …"""


class NodeAggregated(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    """A parent has read what its children returned."""

    type: ClassVar[str] = "tree.node_aggregated"
    child_ids: list[str]
    summary: str
    success_assessment: dict[str, Any] | None = None


class ReplanRequested(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.replan_requested"
    reason: str
    based_on_child_ids: list[str]


class NodeResult(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.node_result"
    result: dict[str, Any]
    """The result envelope, with labels resolved to artifact ids."""


class NodeCompleted(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    """The last event of a node that came to a result."""

    type: ClassVar[str] = "tree.node_completed"
    outcome: str
    """`success`, `partial` or `no_op`."""
    metrics: dict[str, int]


class NodeFailed(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    """The last event of a node that came to none."""

    type: ClassVar[str] = "tree.node_failed"
    error: str
    retryable: bool
    """True if a retry may succeed: the error is a provider failure or a timeout, not a wrong answer."""


# ── plans ────────────────────────────────────────────────────────────────────────────────────────


class PlanCreated(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.plan_created"
    plan_id: str
    version: int
    summary: str


class PlanBandCreated(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.plan_band_created"
    plan_id: str
    band_index: int
    goal: str
    step_ids: list[str]


class StepCreated(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.step_created"
    step_id: str
    title: str
    reason: str
    success_criteria: list[str]
    band_index: int
    step_index: int


class StepStatus(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.step_status"
    step_id: str
    status: str
    """`executing, completed, failed, blocked`; `reused` if an earlier plan's result still holds."""


# ── output of a node ─────────────────────────────────────────────────────────────────────────────


class ScratchpadLinked(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.scratchpad_linked"
    scratchpad_id: str


class ScratchpadUpdated(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.scratchpad_updated"
    scratchpad_id: str
    tail_preview: str


class ToolCallRequested(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.tool_call_requested"
    tool_name: str
    args: dict[str, Any]
    purpose: str


class ToolCallResult(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.tool_call_result"
    tool_name: str
    ok: bool
    summary: str
    error: str = ""


class ArtifactCreated(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    type: ClassVar[str] = "tree.artifact_created"
    artifact_id: str
    artifact_type: str
    document_id: str | None
    label: str


class ParentHint(TreeEvent, frozen=True, kw_only=True, rename="camel"):
    """The part of a node's result that its parent should read."""

    type: ClassVar[str] = "tree.parent_hint"
    parent_node_id: str | None
    hint_type: str
    artifact_ids: list[str]
    document_ids: list[str]
    based_on_artifact_ids: list[str]
    """Aggregations only: the children's artifacts that the result is based on."""
