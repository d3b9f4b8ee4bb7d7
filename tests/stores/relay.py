"""A line to PostgreSQL that can be cut at one end: the client hears that it is lost, and the server goes on
with what it was told. That is what a network does at the worst moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Relay:
    """Passes bytes on, both ways, and keeps what clients have sent."""

    def __init__(self, url: str) -> None:
        self._server = urlsplit(url)
        self._clients: dict[int, asyncio.StreamWriter] = {}
        self._closing = asyncio.Event()
        self._sent: list[bytes] = []
        self.port = 0

    @property
    def url(self) -> str:
        """The same database, by way of this line."""
        return self._server._replace(netloc=f"{self._server.username}@127.0.0.1:{self.port}").geturl()

    def count(self, words: str) -> int:
        """How often clients have sent something with these words in it."""
        return sum(words.encode() in part for part in self._sent)

    def cut(self, port: int) -> None:
        """Hang up on a client; `port` is that of its connection as the server knows it."""
        self._clients.pop(port).transport.abort()

    async def serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        """One connection, until both ends are gone."""
        server, to_server = await asyncio.open_connection("127.0.0.1", self._server.port)
        port = to_server.get_extra_info("sockname")[1]
        self._clients[port] = to_client
        back = asyncio.create_task(_pass(server, to_client, []))
        await _pass(client, to_server, self._sent)
        if port not in self._clients:
            await self._closing.wait()  # the server does not hear that its client is gone
        for writer in (to_server, to_client):
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        await back

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[None]:
        under_way: set[asyncio.Task[None]] = set()

        def begin(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
            under_way.add(asyncio.create_task(self.serve(client, to_client)))

        async with await asyncio.start_server(begin, "127.0.0.1") as listening:
            self.port = listening.sockets[0].getsockname()[1]
            try:
                yield
            finally:
                self._closing.set()
                await asyncio.gather(*under_way)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: list[bytes]) -> None:
    with suppress(OSError):  # one of the ends is gone
        while part := await reader.read(65_536):
            sent.append(part)
            writer.write(part)
            await writer.drain()


@asynccontextmanager
async def relay(url: str) -> AsyncGenerator[Relay]:
    """A line to the database at `url`, for as long as the block lasts; what uses it is closed by then."""
    made = Relay(url)
    async with made.listening():
        yield made
