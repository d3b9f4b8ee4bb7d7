"""Nobody can take all there is: silent connections, bodies that do not end, streams without number."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from podium.server.auth import TokenAuthenticator
from podium.server.http_server import HeaderTimeout, listen
from podium.server.rate_limits import Names
from podium.server.security import SecurityMiddleware
from podium.server.users import add_user
from tests.server.serving import PATIENCE_S, served, started


class Hasty(HeaderTimeout):
    """The same, for tests that cannot wait so long."""

    head_s = 0.2


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("hello")(scope, receive, send)


@pytest.fixture
async def place() -> AsyncGenerator[tuple[str, int]]:
    listening = listen("127.0.0.1", 0)
    config = uvicorn.Config(answer, http=Hasty, lifespan="off", log_level="error", ws="none")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    yield listening.getsockname()[:2]
    server.should_exit = True
    await serving


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    """What came before the server closed. A byte that it had not read yet makes the close a reset."""
    async with asyncio.timeout(PATIENCE_S):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


async def test_a_connection_that_says_nothing_is_closed(place: tuple[str, int]) -> None:
    reader, writer = await asyncio.open_connection(*place)
    assert await until_closed(reader) == b""
    writer.close()


async def test_a_byte_now_and_then_buys_no_time(place: tuple[str, int]) -> None:
    reader, writer = await asyncio.open_connection(*place)
    closed = asyncio.create_task(until_closed(reader))
    while not closed.done():
        writer.write(b"x")
        await asyncio.wait([closed], timeout=0.02)
    assert await closed == b""
    writer.close()


async def test_a_request_that_comes_in_time_is_answered_and_so_is_the_next(place: tuple[str, int]) -> None:
    reader, writer = await asyncio.open_connection(*place)
    for _ in range(3):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(PATIENCE_S):
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert await reader.readexactly(5) == b"hello"
        await asyncio.sleep(0.25)  # longer than a head may take: the clock stands still between requests
    writer.close()


async def test_a_body_that_does_not_end_is_given_up() -> None:
    authenticator = TokenAuthenticator("token")
    guard = SecurityMiddleware(answer, authenticator=authenticator, names=Names("127.0.0.1", ()), cookie="c")
    guard.body_s = 0.05
    sent: list[Any] = []
    never = asyncio.Event()

    async def receive() -> Any:
        await never.wait()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:80"), (b"authorization", b"Bearer token"), (b"content-length", b"9")]
    scope: dict[str, Any] = {
        "type": "http", "method": "POST", "path": "/api/runs", "query_string": b"", "headers": headers,
        "client": ("127.0.0.1", 1), "scheme": "http",
    }  # fmt: skip
    async with asyncio.timeout(PATIENCE_S):
        await guard(scope, receive, send)
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]


def test_a_user_has_so_many_live_streams_and_gets_places_back(tmp_path: Path) -> None:
    file = tmp_path / "users.toml"
    key = add_user(file, "alice", {"max_streams": 2})
    other = add_user(file, "bob", {})

    def opened(client: httpx2.Client, path: str) -> int:
        with client.stream("GET", path) as answer:
            return answer.status_code

    with served(tmp_path, users=file) as server, server.client(key) as alice, server.client(other) as bob:
        run_id = started(alice, "tree", "a garden")
        path = f"/api/runs/{run_id}/events/stream"
        with alice.stream("GET", path) as first:
            lines = first.iter_lines()
            assert next(lines)
            with alice.stream("GET", path) as second:
                more = second.iter_lines()
                assert next(more)
                assert opened(alice, path) == 429
                assert opened(alice, "/api/runs/stream") == 429
                assert opened(bob, "/api/runs/stream") == 200
        while opened(alice, path) == 429:
            pass  # the server has not seen yet that they are closed
