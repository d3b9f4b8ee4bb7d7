"""The toolbox in a run: results are plain data, and what is finished is never done again."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import podium
from podium.settings import Settings
from podium.tools.fetch import Fetcher
from podium.tools.tool import MAX_TEXT, ToolResult, ToolSpec, bounded, failed, succeeded
from podium.tools.toolbox import Toolbox
from tests.tools.conftest import all_gone, small
from tests.tools.site import Answer, serving

NOTHING: dict[str, Any] = {}


def test_long_texts_are_cut_with_a_mark() -> None:
    assert bounded("x" * MAX_TEXT) == "x" * MAX_TEXT
    assert len(bounded("x" * (MAX_TEXT + 1))) == MAX_TEXT
    assert bounded("x" * 30_000).endswith("[cut: 30,000 characters in all]")
    assert failed("one\n  line\n") == ToolResult(ok=False, error="one line")
    assert succeeded("fine") == ToolResult(ok=True, text="fine")


async def test_an_empty_toolbox_has_nothing() -> None:
    async with Toolbox() as tools:
        assert await tools.specs() == []
        assert (await tools.call("anything", {})).error == "There is no tool 'anything'."


async def test_web_and_folder_stand_side_by_side(tmp_path: Path) -> None:
    async with serving(a=Answer(b"words", "text/plain")) as site:
        fetcher = Fetcher(lambda address, port: "")
        async with Toolbox(web=True, folder=tmp_path, fetcher=fetcher) as tools:
            assert sorted(spec.name for spec in await tools.specs()) == [
                "fetch_url",
                "list_files",
                "read_file",
                "search_files",
                "search_web",
            ]
            assert "words" in (await tools.call("fetch_url", {"url": f"{site.url}/a"})).text
            assert (await tools.call("fetch_ur", {})).error.endswith("Did you mean 'fetch_url'?")


async def test_by_default_the_web_does_not_reach_this_machine() -> None:
    async with serving(a=Answer(b"words")) as site, Toolbox(web=True) as tools:
        assert "is not a public address" in (await tools.call("fetch_url", {"url": f"{site.url}/a"})).error
        assert site.asked == []


async def test_every_schema_is_plain_json() -> None:
    async with Toolbox(web=True, folder=Path(), mcp={"small": small()}) as tools:
        for spec in await tools.specs():
            assert json.loads(json.dumps(spec.parameters))["type"] == "object"
            assert "$ref" not in json.dumps(spec.parameters)


async def test_a_run_records_its_calls_and_a_replay_starts_no_server(tmp_path: Path) -> None:
    log = tmp_path / "starts"

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> dict[str, Any]:
        async with Toolbox(mcp={"small": small(f"log={log}")}) as tools:
            specs = await run.step("tools", tools.specs)
            result = await run.step("tool", tools.call, "small.echo", {"text": request})
            missing = await run.step("tool", tools.call, "small.nothing", NOTHING)
            assert isinstance(specs[0], ToolSpec)
            return {"tool": specs[0].name, "text": result.text, "error": missing.error}

    settings = Settings(store=str(tmp_path / "store.sqlite"))
    finished = await podium.run(flow, "hello", model="rehearsal", settings=settings)
    assert finished.status == "completed"
    assert finished.output["tool"] == "small.echo"
    assert "\nhello\n" in finished.output["text"]
    assert finished.output["error"].startswith("There is no tool 'small.nothing'.")
    assert len(log.read_text().split()) == 1
    again = await podium.replay(finished.run_id, workflow=flow, settings=settings)
    assert again.output == finished.output
    assert len(log.read_text().split()) == 1


async def test_a_secret_of_a_server_does_not_reach_the_log(tmp_path: Path) -> None:
    server = small(env={"SERVICE_TOKEN": "a-literal-token-in-the-file"})
    settings = Settings(store=str(tmp_path / "store.sqlite"), mcp={"small": server})

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        async with Toolbox(mcp=settings.mcp) as tools:
            return (await run.step("tool", tools.call, "small.environment", NOTHING)).text

    result = await podium.run(flow, "x", model="rehearsal", settings=settings)
    assert "SERVICE_TOKEN" in result.output
    assert "a-literal-token-in-the-file" not in result.output


async def test_a_cancelled_run_leaves_no_process_behind(tmp_path: Path) -> None:
    log, started = tmp_path / "starts", asyncio.Event()

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        async with Toolbox(mcp={"small": small("stubborn", f"log={log}")}) as tools:
            await run.step("tools", tools.specs)
            started.set()
            return (await run.step("tool", tools.call, "small.hang", NOTHING)).text

    settings = Settings(store=str(tmp_path / "store.sqlite"))
    handle = await podium.start(flow, "x", model="rehearsal", settings=settings)
    await started.wait()
    await podium.cancel(handle.run_id, settings=settings)
    assert (await handle.result()).status == "cancelled"
    await all_gone([int(log.read_text())])


def test_a_toolbox_loads_nothing_heavy_until_it_is_used() -> None:
    code = (
        "import sys, pathlib\n"
        "from podium.settings import McpServer\n"
        "from podium.tools.toolbox import Toolbox\n"
        "Toolbox(web=True, folder=pathlib.Path(), mcp={'a': McpServer(command='x')})\n"
        "print(sorted({'mcp', 'pydantic', 'httpx2', 'httpcore2', 'ddgs', 'anyio'} & set(sys.modules)))"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert completed.stdout == "[]\n", completed.stderr


async def test_a_missing_extra_is_reported_by_its_name(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "for name in ('mcp', 'httpcore2', 'ddgs', 'trafilatura'): sys.modules[name] = None\n"
        "from podium.settings import McpServer\n"
        "from podium.tools.toolbox import Toolbox\n"
        "async def main():\n"
        "    tools = Toolbox(web=True, mcp={'a': McpServer(command='x')})\n"
        "    print(await tools.specs(), *sorted(tools.troubles), sep='\\n')\n"
        "    print((await tools.call('fetch_url', {})).error)\n"
        "asyncio.run(main())"
    )
    completed = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert completed.stdout.splitlines() == [
        "[]",
        "MCP servers need an extra that is not installed: pip install 'podium[mcp]'.",
        "The tools for the web need an extra that is not installed: pip install 'podium[web]'.",
        "The tools for the web need an extra that is not installed: pip install 'podium[web]'.",
    ], completed.stderr
