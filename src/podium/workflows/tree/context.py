"""Shared state of a tree run: the tree, scratchpads, node results and the final output."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from podium.agents.ask import Run
from podium.dimensions import RESERVED
from podium.engine.budget import Budget
from podium.engine.codec import encode
from podium.tools.toolbox import Toolbox
from podium.tools.toolsets import NativeTool
from podium.workflows.tree import events
from podium.workflows.tree.contracts import Answer, Artifact, KeptArtifact, Node, Returned, ScratchpadNote
from podium.workflows.tree.policy import (
    SCRATCHPAD,
    Deliverable,
    TreeLimits,
    child_labels,
    file_names,
    gaps_of,
    is_met,
    preview,
    with_includes,
)


@dataclass
class Tree:
    """State shared by all nodes of a run. What it collects is used only for the output."""

    run: Run
    limits: TreeLimits
    deliverable: Deliverable
    toolbox: Toolbox
    room: int = 0
    """Characters of documents that fit into one prompt."""
    timed: bool = False
    """Planners see the remaining time."""
    tools: list[NativeTool] = field(default_factory=list["NativeTool"])
    """Tools of the executors."""
    nodes: dict[str, NodeRow] = field(default_factory=dict[str, "NodeRow"])
    open_nodes: set[str] = field(default_factory=set[str])
    """Nodes below the root that wait for children. They share the half of the closing reserve that is not the
    root's."""
    root_document: str = ""
    documents: dict[str, list[KeptArtifact]] = field(default_factory=dict[str, list["KeptArtifact"]])
    """Documents and data by node id, without the root's primary document."""
    gaps: list[str] = field(default_factory=list[str])
    """Gaps that the root's result names."""
    met: bool = True
    """False if the root's own assessment says that the request is not met."""

    @asynccontextmanager
    async def closing(self, node: Node) -> AsyncGenerator[None]:
        """Draw on the closing reserve. Half of the remainder is reserved for the root, because without its
        result the other results would be lost. The open nodes share the other half equally."""
        async with self.run.closing():
            if node.is_root:
                yield
                return
            share = _share(self.run, 2 * max(1, len(self.open_nodes)))
            async with self.run.branch("closing", budget=share):
                yield


@dataclass
class NodeRow:
    """A node as listed in the output."""

    node: Node
    status: str = "planning"
    outcome: str = ""
    summary: str = ""

    def shown(self) -> dict[str, Any]:
        return {
            "nodeId": self.node.id,
            "parentNodeId": self.node.parent_id,
            "title": self.node.title,
            "depth": self.node.depth,
            "status": self.status,
            "outcome": self.outcome,
        }


class Notes:
    """The scratchpad of one node. Every role appends to it; the next role reads its tail."""

    def __init__(self, run: Run, node: Node) -> None:
        self._run = run
        self._node = node
        self._id = f"{node.id}/scratchpad"
        self.text = ""
        run.emit(events.ScratchpadLinked(node_id=node.id, scratchpad_id=self._id))

    def add(self, role: str, note: ScratchpadNote) -> None:
        self.text += f"## {role}\n\n{note.append_markdown.strip()}\n\n"
        text = preview(note.tail_preview, note.append_markdown)
        self._run.emit(
            events.ScratchpadUpdated(node_id=self._node.id, scratchpad_id=self._id, tail_preview=text)
        )

    async def keep(self) -> None:
        """Save the scratchpad as an artifact, unless it is empty."""
        if self.text:
            await self._run.artifact(SCRATCHPAD, f"# {self._node.title}\n\n{self.text}", "text/markdown")


async def finished(
    tree: Tree,
    node: Node,
    notes: Notes,
    answer: Answer,
    outcome: str,
    metrics: dict[str, int],
    children: Sequence[Returned] = (),
) -> Returned:
    """Save a node's artifacts and return its result. Emits artifacts, hint, result and completed, in this
    order."""
    run = tree.run
    await notes.keep()
    primary = answer.primary
    saved = [
        await _save(tree, node, artifact, name, artifact is primary, children)
        for artifact, name in zip(answer.artifacts, file_names(answer), strict=True)
    ]
    inherited = [artifact for child in children for artifact in child.artifacts]
    ids = {artifact.label: artifact.artifact_id for artifact in saved}
    labels = {**child_labels(children), **ids}
    hint = answer.result.parent_hint
    documents = {artifact.artifact_id: artifact.document_id for artifact in [*inherited, *saved]}
    named = [labels[label] for label in hint.artifact_labels if label in labels]
    run.emit(
        events.ParentHint(
            node_id=node.id,
            parent_node_id=node.parent_id,
            hint_type=hint.hint_type,
            artifact_ids=named,
            document_ids=[document for name in named if (document := documents.get(name))],
            based_on_artifact_ids=[artifact.artifact_id for artifact in inherited],
        )
    )
    envelope = answer.result.model_dump(mode="json", by_alias=True, exclude_none=True)
    envelope |= {
        "artifactIds": list(ids.values()),
        "documentIds": [artifact.document_id for artifact in saved if artifact.document_id],
        "primaryArtifactId": ids[primary.label] if primary is not None else None,
    }
    run.emit(events.NodeResult(node_id=node.id, result=envelope))
    run.emit(events.NodeCompleted(node_id=node.id, outcome=outcome, metrics=metrics))
    if node.is_root:
        tree.gaps, tree.met = gaps_of(answer), is_met(answer)
    row = tree.nodes[node.id]
    row.status, row.outcome, row.summary = "completed", outcome, answer.result.summary
    return Returned(node.id, node.step_id, node.title, "completed", outcome, envelope, tuple(saved))


async def _save(
    tree: Tree, node: Node, artifact: Artifact, name: str, primary: bool, children: Sequence[Returned]
) -> KeptArtifact:
    if artifact.type == "document":
        text, kind = with_includes(artifact.document_markdown or "", children), "text/markdown"
    else:
        text, kind = encode(artifact.json_payload).decode(), "application/json"
    file = await tree.run.artifact(name, text, kind)
    document_id = f"doc-{file.id}" if artifact.type == "document" else None
    tree.run.emit(
        events.ArtifactCreated(
            node_id=node.id,
            artifact_id=file.id,
            artifact_type=artifact.type,
            document_id=document_id,
            label=artifact.label,
        )
    )
    if node.is_root and primary:
        tree.root_document = text
    saved = KeptArtifact(
        file.id, artifact.type, artifact.label, artifact.title or artifact.label, text, document_id, primary
    )
    if not (node.is_root and primary):
        tree.documents.setdefault(node.id, []).append(saved)
    return saved


def _share(run: Run, parts: int) -> Budget:
    """Return an equal share of the remaining USD, tokens and calls. Unlimited dimensions stay unlimited."""
    shares: dict[str, Any] = {}
    for dimension in RESERVED:
        limit = getattr(run.budget, dimension.name)
        if limit is not None:
            left = max(0, limit - getattr(run.spent, dimension.charge))
            shares[dimension.name] = left // parts if dimension.whole else left / parts
    return Budget(**shares)


def output_of(tree: Tree, returned: Returned | None) -> dict[str, Any]:
    """Return the run's output: the root's envelope, its document, the gaps, and every node."""
    return {
        "result": returned.envelope or None if returned is not None else None,
        "document": tree.root_document,
        "gaps": tree.gaps,
        "nodes": [row.shown() for row in tree.nodes.values()],
    }


def as_it_stands(tree: Tree) -> str:
    """Render an unfinished tree as Markdown: every node with its status and, if there is one, its summary."""
    rows = list(tree.nodes.values())
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
