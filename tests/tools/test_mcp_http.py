"""MCP servers that run elsewhere: streamable HTTP, server-sent events, headers and faults."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from podium.settings import McpServer
from podium.tools.toolbox import Toolbox
from tests.tools.conftest import body, npm_server
from tests.tools.site import Answer, serving


@asynccontextmanager
async def everything(way: str) -> AsyncGenerator[int]:
    """The server from npm on a port of its own, for as long as the block lasts."""
    program = npm_server("mcp-server-everything")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        program,
        way,
        env={**os.environ, "PORT": str(port)},
        start_new_session=True,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(60):
            while not await _listens(port):  # noqa: ASYNC110 - it is outside this process
                await asyncio.sleep(0.05)
        yield port
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("localhost", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


@pytest.mark.parametrize(
    ("way", "path", "transport"), [("streamableHttp", "mcp", "http"), ("sse", "sse", "sse")]
)
async def test_a_server_that_runs_elsewhere_can_be_used(way: str, path: str, transport: str) -> None:
    async with everything(way) as port:
        server = McpServer(url=f"http://localhost:{port}/{path}", transport=transport)  # type: ignore[arg-type]
        async with Toolbox(mcp={"all": server}) as tools:
            assert "all.echo" in [spec.name for spec in await tools.specs()]
            assert tools.troubles == []
            results = await asyncio.gather(*(tools.call("all.echo", {"message": str(n)}) for n in range(8)))
            assert [body(result.text) for result in results] == [f"Echo: {n}" for n in range(8)]


async def test_a_server_that_goes_away_is_reported_and_used_again_when_it_is_back() -> None:
    async with everything("streamableHttp") as port:
        server = McpServer(url=f"http://localhost:{port}/mcp", timeout=20)
        tools = Toolbox(mcp={"all": server})
        assert (await tools.call("all.echo", {"message": "x"})).ok
    gone = [await tools.call("all.echo", {"message": "x"}) for _ in range(2)]
    assert not any(result.ok for result in gone)
    assert "could not be reached" in gone[-1].error
    await tools.close()


async def test_headers_are_filled_in_and_no_fault_repeats_them() -> None:
    os.environ["ELSEWHERE_TOKEN"] = "value-of-the-token"
    try:
        async with serving(mcp=Answer(b"value-of-the-token is wrong", "text/plain", 401)) as site:
            server = McpServer(
                url=f"{site.url}/mcp?k=${{ELSEWHERE_TOKEN}}",
                headers={"Authorization": "Bearer ${ELSEWHERE_TOKEN}", "X-Plain": "plain"},
            )
            async with Toolbox(mcp={"far": server}) as tools:
                assert await tools.specs() == []
            assert site.asked[0].headers["authorization"] == "Bearer value-of-the-token"
            assert site.asked[0].headers["x-plain"] == "plain"
    finally:
        del os.environ["ELSEWHERE_TOKEN"]
    assert tools.troubles[0].startswith("The MCP server far could not be reached")
    assert "value-of-the-token" not in tools.troubles[0]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"<html>hello</html>"),
        Answer(b"", status=500),
        Answer(b"{}", "application/json"),
        Answer(b"[]", "application/json"),
        Answer(b"not json", "application/json"),
        Answer(b"data: nonsense\n\n", "text/event-stream"),
        Answer(endless=b": still here\n\n", content_type="text/event-stream", pause=0.05),
        Answer(status=302, headers={"Location": "http://127.0.0.1:9/"}),
    ],
    ids=["html", "500", "object", "list", "broken", "stream", "endless", "redirect"],
)
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_what_is_no_mcp_server_is_reported(answer: Answer, transport: str) -> None:
    async with serving(mcp=answer) as site:
        server = McpServer(url=f"{site.url}/mcp", transport=transport, timeout=2)  # type: ignore[arg-type]
        async with Toolbox(mcp={"far": server}) as tools:
            assert await tools.specs() == []
            assert len(tools.troubles) == 1
            assert tools.troubles[0].startswith("The MCP server far ")
