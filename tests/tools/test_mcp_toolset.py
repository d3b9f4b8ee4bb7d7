"""`podium.mcp()`: tools of real server processes in an agent's conversation."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.errors import UsageError
from podium.models.messages import ToolCall
from podium.models.model import Call
from podium.settings import McpServer, Settings
from podium.tools.toolsets import provider_names
from tests.scripted_models import tool_results as results
from tests.tools.conftest import PROGRAMS, all_gone, npm_server, small

RESOLVING = McpServer(command=sys.executable, args=[str(PROGRAMS / "resolving_server.py")])


class Script:
    """A model with one entry per turn of the agent; the task `sample` gets a reply of its own."""

    def __init__(self, *turns: Any) -> None:
        self.turns = turns
        self.calls: list[Call] = []
        self.sampled: list[Call] = []

    async def __call__(self, call: Call) -> Any:
        if call.task == "sample":
            self.sampled.append(call)
            return "in short: nothing"
        self.calls.append(call)
        turn = self.turns[min(len(self.calls), len(self.turns)) - 1]
        return turn(call) if callable(turn) else turn


def inside(text: str) -> str:
    """What stands in the fences."""
    lines = text.splitlines()
    return "\n".join(line for line in lines if "UNTRUSTED" not in line and not line.startswith("(Material"))


def acting(*tools: Any) -> podium.Workflow:
    agent = podium.Agent("Ida", tools=tools)

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(agent, "plan", prompt=request)

    return flow


def asking(*ways: str) -> McpServer:
    return McpServer(command=sys.executable, args=[str(PROGRAMS / "asking_server.py"), *ways])


def with_servers(**servers: McpServer) -> Settings:
    return Settings(mcp=servers)


async def paths(store: Store, run_id: str, event_type: str = "step.completed") -> list[str]:
    return [row.path for row in await store.read(run_id) if row.type == event_type]


def test_names_are_valid_and_different() -> None:
    names = provider_names(["a.odd name!", "a.odd_name_", f"a.{'x' * 80}", f"a.{'x' * 81}", "a.fine-1"])
    assert names["a.odd name!"] == "a__odd_name_"
    assert names["a.fine-1"] == "a__fine-1"
    assert len(set(names.values())) == 5
    assert all(
        len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum() for name in names.values()
    )
    assert names == provider_names(names), "the same in each process"


async def test_an_agent_calls_the_tools_of_a_server(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    settings = with_servers(desk=asking(f"log={log}"))
    model = Script([ToolCall("desk__delete", {"what": "a"}), ToolCall("desk__delete", {"what": 1})], results)
    flow = acting(podium.mcp("desk"))
    result = await podium.run(flow, "go", model=model, store=store, settings=settings)
    first, second = result.output.split(" | ")
    assert first.startswith("BEGIN UNTRUSTED")
    assert inside(first) == "deleted a"
    assert "what: 1 is not of type 'string'" in second
    names = [tool.name for tool in model.calls[0].tools]
    assert names == ["desk__book", "desk__summarise", "desk__draw", "desk__delete"]
    assert await paths(store, result.run_id) == [
        "plan/tools[desk]",
        "plan",
        "plan/tool[1.1]",
        "plan/tool[1.0]/call",
        "plan/tool[1.0]/result",
        "plan/turn#2",
    ]
    await all_gone([int(log.read_text().split()[1])])
    again = await podium.replay(result.run_id, workflow=flow, store=store, settings=with_servers())
    assert again.output == result.output
    assert log.read_text().count("start") == 1


async def test_a_changed_list_makes_the_turns_stale_when_the_ask_runs_anew(store: Store) -> None:
    settings = with_servers(desk=asking())
    flow = acting(podium.mcp("desk"))
    finished = await podium.run(flow, "go", model=Script("fine"), store=store, settings=settings)
    forked = await podium.fork(
        finished.run_id,
        at="plan/tools[desk]",
        workflow=flow,
        store=store,
        settings=with_servers(desk=asking("extra")),
        model=Script("other"),
    )
    result = await forked.result()
    assert result.output == "other"


async def test_a_server_asks_a_person_and_the_answer_fits_its_schema(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    settings = with_servers(desk=asking(f"log={log}"))
    flow, model = acting(podium.mcp("desk")), Script(ToolCall("desk__book", {"city": "Rome"}), results)
    waiting = await podium.run(flow, "go", model=model, store=store, settings=settings)
    assert waiting.status == "waiting"
    [(path, question)] = waiting.questions.items()
    assert path == "plan/tool[1.0]/question"
    assert question.question == "The MCP server desk asks: How many seats to Rome?"
    await all_gone([int(log.read_text().split()[1])])
    with pytest.raises(UsageError):
        await podium.answer(waiting.run_id, {"accept": {"seats": 0}}, store=store)
    await podium.answer(waiting.run_id, {"accept": {"seats": 2}}, store=store)
    handle = await podium.resume(waiting.run_id, workflow=flow, model=model, store=store, settings=settings)
    result = await handle.result()
    assert inside(result.output) == '{"action": "accept", "content": {"seats": 2}}'
    assert log.read_text().count("call book") == 2, "the server was gone, so the call began anew"
    assert await paths(store, result.run_id, "run.waiting") == ["plan/tool[1.0]/question"]
    assert (await podium.replay(result.run_id, workflow=flow, store=store)).output == result.output


async def test_an_answer_that_comes_while_the_run_is_driven_continues_the_call(
    store: Store, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    settings = with_servers(desk=asking(f"log={log}"))
    agent = podium.Agent("Ida", tools=[podium.mcp("desk")])
    answered = asyncio.Event()

    async def busy() -> str:
        await answered.wait()
        return "done"

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        both = await run.gather(
            {"ask": run.ask(agent, "plan", prompt=request), "other": run.step("busy", busy)}
        )
        return str(both["ask"].unwrap())

    model = Script(ToolCall("desk__book", {"city": "Rome"}), results)
    handle = await podium.start(flow, "go", model=model, store=store, settings=settings)
    async for event in handle.events():
        if event.type == "run.waiting":
            await podium.answer(handle.run_id, "decline", store=store)
        elif event.type == "run.answered":
            answered.set()
    result = await handle.result()
    assert inside(result.output) == '{"action": "decline"}'
    assert log.read_text().count("call book") == 1


async def test_several_calls_may_ask_at_once(store: Store) -> None:
    settings = with_servers(desk=asking())
    calls = [ToolCall("desk__book", {"city": city}) for city in ("Rome", "Oslo")]
    flow, model = acting(podium.mcp("desk")), Script(calls, results)
    waiting = await podium.run(flow, "go", model=model, store=store, settings=settings)
    assert sorted(waiting.questions) == ["plan/tool[1.0]/question", "plan/tool[1.1]/question"]
    for path, question in waiting.questions.items():
        seats = 1 if "Rome" in question.question else 2
        await podium.answer(waiting.run_id, {"accept": {"seats": seats}}, question=path, store=store)
    handle = await podium.resume(waiting.run_id, workflow=flow, model=model, store=store, settings=settings)
    rome, oslo = (await handle.result()).output.split(" | ")
    assert '"seats": 1' in rome
    assert '"seats": 2' in oslo


async def test_a_cancel_during_a_call_leaves_no_process(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    settings = with_servers(small=small("stubborn", f"log={log}"))
    model = Script(ToolCall("small__hang", {}), results)
    flow = acting(podium.mcp("small"))
    handle = await podium.start(flow, "go", model=model, store=store, settings=settings)
    async for event in handle.events():
        if event.path == "plan/tool[1.0]/call":
            await podium.cancel(handle.run_id, store=store)
    assert (await handle.result()).status == "cancelled"
    await all_gone([int(log.read_text())])


async def test_a_server_samples_the_model_of_the_agent(store: Store) -> None:
    settings = with_servers(desk=asking())
    model = Script(ToolCall("desk__summarise", {"words": "{{ much }}"}), results)
    result = await podium.run(acting(podium.mcp("desk")), "go", model=model, store=store, settings=settings)
    assert inside(result.output) == "in short: nothing"
    [sampled] = model.sampled
    assert sampled.prompt == "Summarise: {{ much }}"
    assert sampled.system.endswith("You are brief.")
    assert sampled.max_tokens == 50
    assert "plan/tool[1.0]/sample" in await paths(store, result.run_id)


async def test_sampling_is_paid_from_the_budget_of_the_run(store: Store) -> None:
    settings = with_servers(desk=asking())
    model = Script(ToolCall("desk__summarise", {"words": "much"}), results)
    result = await podium.run(
        acting(podium.mcp("desk")),
        "go",
        model=model,
        store=store,
        settings=settings,
        budget=podium.Budget(calls=1),
    )
    assert (result.status, result.stop_reason) == ("partial", "budget")
    assert model.sampled == []


async def test_the_newest_protocol_asks_by_returning(store: Store) -> None:
    settings = with_servers(desk=RESOLVING)
    flow, model = acting(podium.mcp("desk")), Script(ToolCall("desk__book", {"city": "Rome"}), results)
    waiting = await podium.run(flow, "go", model=model, store=store, settings=settings)
    assert waiting.questions["plan/tool[1.0]/question"].question.endswith("How many seats to Rome?")
    await podium.answer(waiting.run_id, {"accept": {"seats": 3}}, store=store)
    handle = await podium.resume(waiting.run_id, workflow=flow, model=model, store=store, settings=settings)
    assert inside((await handle.result()).output) == "3 seats to Rome"


async def test_images_stay_images(store: Store) -> None:
    model = Script(ToolCall("desk__draw", {}), results)
    settings = with_servers(desk=asking())
    await podium.run(acting(podium.mcp("desk")), "go", model=model, store=store, settings=settings)
    message = model.calls[1].messages[-1]
    assert "a dot" in message.text
    assert [part.media_type for part in message.files] == ["image/png"]
    assert model.calls[1].files[message.files[0].blob].startswith(b"\x89PNG")


async def test_destructive_tools_need_approval_if_the_user_wants_it(store: Store) -> None:
    calls = [ToolCall("desk__draw", {}), ToolCall("desk__delete", {"what": "all"})]
    settings = with_servers(desk=asking())
    flow, model = acting(podium.mcp("desk", approve=True)), Script(calls, results)
    waiting = await podium.run(flow, "go", model=model, store=store, settings=settings)
    assert list(waiting.questions) == ["plan/question[approve 1.1]"]
    await podium.answer(waiting.run_id, {"approve": {"what": "little"}}, store=store)
    handle = await podium.resume(waiting.run_id, workflow=flow, model=model, store=store, settings=settings)
    assert "deleted little" in (await handle.result()).output


async def test_a_server_that_cannot_be_used_fails_the_ask_unless_it_is_optional(store: Store) -> None:
    settings = with_servers(gone=McpServer(command="no-such-program-here"))
    failed = await podium.run(
        acting(podium.mcp("gone")), "go", model=Script("x"), store=store, settings=settings
    )
    assert failed.status == "failed"
    assert "its command no-such-program-here is not installed" in str(failed.error)
    other = acting(podium.mcp("gone", optional=True))
    result = await podium.run(other, "go", model=Script("alone"), store=store, settings=settings)
    assert result.output == "alone"
    assert "not installed" in result.warnings[0]
    unknown = await podium.run(
        acting(podium.mcp("gon")), "go", model=Script("x"), store=store, settings=settings
    )
    assert "has no MCP server 'gon'. Did you mean 'gone'?" in str(unknown.error).replace("have", "has")


async def test_failures_are_results_and_a_crashed_server_is_started_again(store: Store) -> None:
    turns = [
        ToolCall("small__crash", {}),
        [ToolCall("small__refuse", {}), ToolCall("small__echo", {"text": "hi"})],
        results,
    ]
    settings = with_servers(small=small())
    result = await podium.run(
        acting(podium.mcp("small")), "go", model=Script(*turns), store=store, settings=settings
    )
    crashed, refused, echoed = map(inside, result.output.split(" | "))
    assert crashed == "The MCP server small ended during the call. Its last output: the roof fell in"
    assert refused == "ValueError: not today"
    assert echoed == "hi"


async def test_a_tool_that_takes_too_long_is_a_result(store: Store) -> None:
    settings = with_servers(small=small(timeout=2))
    model = Script([ToolCall("small__hang", {}), ToolCall("small__echo", {"text": "hi"})], results)
    result = await podium.run(acting(podium.mcp("small")), "go", model=model, store=store, settings=settings)
    assert [inside(text) for text in result.output.split(" | ")] == ["small.hang took longer than 2 s.", "hi"]


async def test_a_rehearsal_calls_no_tool_that_may_change_something(store: Store) -> None:
    settings = with_servers(desk=asking())
    result = await podium.run(
        acting(podium.mcp("desk")), "go", model="rehearsal", store=store, settings=settings
    )
    assert result.status == "completed"


async def test_the_everything_server_elicits_and_samples(store: Store) -> None:
    settings = with_servers(all=McpServer(command=str(npm_server("mcp-server-everything"))))
    flow = acting(podium.mcp("all"))
    listed = Script("fine")
    await podium.run(flow, "go", model=listed, store=store, settings=settings)
    names = [tool.name for tool in listed.calls[0].tools]
    sampling = next(name for name in names if "sampling" in name and "async" not in name)
    model = Script(ToolCall(sampling, {"prompt": "a poem", "maxTokens": 20}), results)
    result = await podium.run(flow, "go", model=model, store=store, settings=settings)
    assert "in short: nothing" in result.output
    assert len(model.sampled) == 1
    eliciting = next(name for name in names if "elicitation" in name and "async" not in name)
    model = Script(ToolCall(eliciting, {}), results)
    waiting = await podium.run(flow, "go", model=model, store=store, settings=settings)
    assert waiting.status == "waiting"
    await podium.answer(waiting.run_id, "decline", store=store)
    handle = await podium.resume(waiting.run_id, workflow=flow, model=model, store=store, settings=settings)
    assert "declined" in (await handle.result()).output
