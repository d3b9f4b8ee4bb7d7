"""State of a tree run, folded from its events.

A node's cost is found by path: a charge belongs to the deepest node whose branch contains it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from podium.engine.events import (
    NOTHING,
    Charge,
    ChargedData,
    Event,
    RunResumed,
    StepCompleted,
    StepFailed,
    StepStarted,
)
from podium.engine.state import Fold
from podium.workflows.tree import events

ENDED = frozenset({"completed", "failed", "blocked"})
ACTIVE = frozenset({"planning", "delegating", "executing", "waiting", "aggregating"})


class BandState(msgspec.Struct):
    """One band of a plan, with the ids of its steps."""

    index: int
    goal: str
    step_ids: list[str]


class PlanState(msgspec.Struct):
    """One plan of a node and the state of its steps."""

    version: int
    summary: str
    bands: list[BandState] = []
    steps: dict[str, events.StepCreated] = {}
    statuses: dict[str, str] = {}
    """Status of each started step by step id: `executing, completed, failed, blocked, reused`."""
    nodes: dict[str, str] = {}
    """Node by step id: the node that this plan, or for a reused step an earlier plan, delegated the step
    to."""


class ToolUse(msgspec.Struct):
    """One tool call."""

    tool: str
    purpose: str
    ok: bool | None = None
    """`None` while the call is running."""
    summary: str = ""
    error: str = ""


class NodeArtifact(msgspec.Struct):
    """An artifact that a node saved."""

    id: str
    type: str
    label: str


class Subtree(msgspec.Struct):
    """Totals of a node and all its descendants, updated with every event."""

    nodes: int = 0
    ended: int = 0
    failed: int = 0
    blocked: int = 0
    active: int = 0
    charge: Charge = NOTHING


class NodeState(msgspec.Struct):
    """State of one node."""

    id: str
    parent_id: str | None
    title: str
    reason: str
    criteria: list[str]
    depth: int
    band: int | None
    step_id: str = ""
    status: str = "created"
    last_open: str = "created"
    """The last status before the node ended. A resumed run continues from it."""
    current_band: int | None = None
    """Index of the band that started last."""
    stopped: str = ""
    """Reason for being blocked: `budget:calls`, `rejected`."""
    guards: list[str] = []
    executed: bool = False
    """The node executed its task itself, whatever was planned before."""
    plans: list[PlanState] = []
    children: list[str] = []
    tools: list[ToolUse] = []
    artifacts: list[NodeArtifact] = []
    replan_reasons: list[str] = []
    outcome: str = ""
    met: bool | None = None
    notes: str = ""
    summary: str = ""
    gaps: list[str] = []
    error: str = ""
    retryable: bool = False
    inherited: bool = False
    """The end of this node was copied from the run that this run was forked from."""
    began_s: float | None = None
    ended_s: float | None = None
    """Seconds of driven time since the run began. Time while the run is stopped does not count."""
    worked_s: float = 0.0
    """Seconds spent in the node's own calls, without its children's."""
    charge: Charge = NOTHING
    """Charge of the node's own calls."""
    below: Subtree = msgspec.field(default_factory=Subtree)

    @property
    def plan(self) -> PlanState | None:
        """The current plan: the latest one, or None."""
        return self.plans[-1] if self.plans else None

    @property
    def decision(self) -> str:
        """`planned`, `executed`, `guarded` (a guard forced it to execute), or empty if undecided."""
        if not self.executed:
            return "planned" if self.plans else ""
        return "guarded" if any(guard != "maxReplansPerNode" for guard in self.guards) else "executed"

    @property
    def took_s(self) -> float | None:
        """Seconds from the node's first to its last event, or None if it has not ended."""
        return None if self.began_s is None or self.ended_s is None else self.ended_s - self.began_s


class _Synthesis(msgspec.Struct):
    gaps: list[str] = []


class _Answer(msgspec.Struct):
    """The part of an aggregator's answer that is read here."""

    synthesis: _Synthesis = msgspec.field(default_factory=_Synthesis)


