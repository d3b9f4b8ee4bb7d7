"""Terminal lines and tree drawing of `tree`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from podium.dimensions import dimension_word
from podium.engine.events import EventData
from podium.report.presentation import Line, Weight
from podium.report.words import count, duration, money, one_line
from podium.workflows.tree import events
from podium.workflows.tree.fold import ENDED, NodeState, TreeState

GUARDS = {
    "maxDepth": "the tree may not grow deeper here",
    "maxBandsPerPlan": "its plan had too many bands",
    "maxStepsPerBand": "its plan had too many steps in one band",
    "maxChildrenPerNode": "its plan had too many steps",
    "maxReplansPerNode": "it may not be planned once more",
}
OUTCOMES: dict[str, tuple[str, str, Weight]] = {
    "success": ("✓", "done", "result"),
    "partial": ("~", "partial", "warning"),
    "no_op": ("·", "nothing to do", "routine"),
}
"""Sign, word and weight for each outcome of a completed node."""

STATUSES: dict[str, tuple[str, str, Weight]] = {
    "created": ("○", "created", "routine"),
    "planning": ("●", "planning", "result"),
    "delegating": ("●", "delegating", "result"),
    "executing": ("●", "executing", "result"),
    "waiting": ("▸", "waiting", "result"),
    "aggregating": ("●", "aggregating", "result"),
    "failed": ("✗", "failed", "failure"),
    "blocked": ("■", "blocked", "warning"),
}
INTERRUPTED: tuple[str, str, Weight] = ("■", "interrupted", "routine")


def standing(node: NodeState, *, alive: bool = True) -> tuple[str, str, Weight]:
    """Return a node's sign, word and weight. If the run is not alive, open nodes are shown as interrupted."""
    if node.status == "completed":
        return OUTCOMES.get(node.outcome, ("✓", node.outcome, "result"))
    sign, word, weight = STATUSES.get(node.status, ("·", node.status, "routine"))
    if node.status == "blocked":
        word = "out of budget" if node.stopped.startswith("budget:") else node.stopped or word
    elif node.status != "failed" and not alive:
        return INTERRUPTED
    elif node.status == "waiting" and node.plan is not None:
        word = f"band {band_number(node)} of {len(node.plan.bands)}"
    return sign, word, weight


def band_number(node: NodeState) -> int:
    """Return the number of the band that a node waits for, counted from 1."""
    return 1 if node.current_band is None else node.current_band + 1


def spent(node: NodeState) -> tuple[str, ...]:
    """Return the cost of a node and its descendants, or the number of calls if none is priced."""
    charge = node.below.charge
    if not charge.calls:
        return ()
    return (money(charge.usd) if charge.usd or charge.unpriced_calls else count(charge.calls, "call"),)


# ── lines ────────────────────────────────────────────────────────────────────────────────────────


def _created(data: events.NodeCreated, node: NodeState) -> Line:
    return Line(one_line(node.title), mark="○", indent=node.depth)


def _status(data: events.NodeStatus, node: NodeState) -> Line | None:
    match data.status:
        case "delegating":
            return _planned(node)
        case "waiting" if data.message.startswith("band:"):
            return _band(node)
        case "executing":
            return _executing(data, node)
        case "blocked":
            return _blocked(data, node)
        case "aggregating" if data.message.startswith("guard:"):
            what = f"stays as it is, although a new plan was wanted: {_guard(data.message)}"
            return Line(what, "warning", mark="!", indent=node.depth)
        case _:
            return None


def _planned(node: NodeState) -> Line | None:
    plan = node.plan
    if plan is None:
        return None
    again = f"plan {plan.version}: " if plan.version > 1 else ""
    what = f"{again}{count(len(plan.steps), 'step')} in {count(len(plan.bands), 'band')}"
    return Line(f"splits into {what}" if not again else what, mark="▸", indent=node.depth)


