"""Report of a tree run: presentation, sections and nested data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from podium.engine.events import ArtifactCreated, Charge, Event
from podium.report.markdown import cell
from podium.report.presentation import Line, Section, ViewGrade, WorkflowPresentation
from podium.report.words import count, duration, money, one_line
from podium.workflows.tree import events
from podium.workflows.tree.detail import TreeView, TreeViews, grade_of
from podium.workflows.tree.fold import ENDED, NodeState, PlanState, TreeState
from podium.workflows.tree.view import GUARDS, LINES, draw, standing


def nested(tree: TreeState, *, alive: bool = False) -> dict[str, Any]:
    """Return the totals of a tree and the root with all its descendants."""
    root = tree.root
    if root is None:
        return {"nodes": 0, "levels": 0, "failed": 0, "unfinished": 0, "root": None}
    below = root.below
    return {
        "nodes": below.nodes,
        "levels": tree.depth,
        "failed": below.failed,
        "unfinished": below.nodes - below.ended + below.blocked,
        "root": _node(tree, root, alive),
    }


def _node(tree: TreeState, node: NodeState, alive: bool) -> dict[str, Any]:
    sign, word, _ = standing(node, alive=alive)
    below = node.below
    return {
        "node_id": node.id,
        "step_id": node.step_id or None,
        "title": node.title,
        "reason": node.reason,
        "depth": node.depth,
        "status": node.status,
        "sign": sign,
        "state": word,
        "outcome": node.outcome or None,
        "decision": node.decision or None,
        "decision_reason": _decided(node),
        "criteria": node.criteria,
        "met": node.met if node.status == "completed" else None,
        "notes": node.notes,
        "summary": node.summary,
        "error": node.error or None,
        "gaps": gaps_of(tree, node),
        "inherited": node.inherited,
        "usage": _usage(node.charge, node.worked_s),
        "subtree": {
            "nodes": below.nodes,
            "failed": below.failed,
            "unfinished": below.nodes - below.ended + below.blocked,
            **_usage(below.charge, node.took_s),
        },
        "tools": [msgspec.structs.asdict(use) for use in node.tools],
        "artifacts": [msgspec.structs.asdict(made) for made in node.artifacts],
        "replan_reasons": node.replan_reasons,
        "plans": [_plan(tree, node, plan, alive) for plan in node.plans],
    }


def _plan(tree: TreeState, node: NodeState, plan: PlanState, alive: bool) -> dict[str, Any]:
    return {
        "version": plan.version,
        "summary": plan.summary,
        "bands": [
            {
                "index": band.index,
                "goal": band.goal,
                "steps": [_step(tree, node, plan, step, alive) for step in band.step_ids],
            }
            for band in plan.bands
        ],
    }


def _step(tree: TreeState, node: NodeState, plan: PlanState, step_id: str, alive: bool) -> dict[str, Any]:
    """Return a step with its node. A reused step only names the node of the earlier plan."""
    step = plan.steps.get(step_id)
    child = tree.nodes.get(plan.nodes.get(step_id, ""))
    reused = plan.statuses.get(step_id) == "reused"
    status = plan.statuses.get(step_id) or (
        "to come" if alive and node.status not in ENDED else "not started"
    )
    return {
        "step_id": step_id,
        "title": step.title if step is not None else step_id,
        "status": status,
        "reused_from": child.id if reused and child is not None else None,
        "node": _node(tree, child, alive) if child is not None and not reused else None,
    }


def gaps_of(tree: TreeState, node: NodeState) -> list[str]:
    """Return the gaps below a node: those that its aggregator named, and steps without a result that it did
    not name."""
    plan = node.plan
    if plan is None or node.executed:
        return node.gaps
    gaps = list(node.gaps)
    for step_id, step in plan.steps.items():
        child = tree.nodes.get(plan.nodes.get(step_id, ""))
        why = _why_missing(child, over=node.status in ENDED)
        if why and not any(step.title in gap for gap in node.gaps):
            gaps.append(f"{step.title}: {why}")
    return gaps


def _why_missing(child: NodeState | None, *, over: bool) -> str:
    if child is None:
        return "not started" if over else ""
    if child.status == "failed":
        return f"failed, {child.error}"
    return standing(child)[1] if child.status == "blocked" else ""


def _decided(node: NodeState) -> str:
    """Describe a node's decision in words."""
    if node.decision == "planned" and node.plan is not None:
        bands, steps = len(node.plan.bands), len(node.plan.steps)
        again = f", planned {len(node.plans)} times" if len(node.plans) > 1 else ""
        refused = f"; {GUARDS['maxReplansPerNode']}" if "maxReplansPerNode" in node.guards else ""
        return f"planned in {_counted(bands, 'band')} with {_counted(steps, 'step')}{again}{refused}"
    if node.decision == "guarded":
        why = next(guard for guard in node.guards if guard != "maxReplansPerNode")
        return f"executed, because {GUARDS.get(why, why)}"
    if node.decision == "executed":
        return "executed after its plan was given up" if node.plans else "executed"
    return "not decided"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _usage(charge: Charge, seconds: float | None) -> dict[str, Any]:
    return {
        "cost_usd": round(charge.usd, 9),
        "calls": charge.calls,
        "tokens": charge.tokens,
        "unpriced_calls": charge.unpriced_calls,
        "duration_s": None if seconds is None else round(seconds, 3),
    }


