"""An agent that calls one tool per turn, as LangChain's `create_agent` runs it: without a checkpointer, and
with LangGraph's SQLite saver, each step durable before the next.

Runs in a virtual environment of its own, so the type checker cannot see the packages.
"""
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.turns_common import PAGE, Subject


async def read(page: int) -> str:
    """Read a page."""
    return PAGE


class Scripted(BaseChatModel):
    """Wants a page per turn, until as many are read as the first message says."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: Any, *rest: Any, **options: Any) -> ChatResult:
        done = len(messages) // 2
        message = AIMessage("done")
        if done < int(messages[0].content):
            call = {"name": "read", "args": {"page": done}, "id": f"call-{done}", "type": "tool_call"}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, messages: Any, *rest: Any, **options: Any) -> ChatResult:
        return self._generate(messages)


class LangChain(Subject):
    """`create_agent` without a checkpointer; it keeps nothing."""

    version = version("langchain")
    durable = False

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        self.runs = 0
        async with AsyncSqliteSaver.from_conn_string(str(folder / "langgraph.sqlite")) as saver:
            await saver.conn.execute("PRAGMA synchronous = FULL")
            self.agent: Any = create_agent(
                Scripted(), tools=[read], checkpointer=saver if self.durable else None
            )
            yield

    async def turns(self, n: int) -> str:
        self.runs += 1
        config = {"recursion_limit": 10 * n + 10, "configurable": {"thread_id": str(self.runs)}}
        options: dict[str, Any] = {"durability": "sync"} if self.durable else {}
        given = {"messages": [("user", str(n))]}
        state = await self.agent.ainvoke(given, config, **options)
        if len(state["messages"]) != 2 * n + 2:
            raise AssertionError("turns are missing")
        return "done"


class DurableLangChain(LangChain):
    """`create_agent` with the SQLite saver."""

    durable = True


langchain, langchain_durable = LangChain(), DurableLangChain()