def _band(node: NodeState) -> Line | None:
    plan, number = node.plan, band_number(node)
    if plan is None:
        return None
    goal = next((band.goal for band in plan.bands if band.index == number - 1), "")
    reused = [
        step.title
        for key, step in plan.steps.items()
        if plan.statuses.get(key) == "reused" and step.band_index == number - 1
    ]
    kept = f" (kept: {', '.join(reused)})" if reused else ""
    what = f"band {number} of {len(plan.bands)}: {goal}{kept}"
    return Line(one_line(what), mark="─", indent=node.depth)


def _executing(data: events.NodeStatus, node: NodeState) -> Line | None:
    if data.message == "guard:maxDepth":  # the requested depth: normal at every leaf of a deep tree
        return Line(f"does it itself: {_guard(data.message)}", indent=node.depth)
    if data.message.startswith("guard:"):
        return Line(f"does it itself: {_guard(data.message)}", "warning", mark="!", indent=node.depth)
    return Line("does it itself", indent=node.depth)


def _blocked(data: events.NodeStatus, node: NodeState) -> Line:
    kind = data.message.partition(":")[2]
    why = f"no {dimension_word(kind)} left" if data.message.startswith("budget:") else data.message
    return Line(f"{_ending(node)} stopped: {one_line(why)}", "warning", mark="■", indent=node.depth)


def _used(data: events.ToolCallResult, node: NodeState) -> Line:
    if data.ok:
        return Line(f"used {one_line(data.tool_name)}: {one_line(data.summary)}", mark="·", indent=node.depth)
    why = one_line(data.error or data.summary)
    return Line(f"{one_line(data.tool_name)} failed: {why}", "warning", mark="!", indent=node.depth)


def _replans(data: events.ReplanRequested, node: NodeState) -> Line:
    reason = one_line(data.reason) or "its parts are not enough"
    return Line(f"plans again: {reason}", "result", mark="↻", indent=node.depth)


def _completed(data: events.NodeCompleted, node: NodeState) -> Line:
    mark, word, weight = standing(node)
    notes = [
        "" if not node.criteria or node.met is None else f"criteria {'' if node.met else 'not '}met",
        one_line(node.notes, 120) if not node.met else "",
        f"{failed} of {count(data.metrics['children'], 'step')} without a result"
        if (failed := data.metrics.get("failedChildren", 0))
        else "",
    ]
    parts = [word if data.outcome != "success" else "", *notes]
    what = ", ".join(part for part in parts if part) or word
    return Line(f"{_ending(node)}: {what}", weight, _figures(node), mark, node.depth)


def _failed(data: events.NodeFailed, node: NodeState) -> Line:
    what = f"{_ending(node)} failed: {one_line(data.error)}"
    return Line(what, "failure", _figures(node), "✗", node.depth)


def _ending(node: NodeState) -> str:
    """Return a node's title for the line of its end, which may be far below the line of its start."""
    return one_line(node.title, 80)


def _guard(message: str) -> str:
    name = message.partition(":")[2]
    return GUARDS.get(name, name)


def _figures(node: NodeState) -> tuple[str, ...]:
    took = (duration(node.took_s),) if node.took_s is not None and node.took_s >= 0.05 else ()
    return spent(node) + took


LINES: dict[type[EventData], Callable[[Any, NodeState], Line | None]] = {
    events.NodeCreated: _created,
    events.NodeStatus: _status,
    events.ToolCallResult: _used,
    events.ReplanRequested: _replans,
    events.NodeCompleted: _completed,
    events.NodeFailed: _failed,
}
"""Line functions; each gets the data and its node."""


class _Row(msgspec.Struct):
    """A line of the drawing, and the node that can be expanded below it."""

    line: Line
    node: NodeState | None = None


