"""The log of a tree of many nodes, without running one: for pages and readers of large runs."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from podium.engine.log import Row, RunRow

RUN = "forest"
PROMPT = "Work on this part and say what you found. " * 12
REPLY = "Here is what was found about this part, at some length. " * 8
EVENTS_A_NODE = 10


def nodes_of(count: int, width: int = 12) -> list[tuple[str, str | None]]:
    """Ids and parents, level by level: `root`, `root/1-part`, …"""
    found: list[tuple[str, str | None]] = [("root", None)]
    at = 0
    while len(found) < count:
        parent = found[at][0]
        room = min(width, count - len(found))
        found += [(f"{parent}/{number}-part", parent) for number in range(1, room + 1)]
        at += 1
    return found


def events_of(node: str, parent: str | None) -> list[tuple[str, str, dict[str, Any]]]:
    """What one node tells: ten events, as a node that does its work itself."""
    path = node.partition("/")[2]
    step, depth, told = f"{path}/execute".strip("/"), node.count("/"), {"nodeId": node}
    number = int(node.rpartition("/")[2].partition("-")[0]) if parent else 0
    created = {
        "parentNodeId": parent, "title": f"Part {number} of {parent}", "reason": "It is needed.",
        "successCriteria": ["it says what it stands on"], "depth": depth, "bandIndex": number % 3,
        "stepIndex": number,
    }  # fmt: skip
    about = {"agent": f"Executor {depth}", "role": "executor", "task": "execute", "model": "rehearsal"}
    charge = {"usd": 0.001, "input_tokens": 300, "output_tokens": 150, "calls": 1}
    return [
        (path, "tree.node_created", {**told, **created}),
        (path, "tree.scratchpad_linked", {**told, "scratchpadId": f"{node}/scratchpad"}),
        (path, "tree.node_status", {**told, "status": "executing", "role": "executor", "message": ""}),
        (step, "step.started", {"kind": "ask", "about": about}),
        (step, "model.asked", {"model": "rehearsal", "system": "You do one part.", "prompt": PROMPT}),
        (step, "model.attempted", {"attempt": 1, "model": "rehearsal", "ok": True, "charge": charge}),
        (step, "step.completed", {"result": REPLY}),
        (path, "tree.scratchpad_updated", {**told, "scratchpadId": "s", "tailPreview": "Done."}),
        (
            path,
            "tree.node_result",
            {**told, "result": {"summary": REPLY, "successAssessment": {"met": True}}},
        ),
        (path, "tree.node_completed", {**told, "outcome": "success", "metrics": {}}),
    ]


def rows_of(count: int) -> list[Row]:
    """The log from its beginning; the run is under way behind it."""
    first = (
        "",
        "run.created",
        {"workflow": "tree", "request": f"A tree of {count} nodes", "budget": {"usd": 5}},
    )
    told = [first, ("", "run.started", {"holder": "bench"})]
    told += [event for node, parent in nodes_of(count) for event in events_of(node, parent)]
    now = time.time_ns() // 1000
    return [
        Row(seq, now - (len(told) - seq) * 2000, path, kind, msgspec.json.encode(data))
        for seq, (path, kind, data) in enumerate(told, 1)
    ]


def summary_of(count: int) -> RunRow:
    now = time.time_ns() // 1000
    return RunRow(
        run_id=RUN,
        workflow="tree",
        request=f"A tree of {count} nodes",
        status="running",
        created_us=now - count * 20_000,
        updated_us=now,
        model="rehearsal",
        rehearsal=True,
    )
