"""What is known of a node and of its plans, as the fold over a tree's log keeps it."""

from __future__ import annotations

import msgspec

from podium.engine.events import NOTHING, Charge
from podium.workflows.tree import events

ENDED = frozenset({"completed", "failed", "blocked"})


class BandState(msgspec.Struct):
    """Steps that run side by side."""

    index: int
    goal: str
    step_ids: list[str]


class PlanState(msgspec.Struct):
    """One plan of a node, and what became of its steps."""

    version: int
    summary: str
    bands: list[BandState] = []
    steps: dict[str, events.StepCreated] = {}
    statuses: dict[str, str] = {}
    """By step id, of those that were begun: `executing, completed, failed, blocked, reused`."""
    nodes: dict[str, str] = {}
    """By step id: the node that it was given to, or that an earlier plan had given it to."""


class ToolUse(msgspec.Struct):
    """One call of a tool."""

    tool: str
    purpose: str
    ok: bool | None = None
    """`None`: it is under way."""
    summary: str = ""
    error: str = ""


class Made(msgspec.Struct):
    """An artifact that a node left behind."""

    id: str
    type: str
    label: str


class Subtree(msgspec.Struct):
    """A node and everything below it, kept up to date as events come in."""

    nodes: int = 0
    ended: int = 0
    failed: int = 0
    blocked: int = 0
    charge: Charge = NOTHING


class NodeState(msgspec.Struct):
    """One node as the log tells it."""

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
    """The status before it ended: where it goes on if the run is resumed."""
    current_band: int | None = None
    """The band of its plan that was begun last."""
    stopped: str = ""
    """Why it is blocked: `budget:calls`, `rejected`."""
    guards: list[str] = []
    executed: bool = False
    """It did its task itself, whatever was planned before."""
    plans: list[PlanState] = []
    children: list[str] = []
    tools: list[ToolUse] = []
    artifacts: list[Made] = []
    replan_reasons: list[str] = []
    outcome: str = ""
    met: bool | None = None
    notes: str = ""
    summary: str = ""
    gaps: list[str] = []
    error: str = ""
    retryable: bool = False
    inherited: bool = False
    """Its end was copied from the run that this one was forked from."""
    began_s: float | None = None
    ended_s: float | None = None
    """Seconds of driven time since the run began: the time that a run lay still does not count."""
    worked_s: float = 0.0
    """Time of its own calls, its children's excluded."""
    charge: Charge = NOTHING
    """Of its own calls."""
    below: Subtree = msgspec.field(default_factory=Subtree)

    @property
    def plan(self) -> PlanState | None:
        """The plan that counts."""
        return self.plans[-1] if self.plans else None

    @property
    def decision(self) -> str:
        """`planned`, `executed`, `guarded` (it had to execute), or nothing yet."""
        if not self.executed:
            return "planned" if self.plans else ""
        return "guarded" if any(guard != "maxReplansPerNode" for guard in self.guards) else "executed"

    @property
    def took_s(self) -> float | None:
        """From its first to its last event."""
        return None if self.began_s is None or self.ended_s is None else self.ended_s - self.began_s
