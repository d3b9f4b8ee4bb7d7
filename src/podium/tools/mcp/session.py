"""MCP session, stdio transport, tool names and child environment.

The stdio transport of the `mcp` package waits six seconds for a program that does not exit, and leaves it
running when this process is killed. This one ends quickly, kills all started processes, and keeps the
program's last stderr lines.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import re
import shutil
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Client
from mcp.client.context import ClientRequestContext
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import Implementation, Tool, jsonrpc_message_adapter

from podium import __version__
from podium.engine.process import send_signal
from podium.settings import VARIABLE, McpServer, variable
from podium.tools.mcp import parent_watchdog
from podium.tools.tool import ToolError, ToolSpec, bounded

MAX_NAME = 64
MAX_DESCRIPTION = 2_000


class Named(msgspec.Struct, frozen=True):
    """A tool with its original name, its spec and its annotations."""

    original: str
    spec: ToolSpec
    read_only: bool = False
    destructive: bool = True


def name_tools(prefix: str, server: McpServer, tools: Iterable[Tool]) -> dict[str, Named]:
    """Return the allowed tools by their full name. Duplicate names get a number."""
    named: dict[str, Named] = {}
    for tool in tools:
        if server.tools is not None and tool.name not in server.tools:
            continue
        name = plain = f"{prefix}.{re.sub(r'[^A-Za-z0-9_-]', '_', tool.name)}"[:MAX_NAME]
        number = 2
        while name in named:
            name, number = f"{plain[: MAX_NAME - 4]}_{number}", number + 1
        description = bounded((tool.description or tool.title or "").strip(), MAX_DESCRIPTION)
        hints = tool.annotations
        read_only = hints is not None and bool(hints.read_only_hint)
        named[name] = Named(
            tool.name,
            ToolSpec(name, description, dict(tool.input_schema)),
            read_only,
            destructive=not read_only and (hints is None or hints.destructive_hint is not False),
        )
    return named


MAX_LINE = 16_000_000
LEAVING_SECONDS = 0.5
"""Time for a program to exit by itself after its stdin closes."""

ENDING_SECONDS = 1.0
"""Time for the watchdog to kill all processes."""

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


class StderrTail:
    """The last stderr lines of a program, which often say why it ended."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=20)
        self._over = asyncio.Event()
        self._over.set()  # set until a program is started

    async def listen(self, pipe: asyncio.StreamReader) -> None:
        """Read the pipe until it ends."""
        self._over.clear()
        try:
            while chunk := await pipe.read(65_536):
                lines = chunk.decode("utf-8", "replace").splitlines()
                self._lines.extend(line.strip() for line in lines[-20:] if line.strip())
        finally:
            self._over.set()

    async def last(self) -> str:
        """Return the last line. Waits briefly, because an ending program may not have written it yet."""
        with anyio.move_on_after(LEAVING_SECONDS):
            await self._over.wait()
        return self._lines[-1][:200] if self._lines else ""


@asynccontextmanager
async def stdio_transport(
    command: list[str], env: dict[str, str], cwd: str | None, stderr: StderrTail
) -> AsyncGenerator[Streams]:
    """Run the program for the duration of the block; `stderr` collects its stderr."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", parent_watchdog.__file__, str(os.getpid()), *command),
        env=env,
        cwd=cwd,
        start_new_session=True,
        limit=MAX_LINE,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with anyio.create_task_group() as tasks:
            heard, incoming = anyio.create_memory_object_stream[Incoming](16)
            outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](16)
            tasks.start_soon(_hear, process, heard)
            tasks.start_soon(_send, process, to_send)
            assert process.stderr is not None
            tasks.start_soon(stderr.listen, process.stderr)
            try:
                yield incoming, outgoing
            finally:
                incoming.close()
                outgoing.close()
                with anyio.CancelScope(shield=True):
                    await _let_leave(process)
                    if process.returncode is not None:  # it exited by itself: its last stderr line says why
                        await stderr.last()
                tasks.cancel_scope.cancel()
    finally:
        await _end(process)


async def _hear(process: asyncio.subprocess.Process, heard: MemoryObjectSendStream[Incoming]) -> None:
    assert process.stdout is not None
    async with heard:  # closing it signals to the session that the program has ended
        with suppress(ValueError, anyio.BrokenResourceError):  # line too long; receiver closed
            while line := await process.stdout.readline():
                await heard.send(_message(line))


def _message(line: bytes) -> Incoming:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:  # many programs print a banner on stdout
        return error


async def _send(
    process: asyncio.subprocess.Process, to_send: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    assert process.stdin is not None
    async with to_send:
        with suppress(ConnectionError):  # the program has ended; its stdout reports that too
            async for message in to_send:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()


async def _let_leave(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    with anyio.move_on_after(LEAVING_SECONDS):
        await process.wait()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill what is left: first send SIGTERM to the watchdog, which kills all processes below it.

    A second cancellation does not shorten the wait: the watchdog must not be killed before it has finished,
    and the event loop must not close while a process is still ending.
    """
    send_signal(process, signal.SIGTERM)
    interrupted, ends = None, asyncio.get_running_loop().time() + ENDING_SECONDS
    while process.returncode is None and asyncio.get_running_loop().time() < ends:
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError as cancel:
            interrupted = cancel
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if interrupted is not None:
        raise interrupted


INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""Variables of our environment that a program inherits. None of them holds an API key."""


def expand(text: str, env: Mapping[str, str] | None = None) -> str:
    """Fill in the variables of a text; raise a `ToolError` if one is not set."""

    def value(match: re.Match[str]) -> str:
        if not (setting := variable(match[1], env=env)):
            raise ToolError(f"the variable {match[1]} is not set")
        return setting

    return VARIABLE.sub(value, text)


def conceal(text: str, server: McpServer, env: Mapping[str, str] | None = None) -> str:
    """Replace the server's secret values in a message, in case it repeats one."""
    for value in (*server.env.values(), *server.headers.values()):
        text = text.replace(value, "[hidden]") if len(value) >= 6 and not VARIABLE.search(value) else text
    for template in (*server.env.values(), *server.headers.values(), *server.args, server.url):
        for name in VARIABLE.findall(template):
            if value := variable(name, env=env):
                text = text.replace(value, f"${{{name}}}")
    return text


def child_environment(server: McpServer, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment variables for a server's program."""
    inherited = {name: value for name in INHERITED if (value := variable(name, env=env))}
    return inherited | {name: expand(value, env) for name, value in server.env.items()}


CLOSING_SECONDS = 1.5

logging.getLogger("mcp").addHandler(logging.NullHandler())  # else it prints to the terminal


Asked = Callable[[Any], Awaitable[Any]]
"""Answers a request of a server: parameters to a result."""


class Session:
    """One connection. The task that opens it also closes it, as cancel scopes require."""

    def __init__(self, server: McpServer, asked: Asked | None = None) -> None:
        self._server = server
        self._asked = asked
        """Answers sampling and elicitation; without it the server is told that there are none."""
        self.stderr = StderrTail()
        self.tools: dict[str, Named] = {}
        """Tools by the names that models use."""
        self.lost = False
        """The connection is known to be dead."""
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        # In a fresh context: the session outlives the step that first needs it.
        self._owner = asyncio.create_task(self._own(), context=contextvars.Context())

    @property
    def is_dead(self) -> bool:
        return self.lost or self._owner.done()

    async def client(self) -> Client:
        """Return the client, once it is connected."""
        return await asyncio.shield(self._ready)

    async def close(self) -> None:
        """Close the session; if it does not end in time, cancel it, which kills its program."""
        self._closing.set()
        try:
            if self._ready.done():
                await asyncio.wait({self._owner}, timeout=CLOSING_SECONDS)
        finally:
            self._owner.cancel()
        await asyncio.wait({self._owner}, timeout=CLOSING_SECONDS)

    async def _own(self) -> None:
        try:
            transport = _transport(self._server, self.stderr)
            info = Implementation(name="podium", version=__version__)
            async with Client(
                transport,
                read_timeout_seconds=self._server.timeout,
                client_info=info,
                cache=None,
                **self._callbacks(),
            ) as client:
                if not self._ready.done():
                    self._ready.set_result(client)
                await self._closing.wait()
        except Exception as error:  # noqa: BLE001 - raised to the waiters, or seen by the next call
            if not self._ready.done():
                self._ready.set_exception(error)
                self._ready.exception()  # mark as retrieved: there may be no waiter
        finally:
            if not self._ready.done():  # cancelled, but its waiters are not
                self._ready.set_exception(ToolError("it was closed"))
                self._ready.exception()

    def _callbacks(self) -> dict[str, Any]:
        asked = self._asked
        if asked is None:
            return {}

        async def answer(context: ClientRequestContext, params: Any) -> Any:
            return await asked(params)

        return {"elicitation_callback": answer, "sampling_callback": answer}


def _transport(server: McpServer, stderr: StderrTail) -> AbstractAsyncContextManager[Any]:
    """Return the transport to the server. Variables are filled in here, as late as possible."""
    if server.command:
        env = child_environment(server)
        if shutil.which(server.command, path=env.get("PATH")) is None:
            raise ToolError(f"its command {server.command} is not installed")
        command = [server.command, *(expand(arg) for arg in server.args)]
        return stdio_transport(command, env, server.cwd or None, stderr)
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
