"""The server: it answers by script and keeps every request that reached it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from tests.models.wire.acting import Act, written
from tests.models.wire.answers import Answer, Drop, Flood, Hang, Limit, Raw, Refuse, Say
from tests.models.wire.formats import FORMATS, Format


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it came over the wire."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float
    """When it had come, on the loop's clock."""


@dataclass
class Wire:
    """A provider on loopback. The last answer of its script is given again and again."""

    script: list[Answer] = field(default_factory=lambda: [Say()])
    requests: list[Seen] = field(default_factory=list[Seen])
    url: str = ""
    """Where it listens. Ends with a word of its own: ports come back, and what a process remembers of a
    provider that was down must not meet the next one."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a request has come."""
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client has hung up on an answer that was not over."""
    limited_since: float = 0.0
    """When the first request met a limit, on the loop's clock."""
    connections: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def answer_with(self, *answers: Answer) -> None:
        self.script = list(answers)

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self.connections.add(task)
        task.add_done_callback(self.connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (seen := await _read(reader)) is not None:
                prefix = urlsplit(self.url).path
                self.requests.append(replace(seen, path=seen.path.removeprefix(prefix)))
                self.asked.set()
                answer = self.script[min(len(self.requests), len(self.script)) - 1]
                if not await self._answer(seen, answer, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()  # the client hung up: that is its right
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(
        self, seen: Seen, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Whether the connection can be used again."""
        match answer:
            case Drop():
                return False
            case Limit():
                return await self._answer(seen, self._limited(answer), reader, writer)
            case Refuse():
                _head(writer, answer.status, "application/json", len(answer.body()), answer.headers)
                writer.write(answer.body())
            case Raw():
                length = len(answer.body) if answer.claims is None else answer.claims
                _head(writer, 200, answer.content_type, length, answer.headers)
                writer.write(answer.body)
                if answer.claims is not None:
                    await writer.drain()
                    return False
            case Act():
                body, kind = written(answer, seen.path, seen.body)
                _head(writer, 200, kind, len(body))
                writer.write(body)
            case Hang():
                if answer.started:
                    _head(writer, 200, "application/json", 1000)
                    writer.write(b'{"id":')
                    await writer.drain()
                return await self._until_gone(reader)
            case Flood():
                return await self._stream(seen, Say(), _flood(seen, answer), reader, writer)
            case Say() if seen.body.get("stream"):
                return await self._stream(seen, answer, answer.cut(), reader, writer)
            case Say():
                body = json.dumps(_format(seen).body(answer, seen.body)).encode()
                _head(writer, 200, "application/json", len(body))
                writer.write(body)
        await writer.drain()
        return True

    async def _stream(
        self,
        seen: Seen,
        say: Say,
        pieces: Iterable[str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        form = _format(seen)
        _head(writer, 200, "text/event-stream", None)
        for data in form.starts(say, seen.body):
            _chunk(writer, data)
        for sent, text in enumerate(pieces):
            if sent == say.drop_after:
                await writer.drain()
                return False
            if sent == say.hang_after:
                await writer.drain()
                return await self._until_gone(reader)
            if say.finish != "refusal":
                _chunk(writer, form.piece(text, seen.body))
            await writer.drain()
        for data in form.ends(say, seen.body):
            _chunk(writer, data)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    def _limited(self, limit: Limit) -> Answer:
        now = asyncio.get_running_loop().time()
        self.limited_since = self.limited_since or now
        return limit.refusal() if now < self.limited_since + limit.seconds else limit.then

    async def _until_gone(self, reader: asyncio.StreamReader) -> bool:
        await reader.read(1)
        self.gone.set()
        return False


@asynccontextmanager
async def serving(*answers: Answer) -> AsyncGenerator[Wire]:
    """A provider for as long as the block lasts."""
    wire = Wire(list(answers) or [Say()])
    server = await asyncio.start_server(wire.connected, "127.0.0.1", 0)
    wire.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/{uuid4().hex[:8]}"
    try:
        yield wire
    finally:
        server.close()
        for task in list(wire.connections):
            task.cancel()
        await asyncio.gather(*wire.connections, return_exceptions=True)
        await server.wait_closed()


def _format(seen: Seen) -> type[Format]:
    return next(form for end, form in FORMATS.items() if seen.path.partition("?")[0].endswith(end))


def _flood(seen: Seen, flood: Flood) -> Iterable[str]:
    text = "x" * flood.piece
    return (text for _ in range(flood.megabytes * 1_000_000 // flood.piece))


def _head(
    writer: asyncio.StreamWriter,
    status: int,
    content_type: str,
    length: int | None,
    headers: Any = (),
) -> None:
    lines = [f"HTTP/1.1 {status} Said", f"Content-Type: {content_type}"]
    lines.append("Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}")
    lines += [f"{name}: {value}" for name, value in dict(headers).items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = [line.partition(":") for line in lines if line]
    headers = {name.lower(): value.strip() for name, _, value in fields}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    now = asyncio.get_running_loop().time()
    return Seen(first.split(" ")[1], headers, json.loads(body) if body else {}, now)
