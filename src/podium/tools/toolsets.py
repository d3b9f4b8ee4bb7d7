"""Tool sets for `Agent(tools=[…])`: the web, one folder, and MCP servers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from podium.agents.agent import Agent
from podium.agents.ask import Run
from podium.agents.conversation import ToolOutcome
from podium.agents.tools import Tool, ToolContext
from podium.engine.effect import Effect
from podium.engine.process import offload
from podium.errors import UsageError
from podium.settings import nearest
from podium.tools.files import file_tools, write_tools
from podium.tools.mcp.input_requests import Answered, CallRound, respond
from podium.tools.tool import Tool as JsonTool
from podium.tools.tool import ToolError, ToolResult, ToolSpec, fenced_result
from podium.tools.toolbox import MISSING, load_web

if TYPE_CHECKING:
    from podium.tools.fetch import Fetcher
    from podium.tools.mcp.live_call import InteractiveConnection

MAX_NAME = 64
CONTEXT = "podium_context"
"""Parameter that takes the `ToolContext` of a call. A server may name its own arguments `ctx`."""


def web(*, fetcher: Fetcher | None = None) -> WebTools:
    """Tools with which an agent searches the web and reads pages: `search_web` and `fetch_url`."""
    return WebTools(fetcher)


def files(folder: str | Path, *, write: bool = False) -> FileTools:
    """Tools with which an agent lists, reads and searches the files of a folder; with `write` it may also
    write them. Paths outside the folder are refused."""
    return FileTools(Path(folder), write)


def mcp(server: str, *, approve: bool = False, optional: bool = False) -> McpTools:
    """The tools of an MCP server of the settings (`[mcp.NAME]`).

    `approve`: a person must approve each call of a tool that may destroy something; the server's annotations
    say which. `optional`: if the server cannot be reached, the agent works without it, with a warning.
    """
    return McpTools(server, approve, optional)


@dataclass(frozen=True)
class WebTools:
    """The set that `web()` returns."""

    fetcher: Fetcher | None = None
    name: str = "web"

    async def tools(self, run: Run, agent: Agent, path: str) -> Sequence[Tool]:
        try:
            made = await offload(load_web, run.settings, self.fetcher)
        except ToolError as error:
            raise UsageError(str(error)) from error
        return [native(tool) for tool in made]  # not safe: a rehearsal uses no network


@dataclass(frozen=True)
class FileTools:
    """The set that `files()` returns."""

    folder: Path
    write: bool = False
    name: str = "files"

    async def tools(self, run: Run, agent: Agent, path: str) -> Sequence[Tool]:
        if not self.folder.expanduser().is_dir() and not run.replaying:
            raise UsageError(f"There is no folder {self.folder} for podium.files().")
        reading = [native(tool, safe=True) for tool in file_tools(self.folder)]
        return [*reading, *map(native, write_tools(self.folder))] if self.write else reading


def native(tool: JsonTool, *, safe: bool = False) -> Tool:
    """Make a tool for agents."""

    async def call(**args: Any) -> ToolOutcome:
        return outcome_of(await fenced_result(tool.spec.name, tool.call(args)))

    return from_spec(tool.spec, call, safe=safe)


@dataclass(frozen=True)
class NativeTool(Tool):
    """A tool of a toolbox for agents."""

    original: str = ""
    """Its name in the toolbox."""


def native_calls(
    specs: Sequence[ToolSpec],
    call: Callable[[str, dict[str, Any]], Awaitable[ToolResult]],
    *,
    safe: Callable[[str], bool],
) -> list[NativeTool]:
    """Make tools for agents that are called by name."""

    def made(spec: ToolSpec, name: str) -> NativeTool:
        async def function(**args: Any) -> ToolOutcome:
            return outcome_of(await call(spec.name, args))

        return NativeTool(
            name,
            spec.description,
            object_schema(spec.parameters),
            function,
            safe=safe(spec.name),
            original=spec.name,
        )

    names = provider_names(spec.name for spec in specs)
    return [made(spec, names[spec.name]) for spec in specs]


def from_spec(spec: ToolSpec, function: Callable[..., Awaitable[Any]], **options: Any) -> Tool:
    """Make a tool for agents from a JSON schema of its arguments."""
    return Tool(spec.name, spec.description, object_schema(spec.parameters), function, **options)


def object_schema(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of arguments with properties, on which some providers insist."""
    return {"type": "object", "properties": {}, **parameters}


