"""The whole tree as one picture: a row for each level, a cell for each node, as wide as what is below it."""

from __future__ import annotations

from typing import Any

from podium.report.words import one_line
from podium.workflows.tree.folding import TreeState
from podium.workflows.tree.node_state import NodeState
from podium.workflows.tree.tellers import standing

WIDTH, ROW, GAP = 1000.0, 30, 2
MOST_CELLS = 400
"""A level with more is left out with all below it: nobody could tell its cells apart."""
CELL_OF_A_LETTER = 8.4


def overview(tree: TreeState, *, alive: bool = False) -> dict[str, Any] | None:
    """Cells with their place, and what a screen reader says instead; nothing for a tree of one node."""
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