class TreeState(Fold):
    """State of all nodes of a run, up to the last event applied."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeState] = {}
        self.root: NodeState | None = None
        self.depth = 0
        """The deepest level so far; the root's is 0."""
        self.changed: dict[str, None] = {}
        """Ids of nodes that changed, with their ancestors, in order, until a reader clears it."""
        self.failures: set[str] = set()
        """Errors of failed nodes with their titles, as the run's warnings word them."""
        self._branches: dict[str, str] = {}
        """Node id by branch path."""
        self._running: dict[str, float] = {}
        """Start time of each running step by path."""
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._still_s = 0.0

    def apply(self, event: Event) -> None:
        """Apply one event."""
        data, now = event.data, self._clock(event)
        if isinstance(data, events.TreeEvent):
            if isinstance(data, events.NodeCreated):
                self._create(data)
            node = self.nodes.get(data.node_id)
            if node is not None:
                self._apply_data(node, data, event.path, now)
                self.changed.update(dict.fromkeys(ancestor.id for ancestor in self.lineage(node)))
        elif isinstance(data, StepStarted):
            self._running[event.path] = now
        elif isinstance(data, (StepCompleted, StepFailed)):
            self._end_step(event, data, now)
        if isinstance(data, ChargedData) and not data.inherited and data.charge != NOTHING:
            self._charge(self.owner(event.path), data.charge)

    def lineage(self, node: NodeState) -> list[NodeState]:
        """Return the node and its ancestors, up to the root."""
        nodes = [node]
        while nodes[-1].parent_id is not None and nodes[-1].parent_id in self.nodes:
            nodes.append(self.nodes[nodes[-1].parent_id])
        return nodes

    def owner(self, path: str) -> NodeState | None:
        """Return the node whose branch contains this path, or the root."""
        while path and path not in self._branches:
            path = path.rpartition("/")[0]
        return self.nodes.get(self._branches.get(path, "")) or self.root

    def _clock(self, event: Event) -> float:
        if self._first is None or self._last is None:
            self._first = self._last = event.time
        if isinstance(event.data, RunResumed):
            self._still_s += (event.time - self._last).total_seconds()
            self._running.clear()
            self._reopen()
        self._last = event.time
        return (event.time - self._first).total_seconds() - self._still_s

    def _reopen(self) -> None:
        """Reopen blocked nodes and their ancestors when a run is resumed. Resuming does not repeat the events
        of work that had already started. A completed root stays completed: only the check of its text
        continues."""
        stopped = [node for node in self.nodes.values() if node.status == "blocked"]
        if self.root is not None and self.root.status != "completed":
            stopped.append(self.root)
        for node in {ancestor.id: ancestor for begun in stopped for ancestor in self.lineage(begun)}.values():
            if node.status in ENDED:
                node.error = node.outcome = ""
                parent = node.current_band is not None and not node.executed
                self._move(node, "waiting" if parent else node.last_open, None, inherited=False)

    def _create(self, data: events.NodeCreated) -> None:
        if data.node_id in self.nodes:
            return
        # Only known parents, so that no log can make a node its own ancestor.
        parent = data.parent_node_id if data.parent_node_id in self.nodes else None
        node = NodeState(
            data.node_id,
            parent,
            data.title,
            data.reason,
            data.success_criteria,
            data.depth,
            data.band_index,
        )
        self.nodes[node.id] = node
        self.root = self.root or node
        self.depth = max(self.depth, node.depth)
        for ancestor in self.lineage(node):
            ancestor.below.nodes += 1
        if len(lineage := self.lineage(node)) > 1:
            lineage[1].children.append(node.id)

    def _apply_data(self, node: NodeState, data: events.TreeEvent, path: str, now: float) -> None:
        """Apply one event to its node."""
        match data:
            case events.ScratchpadLinked():
                self._branches[path] = node.id
                node.began_s = now
            case events.NodeStatus():
                self._set_status(node, data, now)
            case events.NodeDelegated():
                self._delegate(node, data)
            case events.NodeCompleted():
                node.outcome, node.error = data.outcome, ""
                self._move(node, "completed", now, inherited=bool(data.inherited))
            case events.NodeFailed():
                node.error, node.retryable = data.error, data.retryable
                self.failures.add(f"{node.title} failed: {node.error}")
                self._move(node, "failed", now, inherited=bool(data.inherited))
            case _:
                _note(node, data)

    def _set_status(self, node: NodeState, data: events.NodeStatus, now: float) -> None:
        if data.status == "blocked":
            node.stopped = data.message
        kind, _, detail = data.message.partition(":")
        node.current_band = int(detail) if kind == "band" and detail.isdigit() else node.current_band
        if kind == "guard" and detail not in node.guards:
            node.guards.append(detail)
        node.executed = data.status == "executing" or (node.executed and data.status != "delegating")
        if data.status not in ENDED:
            node.error = ""
        self._move(node, data.status, now, inherited=bool(data.inherited))

    def _move(self, node: NodeState, status: str, now: float | None, *, inherited: bool) -> None:
        """Change a node's status and update the counts of every subtree that contains it."""
        before, node.status = node.status, status
        node.inherited = inherited
        node.ended_s = now if status in ENDED else None
        node.last_open = node.last_open if status in ENDED else status
        for ancestor in self.lineage(node):
            below = ancestor.below
            below.ended += (status in ENDED) - (before in ENDED)
            below.failed += (status == "failed") - (before == "failed")
            below.blocked += (status == "blocked") - (before == "blocked")
            below.active += (status in ACTIVE) - (before in ACTIVE)
            self.changed[ancestor.id] = None

    def _delegate(self, node: NodeState, data: events.NodeDelegated) -> None:
        if node.plan is not None:
            node.plan.nodes[data.step_id] = data.child_node_id
        if data.child_node_id in self.nodes:
            self.nodes[data.child_node_id].step_id = data.step_id

    def _end_step(self, event: Event, data: StepCompleted | StepFailed, now: float) -> None:
        began = self._running.pop(event.path, now)
        node = self.owner(event.path)
        if node is None:
            return
        node.worked_s += now - began
        if isinstance(data, StepCompleted) and event.path.rpartition("/")[2].startswith("aggregate"):
            node.gaps = _gaps(data)

    def _charge(self, node: NodeState | None, charge: Charge) -> None:
        if node is None:
            return
        node.charge += charge
        for ancestor in self.lineage(node):
            ancestor.below.charge += charge
            self.changed[ancestor.id] = None


