"""All tools of one run behind two calls: list the tools, and call one. A tool's failure is a result, not an
exception."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from podium.engine.process import offload
from podium.settings import McpServer, Settings, nearest
from podium.tools.files import file_tools
from podium.tools.tool import Equipment, Tool, ToolError, ToolResult, ToolSpec, fenced_result

if TYPE_CHECKING:
    from podium.agents.agent import Agent
    from podium.agents.ask import Run
    from podium.engine.effect import Effect
    from podium.tools.fetch import Fetcher
    from podium.tools.mcp.connection import Connection
    from podium.tools.toolsets import NativeTool


MISSING = "{what} need an extra that is not installed: pip install 'podium[{extra}]'."


class Toolbox:
    """The tools of a run, as an async context manager. Opening it connects nothing, so a replay never
    connects."""

    def __init__(
        self,
        *,
        mcp: Mapping[str, McpServer] = {},
        folder: Path | None = None,
        web: bool = False,
        settings: Settings | None = None,
        concurrency: int = 4,
        fetcher: Fetcher | None = None,
    ) -> None:
        self.troubles: list[str] = []
        """Tools that could not be connected or loaded, one sentence each; set by the last `specs`."""
        self._servers, self._web, self._settings, self._fetcher = dict(mcp), web, settings, fetcher
        self._own = {tool.spec.name: tool for tool in (file_tools(folder) if folder is not None else [])}
        self._connections: dict[str, Connection] = {}
        self._slots = asyncio.Semaphore(concurrency)
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def specs(self) -> list[ToolSpec]:
        """Return every tool that is available now. MCP servers connect here, or at the first call to one of
        their tools."""
        self.troubles = []
        pending = [self._own_specs(), *(self._server_specs(name) for name in self._servers)]
        return [spec for specs in await asyncio.gather(*pending) for spec in specs]

    async def equipment(self) -> Equipment:
        """Return the specs with the troubles. Meant for a step, so that a resumed run keeps its original
        tools."""
        return Equipment(await self.specs(), self.troubles)

    async def call(self, name: str, args: Mapping[str, Any]) -> ToolResult:
        """Call a tool. Its text is fenced as untrusted, and every failure becomes a failed result."""
        async with self._slots:
            return await fenced_result(name, self._call(name, dict(args)), foreign="." in name)

    # ── as a tool set of an agent ──

    @property
    def name(self) -> str:
        return "toolbox"

    async def tools(self, run: Run, agent: Agent, path: str) -> Sequence[NativeTool]:
        """Return the tools for an ask of an agent. Their list is recorded."""
        equipment: Equipment = await run.perform(
            "tools",
            self._equipment,
            inputs=None,
            path=f"{path}/tools[{self.name}]",
            returns=Equipment,
            kind="tools",
        )
        for trouble in equipment.troubles:
            run.warn(trouble)
        return self.native(equipment.tools)

    async def _equipment(self, effect: Effect) -> Equipment:
        return await self.equipment()

    def native(self, specs: Sequence[ToolSpec]) -> list[NativeTool]:
        """Return tools for agents. Dots in names become two underscores, because providers refuse dots."""
        from podium.tools.toolsets import native_calls  # noqa: PLC0415 - pydantic is slow to import

        return native_calls(specs, self.call, safe=self._is_safe)

    def _is_safe(self, name: str) -> bool:
        return name.partition(".")[0] not in self._servers

    async def close(self) -> None:
        """Disconnect everything and end all server processes. Later calls to MCP servers are refused."""
        self._closed = True
        connections, self._connections = list(self._connections.values()), {}
        if connections:
            await asyncio.gather(*(connection.close() for connection in connections))

    async def _call(self, name: str, args: dict[str, Any]) -> ToolResult:
        server = name.partition(".")[0]
        if "." in name and server in self._servers:
            return await (await self._connection(server)).call(name, args)
        own = await self._own_tools()
        if name not in own:
            meant = nearest(name, [*own, *(f"{server}." for server in self._servers)])
            raise ToolError(f"There is no tool {name!r}." + (f" Did you mean {meant!r}?" if meant else ""))
        return await own[name].call(args)

    async def _own_specs(self) -> list[ToolSpec]:
        try:
            return [tool.spec for tool in (await self._own_tools()).values()]
        except ToolError as error:
            self.troubles.append(str(error))
            return [tool.spec for tool in self._own.values()]

    async def _server_specs(self, name: str) -> list[ToolSpec]:
        try:
            return await (await self._connection(name)).specs()
        except ToolError as error:
            self.troubles.append(str(error))
            return []

    async def _own_tools(self) -> dict[str, Tool]:
        """Return the folder and web tools; the web tools are loaded on first use."""
        if self._web:
            tools = await offload(load_web, self._settings, self._fetcher)
            self._own |= {tool.spec.name: tool for tool in tools}
            self._web = False
        return self._own

    async def _connection(self, name: str) -> Connection:
        connection = await offload(load_connection) if name not in self._connections else None
        if self._closed:
            raise ToolError("The tools are closed.")
        if connection is not None and name not in self._connections:
            self._connections[name] = connection(name, self._servers[name])
        return self._connections[name]


def load_web(settings: Settings | None, fetcher: Fetcher | None) -> list[Tool]:
    try:
        from podium.tools.web import web_tools  # noqa: PLC0415 - an extra, slow to import
    except ModuleNotFoundError as error:
        raise ToolError(MISSING.format(what="The tools for the web", extra="web")) from error
    return web_tools(settings, fetcher)


def load_connection() -> type[Connection]:
    try:
        from podium.tools.mcp.connection import Connection  # noqa: PLC0415 - an extra, slow to import
    except ModuleNotFoundError as error:
        raise ToolError(MISSING.format(what="MCP servers", extra="mcp")) from error
    return Connection
