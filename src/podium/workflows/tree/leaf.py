"""A leaf does its task: ask, run the tools that it wants, ask again, until an answer wants none."""

from __future__ import annotations

from typing import Any

from podium.agents.agent import Agent
from podium.tools.tool import ToolResult
from podium.tools.untrusted import unfenced
from podium.workflows.tree import events
from podium.workflows.tree.contracts import Action, ExecutorOutput
from podium.workflows.tree.growing import Notes, Tree, finished
from podium.workflows.tree.node import Node, Returned
from podium.workflows.tree.policy import (
    MAX_TOOL_CALLS,
    executor_context,
    executor_problem,
    outcome_of,
    snippet,
)

TOLD = 300
"""Characters of a tool's answer that its event repeats; the step holds all of it."""


async def run_leaf(
    tree: Tree,
    node: Node,
    notes: Notes,
    executor: Agent,
    *,
    guard: str = "",
    children: tuple[Returned, ...] = (),
) -> Returned:
    """Execute a node. `children` are those of a plan that was given up."""
    message = f"guard:{guard}" if guard else ""
    tree.run.emit(events.NodeStatus(node_id=node.id, status="executing", role="executor", message=message))
    tree.nodes[node.id].status = "executing"
    results: list[dict[str, Any]] = []
    while True:
        answer = await _ask(tree, node, notes, executor, children, results)
        notes.add("Executor", answer.scratchpad)
        wanted = answer.tool_calls[: MAX_TOOL_CALLS - len(results)] if tree.tools else []
        if not wanted:
            break
        for action in wanted:
            results.append(await _use(tree, node, action))
    outcome = outcome_of(answer.result, len(answer.artifacts))
    metrics = {"children": len(children), "toolCalls": len(results), "artifacts": len(answer.artifacts)}
    return await finished(tree, node, notes, answer, outcome, metrics, children)


async def _ask(
    tree: Tree,
    node: Node,
    notes: Notes,
    executor: Agent,
    children: tuple[Returned, ...],
    results: list[dict[str, Any]],
) -> ExecutorOutput:
    last = not tree.tools or len(results) >= MAX_TOOL_CALLS

    def check(answer: ExecutorOutput) -> str:
        return executor_problem(node, answer, last=last)

    context = executor_context(node, tree.deliverable, notes.text, children, tree.tools_shown, results)
    return await tree.run.ask(executor, "execute", returns=ExecutorOutput, check=check, **context)


async def _use(tree: Tree, node: Node, action: Action) -> dict[str, Any]:
    """Run one tool call: two events, and a result whatever happens."""
    name, args = action.tool_name or "", action.tool_args or {}
    tree.run.emit(events.ToolCallRequested(node_id=node.id, tool_name=name, args=args, purpose=action.note))
    result = await tree.run.step("tool", tree.toolbox.call, name, args, returns=ToolResult)
    tree.run.emit(
        events.ToolCallResult(
            node_id=node.id, tool_name=name, ok=result.ok, summary=snippet(unfenced(result.text), TOLD),
            error=unfenced(result.error),
        )
    )  # fmt: skip
    return {"toolName": name, "args": args, "ok": result.ok, "text": result.text, "error": result.error}
