"""A connection to an MCP server that was made once, and the task that owns it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import shutil
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from podium import __version__
from podium.settings import McpServer
from podium.tools.mcp.naming import Named
from podium.tools.mcp.stdio import LastWords, stdio_transport
from podium.tools.mcp.variables import child_environment, expand
from podium.tools.tool import ToolError

CLOSING_SECONDS = 1.5

logging.getLogger("mcp").addHandler(logging.NullHandler())  # else its warnings land on the user's terminal


class Session:
    """A connection that was made once. The task that opened it also closes it, as its scopes demand."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self.said = LastWords()
        self.tools: dict[str, Named] = {}
        """By the names that models know."""
        self.lost = False
        """It turned out to be dead."""
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        # In a context of its own: it outlives the step that happens to be the first to need it.
        self._owner = asyncio.create_task(self._own(), context=contextvars.Context())

    @property
    def is_dead(self) -> bool:
        return self.lost or self._owner.done()

    async def client(self) -> Client:
        """The client, once it is connected."""
        return await asyncio.shield(self._ready)

    async def close(self) -> None:
        """End it; if it does not end by itself soon, it is cancelled, which kills its program."""
        self._closing.set()
        try:
            if self._ready.done():
                await asyncio.wait({self._owner}, timeout=CLOSING_SECONDS)
        finally:
            self._owner.cancel()
        await asyncio.wait({self._owner}, timeout=CLOSING_SECONDS)

    async def _own(self) -> None:
        try:
            transport = _transport(self._server, self.said)
            info = Implementation(name="podium", version=__version__)
            timeout = self._server.timeout
            async with Client(
                transport, read_timeout_seconds=timeout, client_info=info, cache=None
            ) as client:
                if not self._ready.done():
                    self._ready.set_result(client)
                await self._closing.wait()
        except Exception as error:  # noqa: BLE001 - it is told to whoever waits, or seen by the next call
            if not self._ready.done():
                self._ready.set_exception(error)
                self._ready.exception()  # nobody may be waiting any more
        finally:
            if not self._ready.done():  # cancelled: whoever still waits is not
                self._ready.set_exception(ToolError("it was closed"))
                self._ready.exception()


def _transport(server: McpServer, said: LastWords) -> AbstractAsyncContextManager[Any]:
    """How the server is reached. Variables are filled in here, at the last moment."""
    if server.command:
        env = child_environment(server)
        if shutil.which(server.command, path=env.get("PATH")) is None:
            raise ToolError(f"its command {server.command} is not installed")
        command = [server.command, *(expand(arg) for arg in server.args)]
        return stdio_transport(command, env, server.cwd or None, said)
    headers = {name: expand(value) for name, value in server.headers.items()}
    url = expand(server.url)
    if server.transport == "sse":
        return sse_client(url, headers, timeout=server.timeout, sse_read_timeout=max(300, server.timeout))
    return _streamable(url, headers, server.timeout)


@asynccontextmanager
async def _streamable(url: str, headers: dict[str, str], seconds: float) -> AsyncGenerator[Any]:
    times = httpx2.Timeout(seconds, read=max(300, seconds))
    async with (
        httpx2.AsyncClient(headers=headers, timeout=times) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams
