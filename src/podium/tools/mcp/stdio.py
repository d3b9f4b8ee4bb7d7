"""Talking to a program on its input and output, one JSON message a line.

The transport of the `mcp` package gives a stubborn program six seconds, and leaves it behind when we are
killed. This one ends soon, kills all that was started, and keeps what the program said last.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from podium.tools.mcp import keeper

MAX_LINE = 16_000_000
LEAVING_SECONDS = 0.5
"""How long a program may take to leave by itself when its input ends."""

ENDING_SECONDS = 1.0
"""How long the keeper may take to kill everything."""

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


class LastWords:
    """What a program wrote to its standard error last: often the reason why it ended."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=20)
        self._over = asyncio.Event()
        self._over.set()  # until a program is started

    async def listen(self, pipe: asyncio.StreamReader) -> None:
        """To the end of the pipe."""
        self._over.clear()
        try:
            while chunk := await pipe.read(65_536):
                lines = chunk.decode("utf-8", "replace").splitlines()
                self._lines.extend(line.strip() for line in lines[-20:] if line.strip())
        finally:
            self._over.set()

    async def last(self) -> str:
        """The last line. A program that is ending may not have said it yet."""
        with anyio.move_on_after(LEAVING_SECONDS):
            await self._over.wait()
        return self._lines[-1][:200] if self._lines else ""


@asynccontextmanager
async def stdio_transport(
    command: list[str], env: dict[str, str], cwd: str | None, said: LastWords
) -> AsyncGenerator[Streams]:
    """The program for as long as the block lasts; `said` hears its standard error."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", keeper.__file__, str(os.getpid()), *command,
        env=env, cwd=cwd, start_new_session=True, limit=MAX_LINE,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with anyio.create_task_group() as tasks:
            heard, incoming = anyio.create_memory_object_stream[Incoming](16)
            outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](16)
            tasks.start_soon(_hear, process, heard)
            tasks.start_soon(_send, process, to_send)
            assert process.stderr is not None
            tasks.start_soon(said.listen, process.stderr)
            try:
                yield incoming, outgoing
            finally:
                incoming.close()
                outgoing.close()
                with anyio.CancelScope(shield=True):
                    await _let_leave(process)
                    if process.returncode is not None:  # it left by itself: what it said last is the reason
                        await said.last()
                tasks.cancel_scope.cancel()
    finally:
        await _end(process)


async def _hear(process: asyncio.subprocess.Process, heard: MemoryObjectSendStream[Incoming]) -> None:
    assert process.stdout is not None
    async with heard:  # closing it tells the session that the program is gone
        with suppress(ValueError, anyio.BrokenResourceError):  # a line without end; nobody listens any more
            while line := await process.stdout.readline():
                await heard.send(_message(line))


def _message(line: bytes) -> Incoming:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:  # many a program prints a greeting there
        return error


async def _send(
    process: asyncio.subprocess.Process, to_send: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    assert process.stdin is not None
    async with to_send:
        with suppress(ConnectionError):  # the program is gone, as its output tells too
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
    """Kill what is left: the keeper is told to, before anything is waited for, and it kills all below it.

    A second cancel does not shorten the wait: the keeper must not be killed before it has done its work, and
    the loop must not close over a process that still ends.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
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
