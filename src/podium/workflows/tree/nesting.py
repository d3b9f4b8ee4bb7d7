"""The tree as nested plain data: what the JSON report holds and the page is made of."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.engine.events import Charge
from podium.workflows.tree.folding import TreeState
from podium.workflows.tree.node_state import ENDED, NodeState, PlanState
from podium.workflows.tree.tellers import GUARDS, standing


def nested(tree: TreeState, *, alive: bool = False) -> dict[str, Any]:
    """The tree in figures, and its root with everything below it."""
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
            "nodes": below.nodes, "failed": below.failed,
            "unfinished": below.nodes - below.ended + below.blocked, **_usage(below.charge, node.took_s),
        },
        "tools": [msgspec.structs.asdict(use) for use in node.tools],
        "artifacts": [msgspec.structs.asdict(made) for made in node.artifacts],
        "replan_reasons": node.replan_reasons,
        "plans": [_plan(tree, node, plan, alive) for plan in node.plans],
    }  # fmt: skip


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
    """A step, and the node that it was given to; one that an earlier plan had done is only named."""
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
    """What is missing below a node: what its aggregator named, and steps without a result that it did not."""
    plan = node.plan
    if plan is None or node.executed:
        return node.gaps
    found = list(node.gaps)
    for step_id, step in plan.steps.items():
        child = tree.nodes.get(plan.nodes.get(step_id, ""))
        why = _why_missing(child, over=node.status in ENDED)
        if why and not any(step.title in gap for gap in node.gaps):
            found.append(f"{step.title}: {why}")
    return found


def _why_missing(child: NodeState | None, *, over: bool) -> str:
    if child is None:
        return "not started" if over else ""
    if child.status == "failed":
        return f"failed, {child.error}"
    return standing(child)[1] if child.status == "blocked" else ""


def _decided(node: NodeState) -> str:
    """What a node decided, in words."""
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
