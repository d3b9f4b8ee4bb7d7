"""The part of a run's view that is the tree's own: nodes with the totals of their subtrees."""

from __future__ import annotations

from typing import Any

from podium.engine.events import Event
from podium.report.presentation import Detail, View, ViewGrade
from podium.report.words import one_line
from podium.workflows.tree import events
from podium.workflows.tree.fold import ACTIVE, ENDED, NodeState, TreeState
from podium.workflows.tree.view import standing


class TreeViewNode(View, frozen=True, kw_only=True):
    """A node, with the totals of its subtree."""

    path: str
    """Path of its steps. Empty for the root."""
    children: list[str]
    title: str
    note: str
    status: str
    """`queued`, `running`, `completed`, `partial`, `failed` or `paused`."""
    depth: int
    band: int
    bands: dict[str, str]
    """Goals of its plan's bands, by index."""
    nodes: int
    failed: int
    running: int
    cost_usd: float
    calls: int
    parent: str = ""


class TreeView(Detail, frozen=True, kw_only=True, tag="tree"):
    """The nodes of a tree."""

    root: str
    nodes: dict[str, TreeViewNode]


class TreeViews:
    """Builds the views of one tree; only nodes that changed are built again."""

    def __init__(self) -> None:
        self._nodes: dict[str, TreeViewNode] = {}
        self._alive = True

    def build(self, tree: TreeState, *, alive: bool) -> TreeView:
        changed = tree.changed
        if alive != self._alive:
            moving = [node for node in tree.nodes.values() if node.status not in ENDED]
            changed |= dict.fromkeys(above.id for node in moving for above in tree.lineage(node))
        root = tree.root.id if tree.root else ""
        for name in changed:
            self._nodes[name] = _node_view(tree.nodes[name], root, alive)
        tree.changed, self._alive = {}, alive
        return TreeView(root=root, nodes=dict(self._nodes))


def _node_view(node: NodeState, root: str, alive: bool) -> TreeViewNode:
    plan, below = node.plan, node.below
    return TreeViewNode(
        path="" if node.id == root else node.id.removeprefix(f"{root}/"),
        children=list(node.children),
        title=one_line(node.title),
        note=_note(node, alive),
        status=_general_status(node, alive),
        depth=node.depth,
        band=node.band or 0,
        bands={str(band.index): band.goal for band in plan.bands} if plan else {},
        nodes=below.nodes,
        failed=below.failed,
        running=below.active if alive else 0,
        cost_usd=round(below.charge.usd, 9),
        calls=below.charge.calls,
        parent=node.parent_id or "",
    )


def _note(node: NodeState, alive: bool) -> str:
    if node.status == "failed":
        return one_line(node.error, 200)
    word = standing(node, alive=alive)[1]
    return f"{word}, plan {node.plan.version}" if node.plan and node.plan.version > 1 else word


def _general_status(node: NodeState, alive: bool) -> str:
    if node.status == "completed":
        return "partial" if node.outcome == "partial" else "completed"
    if node.status in ACTIVE:
        return "running" if alive else "paused"
    return {"created": "queued", "blocked": "paused"}.get(node.status, node.status)


def grade_of(event: Event) -> ViewGrade | None:
    """Return what a node's result says about its success criteria."""
    data = event.data
    if not isinstance(data, events.NodeResult):
        return None
    assessed: dict[str, Any] = data.result.get("successAssessment") or {}
    met, notes = assessed.get("met") is True, str(assessed.get("notes") or "")
    return ViewGrade(
        what="Success criteria",
        passed=met,
        decision="met" if met else "not met",
        feedback=[notes] if notes else [],
    )