def draw(tree: TreeState, most: int, *, alive: bool = True) -> list[Line]:
    """Draw the tree in at most `most` lines. A tree that fits is drawn whole. In a larger, running tree,
    finished siblings share a line, and active nodes are expanded from the root down while there is room. A
    finished tree is expanded level by level."""
    root = tree.root
    if root is None or most < 1:
        return []
    fold = alive and root.below.nodes + _waiting_steps(root) > most
    rows = [_Row(_line(root, alive), root)]
    level = list(rows)
    while level:
        opened: list[_Row] = []
        below = [
            (row, _below(tree, row.node, alive=alive, fold=fold)) for row in level if row.node is not None
        ]
        fits = len(rows) + sum(len(children) for _, children in below) <= most
        for row, children in below:
            room = most - len(rows) if fits or alive or len(rows) == 1 else 0
            opened += _open(rows, row, children, room)
        level = opened
    return [row.line for row in rows]


def _open(rows: list[_Row], row: _Row, children: list[_Row], room: int) -> list[_Row]:
    """Insert the rows below `row`, as many as there is room for, and return them."""
    shown = children if len(children) <= room else _cut(children, room)
    if shown:
        at = next(nth for nth, other in enumerate(rows) if other is row) + 1
        rows[at:at] = shown
    elif row.node is not None:
        row.line = _closed(row.node, row.line)
    return shown


def _below(tree: TreeState, node: NodeState, *, alive: bool, fold: bool) -> list[_Row]:
    """Return the rows of a node's children: finished ones as one line if folded, then the others, then the
    steps to come."""
    children = [tree.nodes[child] for child in node.children]
    quiet = [child for child in children if fold and child.status in ENDED and not _needs_a_look(child)]
    shown = [child for child in children if child not in quiet] if quiet else children
    rows = [_Row(_folded(quiet, node.depth + 1))] if quiet else []
    rows += [_Row(_line(child, alive), child) for child in shown]
    to_come = _waiting_steps(node)
    if to_come and alive:
        rows.append(_Row(Line(f"{count(to_come, 'step')} to come", mark="○", indent=node.depth + 1)))
    return rows


def _needs_a_look(node: NodeState) -> bool:
    return node.below.failed > 0 or node.below.blocked > 0


def _folded(nodes: list[NodeState], indent: int) -> Line:
    below = sum(node.below.nodes for node in nodes)
    what = f"… {count(below, 'node')} done" if below > len(nodes) else f"… {len(nodes)} done"
    return Line(what, mark="✓", indent=indent)


def _cut(rows: list[_Row], room: int) -> list[_Row]:
    """Return as many rows as fit, and a row that counts the rest. Active and failed nodes take precedence."""
    if room < 2:
        return []
    order = sorted(range(len(rows)), key=lambda nth: (_is_dull(rows[nth]), nth))
    kept = sorted(order[: room - 1])
    rest = Line(f"… {len(rows) - len(kept)} more", mark=" ", indent=rows[0].line.indent)
    return [*(rows[nth] for nth in kept), _Row(rest)]


def _is_dull(row: _Row) -> bool:
    return row.node is None or (row.node.status in ENDED and not _needs_a_look(row.node))


def _waiting_steps(node: NodeState) -> int:
    """Return the number of planned steps that have no node yet."""
    plan = node.plan
    if plan is None or node.status in ENDED:
        return 0
    return sum(step not in plan.statuses and step not in plan.nodes for step in plan.steps)


def _line(node: NodeState, alive: bool) -> Line:
    mark, word, weight = standing(node, alive=alive)
    return Line(one_line(node.title), weight, (word, *spent(node)), mark, node.depth)


def _closed(node: NodeState, line: Line) -> Line:
    """Append the number of descendants to the line of a collapsed node."""
    if node.below.nodes <= 1:
        return line
    return msgspec.structs.replace(line, what=" · ".join((line.what, *_counts(node))))


def _counts(node: NodeState) -> Iterator[str]:
    below = node.below
    inside = below.nodes - 1
    done = below.ended - (node.status in ENDED)
    yield count(inside, "node") if done == inside else f"{done} of {inside} nodes done"
    if failed := below.failed - (node.status == "failed"):
        yield f"{failed} failed"
