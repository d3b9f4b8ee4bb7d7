"""Execution of a leaf: ask the executor, run the tools that it calls, and repeat until it calls none."""

from __future__ import annotations

from typing import Any

from podium.agents.agent import Agent
from podium.tools.tool import ToolResult, unfenced
from podium.workflows.tree import events
from podium.workflows.tree.context import Notes, Tree, finished
from podium.workflows.tree.contracts import Action, ExecutorOutput
from podium.workflows.tree.material import READ_DOCUMENT, Piece, executor_context, pieces_of, read_document
from podium.workflows.tree.node import Node, Returned
from podium.workflows.tree.policy import MAX_TOOL_CALLS, executor_problem, outcome_of, snippet

TOLD = 300
"""Characters of a tool result in its event. The step stores the full text."""


async def run_leaf(
    tree: Tree,
    node: Node,
    notes: Notes,
    executor: Agent,
    *,
    guard: str = "",
    children: tuple[Returned, ...] = (),
) -> Returned:
    """Execute a node. `children` are the results of a plan that was given up."""
    message = f"guard:{guard}" if guard else ""
    tree.run.emit(events.NodeStatus(node_id=node.id, status="executing", role="executor", message=message))
    tree.nodes[node.id].status = "executing"
    results: list[dict[str, Any]] = []
    pieces = [*pieces_of(node.earlier, nearer=node.nearer), *pieces_of(children)]
    while True:
        answer, tools = await _ask(tree, node, notes, executor, children, pieces, results)
        notes.add("Executor", answer.scratchpad)
        wanted = answer.tool_calls[: MAX_TOOL_CALLS - len(results)] if tools else []
        if not wanted:
            break
        for action in wanted:
            results.append(await use_tool(tree, node, action, pieces))
    outcome = outcome_of(answer.result, len(answer.artifacts))
    metrics = {"children": len(children), "toolCalls": len(results), "artifacts": len(answer.artifacts)}
    return await finished(tree, node, notes, answer, outcome, metrics, children)


async def _ask(
    tree: Tree,
    node: Node,
    notes: Notes,
    executor: Agent,
    children: tuple[Returned, ...],
    pieces: list[Piece],
    results: list[dict[str, Any]],
) -> tuple[ExecutorOutput, bool]:
    """Return the executor's answer, and whether it was offered any tools."""
    context = executor_context(
        node, tree.deliverable, notes.text, pieces, (*node.earlier, *children), tree.room, tree.tools_shown,
        results,
    )  # fmt: skip
    tools = bool(context["tools"])
    last = not tools or len(results) >= MAX_TOOL_CALLS

    def check(answer: ExecutorOutput) -> str:
        return executor_problem(node, answer, last=last)

    return await tree.run.ask(executor, "execute", returns=ExecutorOutput, check=check, **context), tools


async def use_tool(tree: Tree, node: Node, action: Action, pieces: list[Piece]) -> dict[str, Any]:
    """Run one tool call, emit a request and a result event, and return the result even if the tool fails."""
    name, args = action.tool_name or "", action.tool_args or {}
    tree.run.emit(events.ToolCallRequested(node_id=node.id, tool_name=name, args=args, purpose=action.note))
    if name == READ_DOCUMENT:
        ok, text = read_document(pieces, args)
        result = ToolResult(ok=ok, text=text if ok else "", error="" if ok else text)
    else:
        result = await tree.run.step("tool", tree.toolbox.call, name, args, returns=ToolResult)
    tree.run.emit(
        events.ToolCallResult(
            node_id=node.id, tool_name=name, ok=result.ok, summary=snippet(unfenced(result.text), TOLD),
            error=unfenced(result.error),
        )
    )  # fmt: skip
    return {"toolName": name, "args": args, "ok": result.ok, "text": result.text, "error": result.error}
