"""An agent that calls one tool per turn, as Podium and Pydantic AI run it. The model is scripted."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

import podium
from benchmarks.baseline import commit
from benchmarks.turns_asks import PodiumAsks
from benchmarks.turns_common import PAGE, Subject
from podium.models.messages import ToolCall
from podium.models.model import Call


async def read(page: int) -> str:
    """Read a page."""
    return PAGE


async def read_next(call: Call) -> Any:
    """The scripted model: a page per turn, until `prompt` pages are read."""
    done = len(call.messages) // 2
    return [ToolCall("read", {"page": done})] if done < int(call.prompt) else "done"


READER = podium.Agent("reader", tools=[read], max_turns=10_000, max_tool_calls=10_000)


@podium.workflow
async def pages(run: podium.Run, request: int) -> str:
    return await run.ask(READER, "read", prompt=str(request))


@podium.workflow
async def pages_at_once(run: podium.Run, request: int) -> None:
    """Agents side by side, each with ten turns."""
    await run.gather({f"part-{n}": run.ask(READER, "read", prompt="10") for n in range(request // 10)})


class Podium(PodiumAsks):
    """The loop, on a SQLite store with every fsync on."""

    async def turns(self, n: int) -> str:
        return await self.done(pages, n, read_next)


class PodiumAtOnce(Podium):
    """Many agents at once."""

    async def turns(self, n: int) -> str:
        return await self.done(pages_at_once, n, read_next)


class TwoCommits(Subject):
    """The least that a turn with a call can cost: two bare commits."""

    version = commit.version

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        self.runs = 0
        async with commit.opened(folder):
            yield

    async def turns(self, n: int) -> str:
        self.runs += 1
        await commit.chain(str(self.runs), 2 * n)
        return "done"


class PydanticAi(Subject):
    """Pydantic AI's agent; it keeps nothing."""

    version = version("pydantic-ai-slim")

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            done = len(messages) // 2
            if done < self.wanted:
                return ModelResponse(parts=[ToolCallPart("read", {"page": done})])
            return ModelResponse(parts=[TextPart("done")])

        self.wanted = 0
        self.agent = PydanticAgent(FunctionModel(model), tools=[read])
        yield

    async def turns(self, n: int) -> str:
        self.wanted = n
        result = await self.agent.run("Read.", usage_limits=UsageLimits(request_limit=None))
        if len(result.all_messages()) != 2 * n + 2:
            raise AssertionError("turns are missing")
        return result.output


turns, at_once, two_commits, pydantic_ai = Podium(), PodiumAtOnce(), TwoCommits(), PydanticAi()