WIDTH, ROW, GAP = 1000.0, 30, 2
MOST_CELLS = 400
"""A level with more cells is left out with all levels below it, because its cells would be too small to
distinguish."""
CELL_OF_A_LETTER = 8.4


def overview(tree: TreeState, *, alive: bool = False) -> dict[str, Any] | None:
    """Return the overview's cells with their positions, their height, and the number of nodes left out; None
    for a single node."""
    root = tree.root
    if root is None or root.below.nodes < 2:
        return None
    leaves: dict[str, int] = {}
    for node in reversed(tree.nodes.values()):  # children come after their parents
        leaves[node.id] = max(1, sum(leaves[child] for child in node.children))
    cells: list[dict[str, Any]] = []
    level, places = [root], {root.id: (0.0, WIDTH)}
    while level and len(level) <= MOST_CELLS:
        cells += [_cell(node, *places[node.id], alive=alive) for node in level]
        for node in level:
            left, width = places[node.id]
            for child in node.children:
                share = width * leaves[child] / leaves[node.id]
                places[child] = (left, share)
                left += share
        level = [tree.nodes[child] for node in level for child in node.children]
    levels = max(cell["depth"] for cell in cells) + 1
    return {"cells": cells, "height": levels * ROW, "left_out": len(tree.nodes) - len(cells)}


def _cell(node: NodeState, left: float, width: float, *, alive: bool) -> dict[str, Any]:
    sign, word, weight = standing(node, alive=alive)
    letters = int((width - 10) / CELL_OF_A_LETTER)
    label = (
        f"{sign} {one_line(node.title, max(letters - 2, 1))}" if letters > 6 else sign if width > 12 else ""
    )
    return {
        "x": round(left, 1),
        "y": node.depth * ROW,
        "width": max(round(width - GAP, 1), 0.5),
        "depth": node.depth,
        "weight": weight,
        "label": label,
        "title": f"{one_line(node.title, 120)}: {word}",
    }


OPEN_NODES = 40
"""Number of nodes that a page shows expanded. Deeper levels are collapsed."""


class TreePresentation(WorkflowPresentation[TreeState]):
    """Presentation of a tree run."""

    detail_type = TreeView
    own_events = events.TreeEvent
    hidden = frozenset({"step.completed", "step.failed"})
    one_exhausted = True

    def __init__(self) -> None:
        super().__init__(TreeState())
        self._views = TreeViews()
        self._last_file = ""
        """Id of the last artifact that the root saved, without its scratchpad."""

    def apply(self, event: Event) -> None:
        super().apply(event)
        if isinstance(event.data, ArtifactCreated) and not self.is_hidden(event):
            self._last_file = event.data.id

    def own_line(self, event: Event) -> Line | None:
        data = event.data
        function = LINES.get(type(data))
        if function is None or not isinstance(data, events.TreeEvent) or data.node_id not in self.fold.nodes:
            return None
        return function(data, self.fold.nodes[data.node_id])

    def is_hidden(self, event: Event) -> bool:
        if isinstance(event.data, ArtifactCreated):
            return "/" in event.path or event.data.name == "scratchpad.md"
        return super().is_hidden(event)

    def is_shown(self, warning: str) -> bool:
        return warning in self.fold.failures

    def detail(self, *, alive: bool) -> TreeView:
        return self._views.build(self.fold, alive=alive)

    def grade(self, event: Event) -> ViewGrade | None:
        return grade_of(event)

    def drawing(self, most: int, *, alive: bool) -> list[Line]:
        return draw(self.fold, most, alive=alive)

    def summary(self) -> str:
        """`7 nodes · 2 levels · 1 failed`. Levels are counted below the root, like `--max-depth`."""
        root = self.fold.root
        if root is None:
            return ""
        below = root.below
        parts = [count(below.nodes, "node")]
        parts += [count(self.fold.depth, "level")] if self.fold.depth else []
        parts += [f"{below.failed} failed"] if below.failed else []
        unfinished = below.nodes - below.ended + below.blocked
        parts += [f"{unfinished} unfinished"] if unfinished else []
        return " · ".join(parts)

    def deliverable(self, output: Any) -> str | None:
        """Return the synthesis document, or None if the tree was stopped before it had one."""
        document = _part(output, "document")
        return document if isinstance(document, str) else None

    def leading(self, output: Any) -> list[str]:
        """Return the file to show first: the root's document, or the last one saved if no aggregator could be
        paid."""
        result = _part(output, "result")
        primary = _part(result, "primaryArtifactId")
        return [str(primary or self._last_file)]

    def sections(self, *, alive: bool) -> list[Section]:
        if self.fold.root is None:
            return []
        data = nested(self.fold, alive=alive)
        return [
            Section(
                name="tree",
                title="The tree",
                data=data,
                markdown=lambda: "\n".join(_bullets(data["root"], 0)),
                package="podium.workflows.tree",
                template="tree.html",
                context={"overview": overview(self.fold, alive=alive), "open_below": open_levels(self.fold)},
                style="tree.css",
            )
        ]


def open_levels(tree: TreeState, most: int = OPEN_NODES) -> int:
    """Return the number of levels that are expanded at first: as many as fit into `most` nodes, at least
    1."""
    sizes = [0] * (tree.depth + 1)
    for node in tree.nodes.values():
        sizes[node.depth] += 1
    opened, shown = 0, 0
    for size in sizes:
        shown += size
        if shown > most:
            break
        opened += 1
    return max(opened, 1)


def _part(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


# ── Markdown ─────────────────────────────────────────────────────────────────────────────────────


def _bullets(node: dict[str, Any], indent: int) -> Iterator[str]:
    """Render a node and its descendants as a nested list."""
    pad = "  " * indent
    yield f"{pad}- {node['sign']} **{cell(node['title'], 200)}**: {cell(_summary(node), 400)}"
    if node["error"]:
        yield f"{pad}  - failed: {cell(node['error'], 500)}"
    if node["criteria"]:
        met = {True: "criteria met", False: "criteria not met"}.get(node["met"], "criteria not assessed")
        notes = f" ({cell(node['notes'], 300)})" if node["notes"] else ""
        yield f"{pad}  - {met}{notes}: {'; '.join(cell(criterion, 200) for criterion in node['criteria'])}"
    for gap in node["gaps"]:
        yield f"{pad}  - missing: {cell(gap, 300)}"
    for plan in node["plans"]:
        yield from _planned(node, plan, indent + 1)


def _planned(node: dict[str, Any], plan: dict[str, Any], indent: int) -> Iterator[str]:
    pad = "  " * indent
    several = f"plan {plan['version']}, " if len(node["plans"]) > 1 else ""
    for number, band in enumerate(plan["bands"], 1):
        yield f"{pad}- {several}band {number} of {len(plan['bands'])}: {cell(band['goal'], 200)}"
        for step in band["steps"]:
            if step["node"] is not None:
                yield from _bullets(step["node"], indent + 1)
            else:
                yield f"{pad}  - {cell(step['title'], 200)}: {step['status']}"


def _summary(node: dict[str, Any]) -> str:
    """Summarize a node's state, decision, calls, cost and duration on one line."""
    subtree = node["subtree"]
    parts = [node["state"], node["decision_reason"], count(subtree["calls"], "call")]
    parts += [money(subtree["cost_usd"])] if subtree["cost_usd"] else []
    parts += [duration(subtree["duration_s"])] if subtree["duration_s"] is not None else []
    return " · ".join(parts)


PRESENTATION = TreePresentation
