"""MCP server connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar, cast

import msgspec
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
)

from podium.settings import McpServer, nearest
from podium.tools.mcp.session import Named, Session, conceal, name_tools
from podium.tools.tool import MAX_TEXT, ToolError, ToolResult, ToolSpec, failed, succeeded, untrusted

T = TypeVar("T")


def text_of(result: CallToolResult) -> str:
    """Join all content blocks into one text; non-text blocks are replaced by a description."""
    text = "\n".join(_block_text(block) for block in result.content).strip()
    if not text and result.structured_content is not None:
        return msgspec.json.encode(result.structured_content).decode()
    return text or "[nothing]"


def _block_text(block: ContentBlock) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            return f"[{block.mime_type}, {len(block.data) * 3 // 4:,} bytes]"
        case ResourceLink():
            return f"[{block.name}: {block.uri}]"
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return resource.text
        case EmbeddedResource(resource=resource):
            return f"[{resource.mime_type or 'data'}: {resource.uri}]"


MAX_PAGES = 50


class Connection:
    """A connection to a configured server, for as long as its toolbox or its run is open."""

    def __init__(self, name: str, server: McpServer) -> None:
        self.name, self._server = name, server
        self._session: Session | None = None
        self._connecting = asyncio.Lock()

    async def specs(self) -> list[ToolSpec]:
        """Return the server's tools, or raise a `ToolError` that says why it cannot be used."""
        return [named.spec for named in await self.tools()]

    async def tools(self) -> list[Named]:
        """Return the server's tools with their original names and annotations."""
        return list((await self._connected()).tools.values())

    async def call(self, name: str, args: dict[str, Any]) -> ToolResult:
        """Call a tool by its full name. A failed call is not retried: it may have had side effects."""
        session = await self._connected()
        if (named := session.tools.get(name)) is None:
            meant = nearest(name, list(session.tools))
            raise ToolError(f"There is no tool {name!r}." + (f" Did you mean {meant!r}?" if meant else ""))
        calling = (await session.client()).call_tool(named.original, args)
        result = await self._within_time(session, name, calling)
        text = text_of(result)
        return (
            failed(f"{name} failed: {text}")
            if result.is_error
            else succeeded(untrusted(text, name, MAX_TEXT))
        )

    async def _within_time(self, session: Session, name: str, calling: Awaitable[T]) -> T:
        """Await a call, or raise a `ToolError` that says why it failed."""
        try:
            async with asyncio.timeout(self._server.timeout):
                return await calling
        except TimeoutError as error:
            raise ToolError(f"{name} took longer than {self._server.timeout:g} s.") from error
        except MCPError as error:
            raise ToolError(await self._reason(session, name, error)) from error
        except Exception:
            session.lost = True
            raise

    async def close(self) -> None:
        """Disconnect and end the server's process."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _new_session(self) -> Session:
        return Session(self._server)

    async def _connected(self) -> Session:
        """Return the session; connect if there is none or the last one died."""
        async with self._connecting:
            if self._session is not None and self._session.is_dead:
                await self.close()
            if self._session is None:
                self._session = session = self._new_session()
                try:
                    async with asyncio.timeout(self._server.timeout):
                        session.tools = await _list(self.name, self._server, await session.client())
                except BaseException as error:
                    await self.close()
                    if not isinstance(error, Exception):
                        raise
                    reason = await _why(error, self._server, session)
                    raise ToolError(f"The MCP server {self.name} {reason}.") from error
            return self._session

    async def _reason(self, session: Session, name: str, error: MCPError) -> str:
        if error.code == CONNECTION_CLOSED:
            session.lost = True
            line = await session.stderr.last()
            last = f" Its last output: {line}" if line else ""
            return conceal(f"The MCP server {self.name} ended during the call.{last}", self._server)
        if error.code == REQUEST_TIMEOUT:
            return f"{name} took longer than {self._server.timeout:g} s."
        return f"{name} failed: {error.message}"


async def _list(name: str, server: McpServer, client: Client) -> dict[str, Named]:
    tools, cursor = list[Tool](), None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        if (cursor := page.next_cursor) is None:
            break
    return name_tools(name, server, tools)


async def _why(error: Exception, server: McpServer, session: Session) -> str:
    """Return why a server cannot be used, with its secret values concealed."""
    if isinstance(error, TimeoutError):
        reason = f"did not answer within {server.timeout:g} s"
    elif isinstance(error, ToolError):
        reason = f"cannot be used: {error}"
    else:
        reason = f"could not be reached: {_innermost(error)}"
    line = await session.stderr.last()
    last = f" (its last output: {line})" if line else ""
    return conceal(reason + last, server)


def _innermost(error: BaseException) -> str:
    """Return the message of the root cause inside nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return " ".join(str(error).split())[:300] or type(error).__name__
