"""A web site on loopback: real sockets, pages by script, and every request that reached it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Write = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A page, or with `endless` the same piece again and again, `pause` seconds apart."""

    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    endless: bytes = b""
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came over the wire."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]


@dataclass
class Site:
    """The site. A path without a page is answered with 404."""

    pages: dict[str, Answer] = field(default_factory=dict[str, Answer])
    asked: list[Asked] = field(default_factory=list[Asked])
    port: int = 0
    connections: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self.connections.add(task)
        task.add_done_callback(self.connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read(reader)
            self.asked.append(request)
            answer = self.pages.get(request.path.partition("?")[0], Answer(b"Not here.", status=404))
            writer.write(_head(answer))
            writer.write(answer.body)
            await writer.drain()
            while answer.endless:
                writer.write(answer.endless)
                await writer.drain()
                await asyncio.sleep(answer.pause)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass  # the client hung up: that is its right
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()


def _head(answer: Answer) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} Said", "Connection: close"]
    if answer.content_type:
        lines.append(f"Content-Type: {answer.content_type}")
    if not answer.endless:
        lines.append(f"Content-Length: {len(answer.body)}")
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = [line.partition(":") for line in lines if line]
    headers = {name.lower(): value.strip() for name, _, value in fields}
    return Asked(first, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


@asynccontextmanager
async def serving(tls: ssl.SSLContext | None = None, /, **pages: Answer) -> AsyncGenerator[Site]:
    """A site for as long as the block lasts; pages by their first name."""
    site = Site({f"/{name}": page for name, page in pages.items()})
    server = await asyncio.start_server(site.connected, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        for task in list(site.connections):
            task.cancel()
        await asyncio.gather(*site.connections, return_exceptions=True)
        await server.wait_closed()