def outcome_of(result: ToolResult) -> ToolOutcome:
    return ToolOutcome(result.text) if result.ok else ToolOutcome(result.error, failed=True)


def provider_names(names: Iterable[str]) -> dict[str, str]:
    """Return a name that every provider accepts for each name of a tool. Different names stay different."""
    made: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name.replace(".", "__"))
        if len(plain) > MAX_NAME or plain in made.values():
            plain = f"{plain[: MAX_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        made[name] = plain
    return made


# ── MCP ────


class ListedTool(msgspec.Struct, frozen=True):
    """A tool of a server as the log keeps it."""

    name: str
    """Its name for models."""
    original: str
    description: str
    parameters: dict[str, Any]
    read_only: bool
    destructive: bool


class Listing(msgspec.Struct, frozen=True):
    """The tools of a server, or why an optional one cannot be used."""

    tools: list[ListedTool]
    trouble: str = ""


@dataclass(frozen=True)
class McpTools:
    """The set that `mcp()` returns."""

    server: str
    approve: bool = False
    optional: bool = False

    @property
    def name(self) -> str:
        return self.server

    async def tools(self, run: Run, agent: Agent, path: str) -> Sequence[Tool]:
        listing: Listing = await run.perform(
            "tools",
            self._list,
            inputs=[self.server, self.optional],
            path=f"{path}/tools[{self.server}]",
            returns=Listing,
            kind="tools",
            about={"server": self.server},
            by_fingerprint=True,
        )
        if listing.trouble:
            run.warn(listing.trouble)
        return [self._tool(agent, listed) for listed in listing.tools]

    async def _list(self, effect: Effect) -> Listing:
        run: Any = effect.run
        try:
            tools = await (await self._connection(run)).tools()
        except ToolError as error:
            if not self.optional:
                raise
            return Listing([], str(error))
        full = {tool.original: f"{self.server}.{tool.original}" for tool in tools}
        names = provider_names(full.values())
        return Listing(
            [
                ListedTool(
                    names[full[tool.original]],
                    tool.original,
                    tool.spec.description,
                    tool.spec.parameters,
                    tool.read_only,
                    tool.destructive,
                )
                for tool in tools
            ]
        )

    def _tool(self, agent: Agent, listed: ListedTool) -> Tool:
        async def call(**given: Any) -> ToolOutcome:
            context: ToolContext = given.pop(CONTEXT)
            return await self._call(context, agent, tool, listed.original, given)

        tool = from_spec(
            ToolSpec(listed.name, listed.description, listed.parameters),
            call,
            safe=listed.read_only,
            approve=self.approve and listed.destructive,
            composite=True,
            context=CONTEXT,
        )
        return tool

    async def _call(
        self, context: ToolContext, agent: Agent, tool: Tool, original: str, args: dict[str, Any]
    ) -> ToolOutcome:
        """Call a tool, round by round. A round ends when the server asks for input."""
        run, answered = context.run, list[Answered]()
        connection: InteractiveConnection | None = None

        async def call(original: str, args: dict[str, Any], answered: list[Answered]) -> CallRound:
            nonlocal connection
            connection = await self._connection(run)
            async with run.tool_slot(tool):
                return await connection.round(context.call_id, original, args, answered, run.store.put_blob)

        try:
            while True:
                ended = await run.step("call", call, original, args, answered, returns=CallRound)
                if ended.request is None:
                    return ended.outcome or ToolOutcome()
                response = await respond(run, agent, self.server, ended.request)
                answered = [*answered, Answered(ended.request, response)]
        finally:
            if connection is not None:
                connection.drop(context.call_id)

    async def _connection(self, run: Run) -> InteractiveConnection:
        servers = run.settings.mcp
        if self.server not in servers:
            meant = nearest(self.server, list(servers))
            known = f"Did you mean {meant!r}?" if meant else f"It has: {', '.join(servers) or 'none'}."
            raise ToolError(f"The settings have no MCP server {self.server!r}. {known}")
        made = await offload(_load_connection)
        return run.resource(f"mcp {self.server}", lambda: made(self.server, servers[self.server]))


def _load_connection() -> type[InteractiveConnection]:
    try:
        from podium.tools.mcp.live_call import InteractiveConnection  # noqa: PLC0415 - an extra, slow to import
    except ModuleNotFoundError as error:
        raise ToolError(MISSING.format(what="MCP servers", extra="mcp")) from error
    return InteractiveConnection
