"""Execution of a leaf: the executor calls tools, or requests them in its reply and is asked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from podium.agents.agent import Agent
from podium.agents.conversation import ToolOutcome
from podium.models.messages import ToolCall
from podium.tools.tool import ToolResult, unfenced
from podium.tools.toolsets import NativeTool, native_calls
from podium.workflows.tree import events
from podium.workflows.tree.context import Notes, Tree, finished
from podium.workflows.tree.contracts import Action, ExecutorOutput, Node, Returned
from podium.workflows.tree.material import (
    READ_DOCUMENT,
    Piece,
    executor_context,
    is_cut,
    pieces_of,
    read_document,
)
from podium.workflows.tree.policy import MAX_TOOL_CALLS, executor_problem, outcome_of, snippet

SUMMARY_CHARS = 300
"""Characters of a tool result in its event. The step stores the full text."""
PURPOSE = "purpose"
"""Argument that each tool of an executor takes besides its own."""


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
    leaf = Leaf(tree, node, children)
    while True:
        answer = await leaf.ask(notes.text, executor)
        notes.add("Executor", answer.scratchpad)
        if not await leaf.carry_out(answer.tool_calls):
            break
    outcome = outcome_of(answer.result, len(answer.artifacts))
    metrics = {"children": len(children), "toolCalls": leaf.calls, "artifacts": len(answer.artifacts)}
    return await finished(tree, node, notes, answer, outcome, metrics, children)


class Leaf:
    """The tools of one leaf, and their calls so far."""

    def __init__(self, tree: Tree, node: Node, children: tuple[Returned, ...]) -> None:
        self.calls = 0
        self._tree = tree
        self._node = node
        self._children = children
        self._pieces = [*pieces_of(node.earlier, nearer=node.nearer), *pieces_of(children)]
        self._tools = {tool.name: with_purpose(tool) for tool in self._offered()}
        self._requested: list[dict[str, Any]] = []
        """Results of the calls that replies requested."""

    def _offered(self) -> list[NativeTool]:
        if not is_cut(self._pieces, self._tree.room):
            return self._tree.tools

        async def read(name: str, args: dict[str, Any]) -> ToolResult:
            return read_document(self._pieces, args)

        return [*self._tree.tools, *native_calls([READ_DOCUMENT], read, safe=lambda name: True)]

    @property
    def _calls_left(self) -> int:
        return MAX_TOOL_CALLS - self.calls if self._tools else 0

    async def ask(self, notes: str, executor: Agent) -> ExecutorOutput:
        """Return the executor's answer. It may call tools before."""
        tree, node, left = self._tree, self._node, self._calls_left
        returned = (*node.earlier, *self._children)
        context = executor_context(
            node, tree.deliverable, notes, self._pieces, returned, tree.room, self._requested, left
        )
        if left:
            executor = replace(executor, tools=list(self._tools.values()), max_tool_calls=left)

        def check(answer: ExecutorOutput) -> str:
            return executor_problem(node, answer, last=not self._calls_left)

        return await tree.run.ask(
            executor, "execute", returns=ExecutorOutput, check=check, on_tool=self._called, **context
        )

    def _called(self, call: ToolCall, outcome: ToolOutcome | None) -> None:
        """Emit the events of a call."""
        tool = self._tools.get(call.name)
        name = tool.original if tool is not None else call.name
        if outcome is None:
            self.calls += 1
            arguments: Any = call.arguments
            given = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
            args = {key: value for key, value in given.items() if key != PURPOSE}
            _requested(self._tree, self._node, name, args, str(given.get(PURPOSE, "")))
        else:
            ok, text = not outcome.failed, outcome.text
            result = ToolResult(ok, text if ok else "", "" if ok else text)
            _returned(self._tree, self._node, name, result)

    async def carry_out(self, wanted: Sequence[Action]) -> bool:
        """Run the calls that a reply requests, as far as the limit allows. Return whether there were any."""
        wanted = wanted[: self._calls_left]
        for action in wanted:
            self.calls += 1
            self._requested.append(await use_tool(self._tree, self._node, action, self._pieces))
        return bool(wanted)


def with_purpose(tool: NativeTool) -> NativeTool:
    """Return the tool with one more argument: what the executor needs the call for."""
    properties: dict[str, Any] = dict(tool.schema.get("properties", {}))
    if PURPOSE in properties:
        return tool

    async def call(**args: Any) -> Any:
        args.pop(PURPOSE, None)
        return await tool.function(**args)

    properties[PURPOSE] = {"type": "string", "description": "What you need it for."}
    return replace(tool, schema={**tool.schema, "properties": properties}, function=call)


async def use_tool(tree: Tree, node: Node, action: Action, pieces: Sequence[Piece]) -> dict[str, Any]:
    """Run one requested tool call, and return the result even if the tool fails."""
    given, args = action.tool_name or "", action.tool_args or {}
    name = next((tool.original for tool in tree.tools if tool.name == given), given)
    _requested(tree, node, name, args, action.note)
    if name == READ_DOCUMENT.name:
        result = read_document(pieces, args)
    else:
        result = await tree.run.step("tool", tree.toolbox.call, name, args, returns=ToolResult)
    _returned(tree, node, name, result)
    return {"toolName": name, "args": args, "ok": result.ok, "text": result.text, "error": result.error}


def _requested(tree: Tree, node: Node, name: str, args: dict[str, Any], purpose: str) -> None:
    tree.run.emit(events.ToolCallRequested(node_id=node.id, tool_name=name, args=args, purpose=purpose))


def _returned(tree: Tree, node: Node, name: str, result: ToolResult) -> None:
    summary, error = snippet(unfenced(result.text), SUMMARY_CHARS), unfenced(result.error)
    tree.run.emit(
        events.ToolCallResult(node_id=node.id, tool_name=name, ok=result.ok, summary=summary, error=error)
    )
