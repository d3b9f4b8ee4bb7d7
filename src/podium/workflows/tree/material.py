"""Prompt contexts of the planner, the executor and the aggregator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from podium.tools.tool import ToolResult, ToolSpec, failed
from podium.workflows.delivery.policy import LEAST, cut
from podium.workflows.tree.contracts import Attempt, KeptArtifact, Node, Returned
from podium.workflows.tree.policy import MAX_TOOL_CALLS, Deliverable, TreeLimits, child_labels, tail, wanted

READ_ON = 20_000
"""Characters that one `read_document` call returns."""

READ_DOCUMENT = ToolSpec(
    "read_document",
    "Read on in a document that is shown only in part.",
    {
        "type": "object",
        "properties": {
            "label": {"type": "string", "description": "The document's label, as shown: stepId/label."},
            "offset": {"type": "integer", "description": "The character to begin at."},
        },
        "required": ["label"],
    },
)


class Piece(NamedTuple):
    """An artifact that a prompt can include, and its rank (0 is the most relevant)."""

    label: str
    artifact: KeptArtifact
    rank: int


# ── common context ──


def whole_context(node: Node) -> dict[str, Any]:
    """Return what every role sees: the user's request, the objectives from the root down, and the sibling
    steps."""
    above = list(node.line)[:-1]
    return {
        "request": node.root.title,
        "is_root": node.is_root,
        "draft": node.root.draft,
        "objectives": [
            {"title": ancestor.title, "reason": ancestor.reason} for ancestor in above if not ancestor.is_root
        ],
        "band_goal": "" if node.band is None else node.band.goal,
        "assumptions": [
            assumption
            for ancestor in node.line
            if ancestor.plan is not None
            for assumption in ancestor.plan.assumptions
        ],
        "others": [step.title for step in node.plan.steps if step.id != node.step_id] if node.plan else [],
    }


# ── documents ──


def pieces_of(returned: Sequence[Returned], *, nearer: int = 0) -> list[Piece]:
    """Return all artifacts, ranked: those that a `parentHint` names, other documents, other data. Results of
    plans further up (those before index `nearer`) rank after these."""
    pieces: list[Piece] = []
    for number, result in enumerate(returned):
        named = result.hinted
        for artifact in result.artifacts:
            label = artifact.label if not result.step_id else f"{result.step_id}/{artifact.label}"
            rank = 0 if artifact.label in named or label in named else 1 if artifact.document_id else 2
            pieces.append(Piece(label, artifact, rank + (3 if number < nearer else 0)))
    return pieces


def shown_pieces(pieces: Sequence[Piece], room: int) -> dict[str, dict[str, Any]]:
    """Return the artifacts' texts by label. Texts are whole as long as there is room, the most relevant
    first; a cut text has a note that says how much is shown."""
    shown: dict[str, dict[str, Any]] = {}
    for piece in sorted(pieces, key=lambda piece: piece.rank):
        text, note = cut(piece.artifact.text, max(room, LEAST))
        room -= len(text)
        shown[piece.label] = {**piece.artifact.shown(), "label": piece.label, "text": text, "note": note}
    return {piece.label: shown[piece.label] for piece in pieces}


def is_cut(pieces: Sequence[Piece], room: int) -> bool:
    """Return whether a prompt shows some artifact only in part."""
    return any(piece["note"] for piece in shown_pieces(pieces, room).values())


def read_document(pieces: Iterable[Piece], args: Mapping[str, Any]) -> ToolResult:
    """Answer a `read_document` call."""
    known = {piece.label: piece.artifact.text for piece in pieces}
    label, offset = str(args.get("label", "")), args.get("offset", 0)
    if label not in known:
        return failed(f"there is no document {label!r}; there are: {', '.join(known) or 'none'}")
    if not isinstance(offset, int) or isinstance(offset, bool) or not 0 <= offset <= len(known[label]):
        return failed(f"offset must be a whole number from 0 to {len(known[label])}")
    part = known[label][offset : offset + READ_ON]
    end = offset + len(part)
    rest = "" if end == len(known[label]) else f"\n\n[read on at offset {end}]"
    return ToolResult(True, f"[characters {offset:,} to {end:,} of {len(known[label]):,}]\n\n{part}{rest}")


# ── roles ──────


def planner_context(
    node: Node, limits: TreeLimits, seconds_left: float | None, notes: str, before: Attempt | None
) -> dict[str, Any]:
    """Return the planner's context: node, whole, limits and notes; for a replan also the old plan and its
    results."""
    children = [] if before is None else list(before.returned.values())
    return {
        "node": node.shown(),
        "whole": whole_context(node),
        "parent_ask": _parent_ask(node),
        "budgets": limits.shown(seconds_left, node.allowance),
        "scratchpad": tail(notes),
        "existing_plan": None if before is None else _outlined(before),
        "children": [
            {
                "stepId": child.step_id,
                "title": child.title,
                "status": child.status,
                "outcome": child.outcome,
                "summary": child.summary,
            }
            for child in children
        ],
    }


def executor_context(
    node: Node,
    deliverable: Deliverable,
    notes: str,
    pieces: Sequence[Piece],
    returned: Sequence[Returned],
    room: int,
    tool_results: Sequence[Mapping[str, Any]],
    calls_left: int,
) -> dict[str, Any]:
    """Return the executor's context: task, whole, deliverable, notes, and the results of earlier steps,
    children and requested tools. It sees its tools as an agent does, not in the prompt."""
    shown = shown_pieces(pieces, room)
    return {
        "node": node.shown(),
        "whole": whole_context(node),
        "deliverable": wanted(node, deliverable),
        "scratchpad": tail(notes),
        "hints": [
            {
                "stepId": result.step_id,
                "title": result.title,
                "status": result.status,
                "summary": result.summary,
                "artifacts": [shown[label] for label in child_labels([result]) if label in shown],
            }
            for result in returned
        ],
        "tools": [],
        "tool_results": list(tool_results),
        "tool_calls_left": calls_left,
    }


def aggregator_context(
    node: Node,
    notes: str,
    children: Sequence[Returned],
    room: int,
    tool_results: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the aggregator's context: the whole, and everything that the children returned."""
    shown = shown_pieces(pieces_of(children), room)
    part = any(piece["note"] for piece in shown.values())
    read_on = {
        "name": READ_DOCUMENT.name,
        "description": READ_DOCUMENT.description,
        "parameters": READ_DOCUMENT.parameters,
    }
    return {
        "node": node.shown(),
        "whole": whole_context(node),
        "is_root": node.is_root,
        "scratchpad": tail(notes),
        "results": [child.shown() for child in children],
        "artifacts": list(shown.values()),
        "tools": [read_on] if part else [],
        "tool_results": list(tool_results),
        "tool_calls_left": MAX_TOOL_CALLS - len(tool_results) if part else 0,
    }


def _parent_ask(node: Node) -> dict[str, Any] | None:
    """Return the parent's title, its criteria and the earlier results, or None for the root."""
    if node.parent is None:
        return None
    return {
        "parentTitle": node.parent.title,
        "parentSuccessCriteria": [] if node.parent.is_root else list(node.parent.criteria),
        "earlierResults": [f"{result.step_id}: {result.title}. {result.summary}" for result in node.earlier],
    }


def _outlined(before: Attempt) -> dict[str, Any]:
    return {
        "version": before.version,
        "summary": before.plan.summary,
        "steps": [
            {"id": step.id, "title": step.title, "successCriteria": step.success_criteria}
            for step in before.plan.steps
        ],
        "replanReason": before.replan_reason,
    }
