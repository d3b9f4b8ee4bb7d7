"""The tree as a few lines, while it grows and afterwards: what is at work in full, the rest as counts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from podium.report.lines import Line
from podium.report.words import count, one_line
from podium.workflows.tree.folding import TreeState
from podium.workflows.tree.node_state import ENDED, NodeState
from podium.workflows.tree.tellers import spent, standing


class _Row(msgspec.Struct):
    """A line to be, and the node that can still be opened below it."""

    line: Line
    node: NodeState | None = None


def draw(tree: TreeState, most: int, *, alive: bool = True) -> list[Line]:
    """At most `most` lines. A tree that fits is drawn whole. Of a larger one that still grows, finished nodes
    beside each other share a line, and what is at work is opened from the root down while there is room; one
    that is finished is opened level by level."""
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
        fits = len(rows) + sum(len(found) for _, found in below) <= most
        for row, found in below:
            room = most - len(rows) if fits or alive or len(rows) == 1 else 0
            opened += _open(rows, row, found, room)
        level = opened
    return [row.line for row in rows]


def _open(rows: list[_Row], row: _Row, found: list[_Row], room: int) -> list[_Row]:
    """Put what is below a row under it, as far as there is room."""
    shown = found if len(found) <= room else _cut(found, room)
    if shown:
        at = next(nth for nth, one in enumerate(rows) if one is row) + 1
        rows[at:at] = shown
    elif row.node is not None:
        row.line = _closed(row.node, row.line)
    return shown


def _below(tree: TreeState, node: NodeState, *, alive: bool, fold: bool) -> list[_Row]:
    """A node's children: finished ones first and, if they are folded, as one line; then what is at work, then
    what is still to come."""
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
    """As many as there is room for, and how many there are besides; what is at work or went wrong first."""
    if room < 2:
        return []
    order = sorted(range(len(rows)), key=lambda nth: (_is_dull(rows[nth]), nth))
    kept = sorted(order[: room - 1])
    rest = Line(f"… {len(rows) - len(kept)} more", mark=" ", indent=rows[0].line.indent)
    return [*(rows[nth] for nth in kept), _Row(rest)]


def _is_dull(row: _Row) -> bool:
    return row.node is None or (row.node.status in ENDED and not _needs_a_look(row.node))


def _waiting_steps(node: NodeState) -> int:
    """Planned steps that no node has been made for yet."""
    plan = node.plan
    if plan is None or node.status in ENDED:
        return 0
    return sum(step not in plan.statuses and step not in plan.nodes for step in plan.steps)


def _line(node: NodeState, alive: bool) -> Line:
    mark, word, weight = standing(node, alive=alive)
    return Line(one_line(node.title), weight, (word, *spent(node)), mark, node.depth)


def _closed(node: NodeState, line: Line) -> Line:
    """A node whose children are not shown says how many there are below it."""
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