def _note(node: NodeState, data: events.TreeEvent) -> None:
    """Apply an event that changes a node's details, but not its status."""
    plan = node.plan
    match data:
        case events.PlanCreated():
            node.plans = [plan for plan in node.plans if plan.version != data.version]
            node.plans.append(PlanState(data.version, data.summary))
        case events.PlanBandCreated() if plan is not None:
            plan.bands.append(BandState(data.band_index, data.goal, data.step_ids))
        case events.StepCreated() if plan is not None:
            plan.steps[data.step_id] = data
        case events.StepStatus() if plan is not None:
            plan.statuses[data.step_id] = data.status
            if data.status == "reused":
                earlier = [plan.nodes[data.step_id] for plan in node.plans if data.step_id in plan.nodes]
                plan.nodes |= {data.step_id: earlier[-1]} if earlier else {}
        case events.ToolCallRequested():
            node.tools.append(ToolUse(data.tool_name, data.purpose))
        case events.ToolCallResult():
            _finish_tool(node, data)
        case events.ArtifactCreated():
            node.artifacts.append(NodeArtifact(data.artifact_id, data.artifact_type, data.label))
        case events.ReplanRequested():
            node.replan_reasons.append(data.reason)
        case events.NodeResult():
            assessed: dict[str, Any] = data.result.get("successAssessment") or {}
            node.met, node.notes = assessed.get("met"), str(assessed.get("notes") or "")
            node.summary = str(data.result.get("summary") or "")
        case _:
            pass


def _finish_tool(node: NodeState, data: events.ToolCallResult) -> None:
    open_call = next((use for use in node.tools if use.ok is None and use.tool == data.tool_name), None)
    use = open_call or ToolUse(data.tool_name, "")
    if open_call is None:
        node.tools.append(use)
    use.ok, use.summary, use.error = data.ok, data.summary, data.error


def _gaps(data: StepCompleted) -> list[str]:
    """Return the gaps that an aggregator names. No event carries them; a long answer is stored as a blob and
    yields none."""
    if data.blob:
        return []
    try:
        return msgspec.json.decode(bytes(data.result), type=_Answer).synthesis.gaps
    except msgspec.ValidationError:
        return []  # the reply was replaced in a fork, or written by another version
