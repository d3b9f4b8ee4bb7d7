"""`podium.web()`, `podium.files()` and `Toolbox` as tools of an agent, in real runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.models.messages import ToolCall
from podium.models.model import Call
from podium.settings import Settings
from podium.tools.fetch import Fetcher
from podium.tools.folder import Folder
from podium.tools.tool import ToolError
from podium.tools.toolbox import Toolbox
from tests.scripted_models import Script
from tests.scripted_models import tool_results as results
from tests.tools.conftest import small
from tests.tools.site import Answer, serving


def acting(*tools: Any) -> podium.Workflow:
    agent = podium.Agent("Ida", tools=tools)

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(agent, "plan", prompt=request)

    return flow


def names(call: Call) -> list[str]:
    return [tool.name for tool in call.tools]


async def test_an_agent_reads_the_web(store: Store) -> None:
    async with serving(a=Answer(b"calm water", "text/plain")) as site:
        flow = acting(podium.web(fetcher=Fetcher(lambda address, port: "")))
        model = Script([ToolCall("fetch_url", {"url": f"{site.url}/a"}), ToolCall("fetch_url", {})], results)
        result = await podium.run(flow, "go", model=model, store=store)
    page, wrong = result.output.split(" | ")
    assert page.startswith("BEGIN UNTRUSTED")
    assert "calm water" in page
    assert "'url' is a required property" in wrong
    assert names(model.calls[0]) == ["search_web", "fetch_url"]


async def test_addresses_of_this_machine_are_refused(store: Store) -> None:
    async with serving(a=Answer(b"secret")) as site:
        model = Script(ToolCall("fetch_url", {"url": f"{site.url}/a"}), results)
        result = await podium.run(acting(podium.web()), "go", model=model, store=store)
        assert site.asked == []
    assert "is not a public address" in result.output


async def test_an_agent_reads_a_folder(store: Store, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("the harbour is quiet")
    (tmp_path / "outside.md").write_text("loud")
    calls = [
        ToolCall("list_files", {}),
        ToolCall("read_file", {"path": "a.md", "offset": 4, "limit": 7}),
        ToolCall("search_files", {"text": "quiet"}),
        ToolCall("read_file", {"path": "../outside.md"}),
        ToolCall("write_file", {"path": "b.md", "text": "x"}),
    ]
    model = Script(calls, results)
    result = await podium.run(acting(podium.files(notes)), "go", model=model, store=store)
    listed, read, searched, outside, written = result.output.split(" | ")
    assert "a.md (20 bytes)" in listed
    assert "\nharbour\n" in read
    assert "a.md:1: the harbour is quiet" in searched
    assert "leads out of the folder" in outside
    assert "There is no tool 'write_file'" in written
    assert names(model.calls[0]) == ["list_files", "read_file", "search_files"]


async def test_an_agent_writes_a_folder_if_it_may(store: Store, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    calls = [ToolCall("write_file", {"path": "new/b.md", "text": "hello"})]
    flow, model = acting(podium.files(notes, write=True)), Script(calls, results)
    result = await podium.run(flow, "go", model=model, store=store)
    assert "Created new/b.md (5 bytes)." in result.output
    assert (notes / "new" / "b.md").read_text() == "hello"
    (notes / "new" / "b.md").unlink()
    assert (await podium.replay(result.run_id, workflow=flow, store=store)).output == result.output
    assert not (notes / "new" / "b.md").exists()


async def test_a_folder_that_is_missing_is_reported_at_once(store: Store, tmp_path: Path) -> None:
    result = await podium.run(acting(podium.files(tmp_path / "none")), "go", model=Script("x"), store=store)
    assert result.status == "failed"
    assert "There is no folder" in str(result.error)


def test_writing_stays_inside_and_replaces_whole_files(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / "file").symlink_to(outside / "target")
    folder = Folder(inside)
    for path in ("link/a", "file", "../outside/a", "/etc/a", ".hidden", "a.pem", ""):
        with pytest.raises(ToolError):
            folder.write(path, b"x")
    assert list(outside.iterdir()) == []
    assert folder.write("deep/er/a.txt", b"one")
    os.chmod(inside / "deep/er/a.txt", 0o640)
    assert not folder.write("deep/er/a.txt", b"two")
    assert (inside / "deep/er/a.txt").read_bytes() == b"two"
    assert (inside / "deep/er/a.txt").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in (inside / "deep/er").iterdir()] == ["a.txt"]
    with pytest.raises(ToolError, match="folder"):
        folder.write("deep", b"x")


async def test_two_sets_with_the_same_tool_are_refused(store: Store, tmp_path: Path) -> None:
    flow = acting(podium.files(tmp_path), podium.files(tmp_path))
    result = await podium.run(flow, "go", model=Script("x"), store=store)
    assert "list_files occurs twice" in str(result.error)


async def test_a_toolbox_is_a_set_whose_list_is_recorded(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "a.md").write_text("the harbour is quiet")

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        async with Toolbox(mcp={"small": small(f"log={log}")}, folder=tmp_path) as tools:
            agent = podium.Agent("Ida", tools=[tools])
            return await run.ask(agent, "plan", prompt=request)

    calls = [ToolCall("small__echo", {"text": "hi"}), ToolCall("read_file", {"path": "a.md"})]
    model = Script(calls, results)
    result = await podium.run(flow, "go", model=model, store=store)
    assert "\nhi\n" in result.output
    assert "the harbour is quiet" in result.output
    assert names(model.calls[0])[-1].startswith("small__odd_name_")
    again = await podium.replay(result.run_id, workflow=flow, store=store)
    assert again.output == result.output
    assert len(log.read_text().split()) == 1


async def test_what_is_no_tool_is_refused_with_a_hint(store: Store) -> None:
    result = await podium.run(
        acting(podium.Agent("Nora")), "go", model=Script("x"), store=store, settings=Settings()
    )
    assert "is not a tool" in str(result.error)
    assert "as_tool" in result.hint
