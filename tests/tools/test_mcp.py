"""MCP servers that are programs: their tools, their ends, and that nothing of them is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from podium.settings import McpServer
from podium.tools.tool import MAX_TEXT
from podium.tools.toolbox import Toolbox
from tests.tools.conftest import PROGRAMS, SMALL, all_gone, body, is_alive, npm_server, small, until

linux = pytest.mark.skipif(
    sys.platform != "linux", reason="the kernel tells of a parent's death only on Linux"
)


async def pids_of(tools: Toolbox) -> list[int]:
    return [int(pid) for pid in body((await tools.call("small.pids", {})).text).split()]


async def test_tools_are_named_after_their_server_and_can_be_called() -> None:
    async with Toolbox(mcp={"small": small()}) as tools:
        names = [spec.name for spec in await tools.specs()]
        assert names[:2] == ["small.echo", "small.crash"]
        assert names[-2:] == ["small.odd_name_", "small.odd_name__2"]
        assert tools.troubles == []
        result = await tools.call("small.echo", {"text": "hello"})
        assert result.ok
        assert body(result.text) == "hello"
        assert body((await tools.call("small.odd_name_", {"text": "odd"})).text) == "odd"


async def test_a_call_needs_no_list_before_it() -> None:
    """After a resume the list is in the log, and the first thing that happens is a call."""
    async with Toolbox(mcp={"small": small("greet")}) as tools:
        assert body((await tools.call("small.echo", {"text": "hello"})).text) == "hello"


async def test_only_allowed_tools_are_reported_and_can_be_called() -> None:
    async with Toolbox(mcp={"small": small(tools=["echo"])}) as tools:
        assert [spec.name for spec in await tools.specs()] == ["small.echo"]
        result = await tools.call("small.refuse", {})
        assert result.error.startswith("There is no tool 'small.refuse'.")


async def test_a_tool_that_fails_is_reported() -> None:
    async with Toolbox(mcp={"small": small()}) as tools:
        refused = (await tools.call("small.refuse", {})).error
        assert refused.startswith("BEGIN UNTRUSTED"), "a server's words may hold orders, also when it fails"
        assert body(refused) == "small.refuse failed: ValueError: not today"
        assert body((await tools.call("small.echo", {})).error) == "small.echo failed: KeyError: 'text'"
        assert (await tools.call("small.ecco", {})).error.endswith("Did you mean 'small.echo'?")
        assert (await tools.call("other.echo", {})).error.startswith("There is no tool 'other.echo'.")


async def test_a_large_result_is_cut_inside_its_fence() -> None:
    async with Toolbox(mcp={"small": small()}) as tools:
        result = await tools.call("small.large", {})
        assert len(result.text) <= MAX_TEXT
        assert "[cut: 1,000,000 characters in all]" in result.text
        assert result.text.splitlines()[-1].startswith("END UNTRUSTED")


async def test_a_server_that_dies_during_a_call_is_reported_and_connected_anew_by_the_next() -> None:
    async with Toolbox(mcp={"small": small()}) as tools:
        first = await pids_of(tools)
        crashed = await tools.call("small.crash", {})
        assert (
            crashed.error == "The MCP server small ended during the call. Its last output: the roof fell in"
        )
        second = await pids_of(tools)
        assert first[0] != second[0]
        await all_gone(first)
    await all_gone(second)


async def test_a_server_that_was_killed_between_calls_is_connected_anew(tmp_path: Path) -> None:
    log = tmp_path / "starts"
    async with Toolbox(mcp={"small": small(f"log={log}")}) as tools:
        await tools.call("small.echo", {"text": "x"})
        os.kill(int(log.read_text()), signal.SIGKILL)
        results = [await tools.call("small.echo", {"text": "again"}) for _ in range(2)]
        assert results[-1].ok
        assert len(log.read_text().split()) == 2


async def test_servers_that_cannot_be_used_are_reported_and_the_others_work() -> None:
    servers = {
        "good": small(),
        "gone": McpServer(command="no-such-program-here"),
        "dies": small("die"),
        "mute": small("mute", timeout=1),
        "unset": McpServer(command=sys.executable, env={"KEY": "${NO_SUCH_VARIABLE}"}),
        "closed": McpServer(url="http://127.0.0.1:9/mcp"),
        "folder": McpServer(command=sys.executable, args=[str(SMALL)], cwd="/no/such/folder"),
    }
    async with Toolbox(mcp=servers) as tools:
        specs = await tools.specs()
        assert {spec.name.partition(".")[0] for spec in specs} == {"good"}
        reasons = {text.split()[3]: text.split(" ", 4)[4] for text in tools.troubles}
        assert reasons["gone"] == "cannot be used: its command no-such-program-here is not installed."
        assert (
            reasons["dies"]
            == "could not be reached: Connection closed (its last output: no luck with nothing)."
        )
        assert reasons["mute"] == "did not answer within 1 s."
        assert reasons["unset"] == "cannot be used: the variable NO_SUCH_VARIABLE is not set."
        assert reasons["closed"].startswith("could not be reached: ")
        assert "/no/such/folder" in reasons["folder"]
        assert len(reasons) == 6
        assert (await tools.call("dies.echo", {"text": "x"})).error.endswith(reasons["dies"])
        assert (await tools.call("good.echo", {"text": "x"})).ok


async def test_a_tool_that_never_answers_is_reported_and_others_go_on() -> None:
    async with Toolbox(mcp={"small": small(timeout=3)}) as tools:
        await tools.specs()
        hanging, echoed = await asyncio.gather(
            tools.call("small.hang", {}), tools.call("small.echo", {"text": "still here"})
        )
        assert hanging.error == "small.hang took longer than 3 s."
        assert body(echoed.text) == "still here"


async def test_as_many_calls_as_agreed_are_under_way_at_once() -> None:
    async with Toolbox(mcp={"small": small()}, concurrency=4) as tools:
        results = await asyncio.gather(*(tools.call("small.meet", {}) for _ in range(8)))
        assert {body(result.text) for result in results} == {"4"}


async def test_a_program_gets_a_small_environment_with_what_it_was_given() -> None:
    os.environ["SMALL_API_KEY"] = "value-of-the-key"
    try:
        async with Toolbox(mcp={"small": small(env={"MINE": "<${SMALL_API_KEY}>", "PLAIN": "x"})}) as tools:
            seen = json.loads(body((await tools.call("small.environment", {})).text))
    finally:
        del os.environ["SMALL_API_KEY"]
    assert seen.pop("MINE") == "<value-of-the-key>"
    assert seen.pop("PLAIN") == "x"
    assert set(seen) <= {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "TMPDIR",
    }


async def test_what_a_program_says_of_its_key_is_not_repeated() -> None:
    os.environ["SMALL_TOKEN"] = "value-of-the-token"
    try:
        async with Toolbox(mcp={"small": small("die", env={"SMALL_KEY": "${SMALL_TOKEN}"})}) as tools:
            await tools.specs()
    finally:
        del os.environ["SMALL_TOKEN"]
    assert "value-of-the-token" not in tools.troubles[0]
    assert "(its last output: no luck with ${SMALL_TOKEN})" in tools.troubles[0]


async def test_opening_and_closing_starts_nothing(tmp_path: Path) -> None:
    async with Toolbox(mcp={"small": small(f"log={tmp_path / 'starts'}")}):
        pass
    assert not (tmp_path / "starts").exists()


async def test_after_closing_nothing_is_connected_any_more() -> None:
    tools = Toolbox(mcp={"small": small()})
    await tools.close()
    assert (await tools.call("small.echo", {"text": "x"})).error == "The tools are closed."
    await tools.close()


@linux
@pytest.mark.parametrize("way", ["", "stubborn"])
async def test_closing_ends_every_process_of_a_server(way: str) -> None:
    async with Toolbox(mcp={"small": small(way)}) as tools:
        pids = await pids_of(tools)
        assert all(is_alive(pid) for pid in pids)
    assert not any(is_alive(pid) for pid in pids)


@linux
async def test_a_cancel_passes_through_and_leaves_no_process() -> None:
    pids: list[int] = []
    calling = asyncio.Event()

    async def work() -> None:
        async with Toolbox(mcp={"small": small("stubborn")}) as tools:
            pids.extend(await pids_of(tools))
            calling.set()
            await tools.call("small.hang", {})

    task = asyncio.create_task(work())
    await calling.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(pids) == 2
    assert not any(is_alive(pid) for pid in pids)


@linux
def test_two_cancels_and_the_end_of_the_loop_leave_no_process() -> None:
    """The most hurried end there is: cancelled, cancelled again while it cleans up, and the loop closes."""

    async def work() -> list[int]:
        tools = Toolbox(mcp={"small": small("stubborn")})
        pids = await pids_of(tools)

        async def hold() -> None:
            async with tools:
                await tools.call("small.hang", {})

        task = asyncio.create_task(hold())
        for _ in range(2):
            await asyncio.sleep(0.05)
            task.cancel()
        await asyncio.wait({task})
        return pids

    pids = asyncio.run(work())
    assert len(pids) == 2
    assert not any(is_alive(pid) for pid in pids)


@linux
async def test_a_cancel_while_connecting_leaves_no_process(tmp_path: Path) -> None:
    log = tmp_path / "starts"

    async def work() -> None:
        async with Toolbox(mcp={"small": small("mute", "stubborn", f"log={log}")}) as tools:
            await tools.specs()

    task = asyncio.create_task(work())
    await until(lambda: log.exists() and log.read_text().endswith("\n"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(int(log.read_text()))


@linux
async def test_kill_9_of_our_process_leaves_none_of_the_servers() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, PROGRAMS / "hold_toolbox.py", SMALL, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    pids = [int(pid) for pid in (await process.stdout.readline()).split()]
    assert len(pids) == 2
    assert all(is_alive(pid) for pid in pids)
    process.kill()
    await process.wait()
    await all_gone(pids)


async def test_the_filesystem_server_reads_inside_its_folder_only(tmp_path: Path) -> None:
    program = npm_server("mcp-server-filesystem")
    (tmp_path / "note.txt").write_text("a quiet harbour")
    async with Toolbox(mcp={"files": McpServer(command=str(program), args=[str(tmp_path)])}) as tools:
        assert "files.read_text_file" in [spec.name for spec in await tools.specs()]
        read = await tools.call("files.read_text_file", {"path": str(tmp_path / "note.txt")})
        assert body(read.text) == "a quiet harbour"
        outside = await tools.call("files.read_text_file", {"path": "/etc/passwd"})
        assert body(outside.error).startswith("files.read_text_file failed: Access denied")


async def test_the_everything_server_gives_all_kinds_of_content() -> None:
    program = npm_server("mcp-server-everything")
    async with Toolbox(mcp={"all": McpServer(command=str(program))}) as tools:
        specs = {spec.name: spec for spec in await tools.specs()}
        assert specs["all.echo"].parameters["required"] == ["message"]
        assert body((await tools.call("all.echo", {"message": "hi"})).text) == "Echo: hi"
        assert "[image/png, " in (await tools.call("all.get-tiny-image", {})).text
        weather = await tools.call("all.get-structured-content", {"location": "New York"})
        assert "temperature" in weather.text
        assert "Invalid arguments" in (await tools.call("all.echo", {})).error
