"""All tools of one run behind two calls: what is there, and use it. A tool's failure is data, never an error."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from podium.settings import McpServer, Settings, nearest
from podium.tools.files import file_tools
from podium.tools.tool import Tool, ToolError, ToolResult, ToolSpec, bounded, failed


class Toolbox:
    """An async context manager. Opening it connects nothing: a replay never calls, so it never connects."""

    def __init__(
        self,
        *,
        mcp: Mapping[str, McpServer] = {},
        folder: Path | None = None,
        web: bool = False,
        settings: Settings | None = None,
        concurrency: int = 4,
    ) -> None:
        self.troubles: list[str] = []
        """What could not be reached or offered, one sentence each; filled by `specs`."""
        own: list[Tool] = file_tools(folder) if folder is not None else []
        self._own = {tool.spec.name: tool for tool in own}
        self._slots = asyncio.Semaphore(concurrency)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def specs(self) -> list[ToolSpec]:
        """Every tool that can be used now. MCP servers are connected here or by their first call."""
        return [tool.spec for tool in self._own.values()]

    async def call(self, name: str, args: Mapping[str, Any]) -> ToolResult:
        """Use a tool. Whatever goes wrong with it is told in the result; only a cancel passes through."""
        tool = self._own.get(name)
        if tool is None:
            return failed(self._unknown(name))
        async with self._slots:
            try:
                result = await tool.call(dict(args))
            except ToolError as error:
                return failed(str(error))
            except Exception as error:  # noqa: BLE001 - a tool's failure is told to the model, not fatal
                return failed(f"{name} failed: {type(error).__name__}: {error}")
        return ToolResult(ok=result.ok, text=bounded(result.text), error=bounded(result.error, 1_000))

    async def close(self) -> None:
        """Disconnect everything; no process is left behind."""

    def _unknown(self, name: str) -> str:
        meant = nearest(name, list(self._own))
        return f"There is no tool {name!r}." + (f" Did you mean {meant!r}?" if meant else "")
