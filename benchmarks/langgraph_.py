"""LangGraph with its SQLite saver, every step durable before the next (`durability="sync"`).

The loop is a node with a conditional edge, fan-outs are `Send`s; the tree goes down and up level by
level, as its supersteps do. Runs in a virtual environment of its own, so the type checker cannot
see the package.
"""
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send

from benchmarks.common import FULL, MODEL


class ChainState(TypedDict):
    at: int
    length: int
    reply: str


class FanState(TypedDict):
    width: int
    replies: Annotated[list[str], operator.add]
    merged: str


class TreeState(TypedDict):
    depth: int
    branching: int
    level: int
    replies: Annotated[dict[str, str], operator.or_]


async def next_call(state: ChainState) -> dict[str, Any]:
    return {"reply": await MODEL.answer(str(state["at"])), "at": state["at"] + 1}


def after_call(state: ChainState) -> str:
    return END if state["at"] >= state["length"] else "next_call"


async def plan(state: FanState) -> Any:
    await MODEL.answer("plan")
    return Command(goto=[Send("work", {"tag": str(i)}) for i in range(state["width"])])


async def work(task: dict[str, str]) -> dict[str, Any]:
    return {"replies": [await MODEL.answer(task["tag"])]}


async def merge(state: FanState) -> dict[str, Any]:
    return {"merged": await MODEL.answer("merge")}


async def plan_node(node: dict[str, Any]) -> Any:
    await MODEL.answer(f"{node['tag']}:plan")
    depth = node["depth"] - 1
    children = [{**node, "tag": f"{node['tag']}.{k}", "depth": depth} for k in range(node["branching"])]
    return Command(goto=[Send("plan_node" if depth else "leaf", child) for child in children])


async def leaf(node: dict[str, Any]) -> dict[str, Any]:
    return {"replies": {node["tag"]: await MODEL.answer(node["tag"])}}


async def climb(state: TreeState) -> Any:
    """All nodes of one level are done: merge those of the level above."""
    level = state["level"] - 1
    if level < 0:
        return Command(goto=END)
    tags = ["r"]
    for _ in range(level):
        tags = [f"{tag}.{k}" for tag in tags for k in range(state["branching"])]
    sends: list[Any] = []
    for tag in tags:
        below = [state["replies"][f"{tag}.{k}"] for k in range(state["branching"])]
        sends.append(Send("merge_node", {"tag": tag, "below": below}))
    return Command(update={"level": level}, goto=sends)


async def merge_node(node: dict[str, Any]) -> dict[str, Any]:
    return {"replies": {node["tag"]: await MODEL.answer(f"{node['tag']}:merge")}}


def enter_tree(state: TreeState) -> list[Any]:
    return [Send("plan_node", {"tag": "r", "depth": state["depth"], "branching": state["branching"]})]


def chain_graph(saver: Any) -> Any:
    graph = StateGraph(ChainState)
    graph.add_node("next_call", next_call)
    graph.add_edge(START, "next_call")
    graph.add_conditional_edges("next_call", after_call, ["next_call", END])
    return graph.compile(checkpointer=saver)


def fan_graph(saver: Any) -> Any:
    graph = StateGraph(FanState)
    graph.add_node("plan", plan, destinations=("work",))
    graph.add_node("work", work)
    graph.add_node("merge", merge)
    graph.add_edge(START, "plan")
    graph.add_edge("work", "merge")
    graph.add_edge("merge", END)
    return graph.compile(checkpointer=saver)


def tree_graph(saver: Any) -> Any:
    graph = StateGraph(TreeState)
    graph.add_node("plan_node", plan_node, destinations=("plan_node", "leaf"))
    graph.add_node("leaf", leaf)
    graph.add_node("climb", climb, destinations=("merge_node", END))
    graph.add_node("merge_node", merge_node)
    graph.add_conditional_edges(START, enter_tree, ["plan_node"])
    graph.add_edge("leaf", "climb")
    graph.add_edge("merge_node", "climb")
    return graph.compile(checkpointer=saver)


class LangGraph:
    """A `Subject`."""

    version = version("langgraph")

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        async with AsyncSqliteSaver.from_conn_string(str(folder / "langgraph.sqlite")) as saver:
            self.chains, self.fans, self.trees = chain_graph(saver), fan_graph(saver), tree_graph(saver)
            yield

    async def _run(self, graph: Any, run: str, state: Any, limit: int = 100) -> None:
        config = {"configurable": {"thread_id": run}, "recursion_limit": limit, "max_concurrency": None}
        if graph is self.trees:
            config["max_concurrency"] = FULL.cap
        await graph.ainvoke(state, config, durability="sync")

    async def chain(self, run: str, n: int) -> None:
        await self._run(self.chains, run, {"at": 0, "length": n, "reply": ""}, n + 5)

    async def fanout(self, run: str, n: int) -> None:
        await self._run(self.fans, run, {"width": n, "replies": [], "merged": ""})

    async def tree(self, run: str, depth: int, branching: int) -> None:
        state = {"depth": depth, "branching": branching, "level": depth, "replies": {}}
        await self._run(self.trees, run, state)

    async def many(self, run: str, runs: int, steps: int) -> None:
        await asyncio.gather(*(self.chain(f"{run}-{i}", steps) for i in range(runs)))

    async def resume(self, run: str, n: int) -> None:
        await self._run(self.chains, run, None, n + 5)


langgraph = LangGraph()
