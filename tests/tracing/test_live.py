"""Runs that are traced while they go: what a collector sees of them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import podium
from podium.engine.log import Store
from podium.settings import OtelOptions, OwnPrice, ProviderOptions, Settings
from podium.tracing.export import collector_at
from podium.tracing.span import trace_id_of
from tests.models.wire.answers import Refuse, Say
from tests.models.wire.server import Wire, serving
from tests.tracing.receiver import Receiver

WRITER = podium.Agent("writer", "author", "Be brief.", max_tokens=100)
KEY = "planted-key-0123456789"


def settings(collector: Receiver, **more: Any) -> Settings:
    content = more.pop("content", False)
    return Settings(otel=OtelOptions(endpoint=collector.url, content=content), retry_wait=0.001, **more)


async def run(flow: podium.Workflow, store: Store, given: Settings, **more: Any) -> podium.RunResult:
    """Run it and wait until its spans have left."""
    result = await podium.run(flow, "the sea", store=store, settings=given, **more)
    assert isinstance(given.otel, OtelOptions)
    assert await asyncio.to_thread(collector_at(f"{given.otel.endpoint}/v1/traces").settle, 30.0)
    return result


async def answer(call: podium.Call) -> str:
    return f"a secret reply to {call.task}"


@podium.workflow
async def sides(run: podium.Run, request: str) -> str:
    await run.step("count", len, request)
    await run.gather({side: run.ask(WRITER, "draft", prompt=f"Draft a {side}") for side in ("left", "right")})
    return "done"


async def test_run_branches_steps_and_calls_are_spans_of_one_trace(store: Store, collector: Receiver) -> None:
    result = await run(sides, store, settings(collector), model=answer)
    root = collector.one("invoke_workflow sides")
    assert {span.trace_id for span in collector.spans} == {trace_id_of(result.run_id)}
    assert (root.parent_id, root.failed) == ("", False)
    assert root.attributes["gen_ai.operation.name"] == "invoke_workflow"
    assert root.attributes["podium.run.status"] == "completed"
    assert collector.below(root) == ["branch left", "branch right", "step count"]
    left = collector.one("branch left")
    assert collector.below(left) == ["invoke_agent writer"]
    agent_span = next(span for span in collector.all("invoke_agent writer") if span.parent_id == left.span_id)
    assert agent_span.attributes["gen_ai.agent.name"] == "writer"
    assert agent_span.attributes["podium.path"] == "left/draft"
    assert collector.below(agent_span) == ["chat answer"]
    call = next(span for span in collector.all("chat answer") if span.parent_id == agent_span.span_id)
    assert (
        root.start_ns
        <= agent_span.start_ns
        <= call.start_ns
        <= call.end_ns
        <= agent_span.end_ns
        <= root.end_ns
    )
    assert collector.services == {"podium"}


async def test_content_stays_at_home_unless_it_is_asked_for(store: Store, collector: Receiver) -> None:
    await run(sides, store, settings(collector), model=answer)
    shown = b"".join(collector.bodies)
    assert not any(word in shown for word in (b"secret reply", b"Draft a", b"Be brief", b"the sea"))


async def test_content_is_reported_as_the_conventions_write_it(store: Store, collector: Receiver) -> None:
    await run(sides, store, settings(collector, content=True), model=answer)
    call = collector.all("chat answer")[0].attributes
    assert call["gen_ai.system_instructions"] == (
        '[{"type":"text","content":"You are writer. Your role: author.\\n\\nBe brief."}]'
    )
    assert '"role":"user","parts":[{"type":"text","content":"Draft a ' in call["gen_ai.input.messages"]
    assert '"content":"a secret reply to draft"' in call["gen_ai.output.messages"]
    attributes = collector.all("invoke_agent writer")[0].attributes
    assert attributes["gen_ai.output.messages"] == call["gen_ai.output.messages"]
    root = collector.one("invoke_workflow sides").attributes
    assert '"content":"the sea"' in root["gen_ai.input.messages"]


async def test_long_content_is_fetched_from_beside_the_log(store: Store, collector: Receiver) -> None:
    @podium.workflow
    async def long(run: podium.Run, request: str) -> str:
        return await run.ask(WRITER, "draft", prompt="word " * 20_000)

    async def at_length(call: podium.Call) -> str:
        return "reply " * 20_000

    await run(long, store, settings(collector, content=True), model=at_length)
    attributes = collector.one("invoke_agent writer").attributes
    assert attributes["gen_ai.input.messages"].count("word ") == 20_000
    assert attributes["gen_ai.output.messages"].count("reply ") == 20_000


async def test_keys_are_cut_out_of_content(store: Store, collector: Receiver, monkeypatch: Any) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)

    @podium.workflow
    async def leaky(run: podium.Run, request: str) -> str:
        return await run.ask(WRITER, "draft", prompt=f"Use {KEY} and sk-abcdefghijklmnopqrstuvwx")

    async def echo(call: podium.Call) -> str:
        return f"{call.prompt} {KEY}"

    await run(leaky, store, settings(collector, content=True), model=echo)
    shown = b"".join(collector.bodies)
    assert b"[redacted]" in shown
    assert KEY.encode() not in shown
    assert b"sk-abcdefgh" not in shown


def hosted(collector: Receiver, wire: Wire, **more: Any) -> Settings:
    return settings(
        collector,
        providers={"openai-chat": ProviderOptions(base_url=f"{wire.url}/v1")},
        prices={"openai-chat:gpt-4o": OwnPrice(input=10.0, output=40.0)},
        **more,
    )


@podium.workflow
async def one_ask(run: podium.Run, request: str) -> str:
    return await run.ask(WRITER, "draft", prompt="Draft")


async def test_every_attempt_is_a_call_of_its_own(
    store: Store, collector: Receiver, monkeypatch: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "some-key-of-a-test")
    async with serving(Refuse(503, "Too busy."), Say("Fine.")) as wire:
        await run(one_ask, store, hosted(collector, wire), model="openai-chat:gpt-4o")
    first, second = collector.all("chat gpt-4o")
    assert (first.failed, first.attributes["error.type"], first.description) == (True, "503", "")
    assert (second.failed, second.attributes["podium.try"]) == (False, 2)
    assert second.attributes["gen_ai.provider.name"] == "openai"
    assert second.attributes["gen_ai.request.model"] == "gpt-4o"
    assert second.attributes["gen_ai.usage.input_tokens"] == 12
    assert second.attributes["gen_ai.usage.output_tokens"] == 5
    assert second.attributes["gen_ai.response.finish_reasons"] == ["stop"]
    assert second.attributes["podium.cost.usd"] == (12 * 10 + 5 * 40) / 1e6
    assert second.kind == 3, "a client's span"
    span = collector.one("invoke_agent writer")
    assert (span.failed, span.attributes["gen_ai.usage.input_tokens"]) == (False, 12)


def explode() -> str:
    raise ValueError("the secret reply was bad")


async def test_a_failure_is_an_error_without_its_words(store: Store, collector: Receiver) -> None:
    @podium.workflow
    async def failing(run: podium.Run, request: str) -> str:
        return await run.step("explode", explode, retry=podium.Retry(2, first_wait_s=0.001))

    result = await run(failing, store, settings(collector))
    assert result.status == "failed"
    step, root = collector.one("step explode"), collector.one("invoke_workflow failing")
    assert (step.failed, step.attributes["error.type"], step.events) == (True, "ValueError", ["step.retried"])
    assert (root.failed, root.attributes["podium.run.status"]) == (True, "failed")
    assert b"secret reply" not in b"".join(collector.bodies)


async def test_a_cancelled_run_closes_what_was_under_way(store: Store, collector: Receiver) -> None:
    @podium.workflow
    async def dozing(run: podium.Run, request: str) -> str:
        await run.step("doze", asyncio.sleep, 600.0, returns=None)
        return "awake"

    given = settings(collector)
    handle = await podium.start(dozing, "x", store=store, settings=given)
    async for event in handle.events():
        if event.type == "step.started":
            break
    assert (await handle.cancel()).status == "cancelled"
    await asyncio.to_thread(collector_at(f"{collector.url}/v1/traces").settle, 30.0)
    assert collector.one("step doze").attributes["error.type"] == "cancelled"
    root = collector.one("invoke_workflow dozing")
    assert (root.failed, root.attributes["podium.run.status"]) == (False, "cancelled")


async def test_a_fork_shows_only_its_own_work_and_links_to_its_source(
    store: Store, collector: Receiver
) -> None:
    @podium.workflow
    async def two(run: podium.Run, request: str) -> str:
        await run.step("first", len, request)
        return await run.ask(WRITER, "second", prompt="Draft")

    first = await run(two, store, settings(collector), model=answer)
    source = collector.one("invoke_workflow two")
    collector.spans.clear()
    handle = await podium.fork(
        first.run_id, "second", workflow=two, store=store, settings=settings(collector), model=answer
    )
    await handle.result()
    await asyncio.to_thread(collector_at(f"{collector.url}/v1/traces").settle, 30.0)
    root = collector.one("invoke_workflow two")
    assert collector.below(root) == ["invoke_agent writer"]
    assert root.trace_id != source.trace_id
    assert root.links == [(source.trace_id, source.span_id)]


async def test_a_collector_that_hangs_delays_no_result(store: Store, collector: Receiver) -> None:
    collector.hang = threading.Event()
    result = await podium.run(sides, "x", store=store, settings=settings(collector), model=answer)
    assert result.status == "completed"
    assert collector.spans == [], "the result came first"
    collector.hang.set()
    collector.wait_for("invoke_workflow sides")
