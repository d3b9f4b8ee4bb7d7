"""What a tree comes to: its output, and a document made by program where no aggregator could write one."""

from __future__ import annotations

from typing import Any

from podium.workflows.tree.growing import NodeRow, Tree
from podium.workflows.tree.node import Returned


def output_of(grown: Tree, returned: Returned | None) -> dict[str, Any]:
    """The root's envelope, its document, and every node."""
    return {
        "result": returned.envelope or None if returned is not None else None,
        "document": grown.root_document,
        "gaps": grown.gaps,
        "nodes": [row.shown() for row in grown.nodes.values()],
    }


def as_it_stands(grown: Tree) -> str:
    """The tree as Markdown: what is done, with what it says, and what is not."""
    rows = list(grown.nodes.values())
    done = sum(row.status == "completed" for row in rows)
    lines = [
        f"# {rows[0].node.title}",
        f"Not finished: the budget ran out with {done} of {len(rows)} nodes completed. No aggregator could "
        "be paid for, so this is the tree as it stands.",
        *(_entry(row) for row in rows[1:]),
    ]
    return "\n\n".join(lines) + "\n"


def _entry(row: NodeRow) -> str:
    state = f"{row.status}, {row.outcome}" if row.outcome else row.status
    heading = f"{'#' * min(row.node.depth + 1, 6)} {row.node.title} ({state})"
    return f"{heading}\n\n{row.summary}" if row.summary else heading
