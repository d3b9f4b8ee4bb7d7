"""Nodes of the tree and the results they return to their parents. Plain values: branches share no state."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.workflows.tree.contracts import Band, Plan, Step


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
        told = {"stepId": self.step_id, "nodeId": self.node_id, "title": self.title, "status": self.status}
        if self.status != "completed":
            return {**told, "error": self.error}
        return {**told, "outcome": self.outcome, "result": self.envelope}


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
