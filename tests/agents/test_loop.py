"""Agents with tools in real runs: turns and calls as steps, caps, failures, approvals, time-outs, costs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

import podium
from podium.agents.conversation import ToolOutcome
from podium.agents.tools import tool
from podium.engine.log import Store
from podium.errors import StepTimeoutError, StopRun, UsageError
from podium.models.messages import ToolCall
from podium.models.model import FREE, Call, OnDelta, Price, Reply, Usage, worst_case
from tests.agents.scripted import Script, acting, results


class Grade(msgspec.Struct):
    score: int


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def steps(store: Store, run_id: str) -> list[str]:
    return [row.path for row in await store.read(run_id) if row.type == "step.completed"]


async def test_calls_of_a_turn_run_and_go_back_in_the_models_order(store: Store) -> None:
    model = Script(
        [ToolCall("add", {"a": 1, "b": 2}), ToolCall("add", {"a": 3, "b": 4})],
        ToolCall("add", {"a": 5, "b": 6}),
        results,
    )
    done = await podium.run(acting(add), "go", model=model, store=store)
    assert (done.status, done.output) == ("completed", "3 | 7 | 11")
    assert await steps(store, done.run_id) == [
        "plan",
        "plan/tool[1.0]",
        "plan/tool[1.1]",
        "plan/turn#2",
        "plan/tool[2.0]",
        "plan/turn#3",
    ]
    first, second, third = model.calls
    assert [tool.name for tool in first.tools] == ["add"]
    assert [message.role for message in second.messages] == ["user", "assistant", "tool", "tool"]
    assert [message.role for message in third.messages][-2:] == ["assistant", "tool"]
    assert done.usage.calls == 3
    assert (await podium.replay(done.run_id, workflow=acting(add), store=store)).output == done.output


async def test_the_log_grows_with_the_turns_not_with_their_square(store: Store) -> None:
    @tool
    async def read(page: int) -> str:
        """Read."""
        return "x" * 2000

    async def size(turns: int) -> int:
        model = Script(*[[ToolCall("read", {"page": n})] for n in range(turns)], "done")
        flow = acting(read, max_turns=turns + 1, max_tool_calls=turns)
        done = await podium.run(flow, "go", model=model, store=store)
        assert done.output == "done"
        return sum(len(row.data) for row in await store.read(done.run_id))

    assert await size(60) < 2.3 * await size(30)


async def test_bad_calls_go_back_to_the_model(store: Store) -> None:
    model = Script([ToolCall("add", {"a": "x"}), ToolCall("sub", {}), ToolCall("add", "{broken")], results)
    done = await podium.run(acting(add), "go", model=model, store=store)
    said = done.output.split(" | ")
    assert "`a` must be a valid integer" in said[0]
    assert "no tool 'sub'" in said[1]
    assert "not a JSON object" in said[2]
    assert done.usage.calls == 2


async def test_a_failing_tool_is_a_message_and_stop_run_ends_the_run(store: Store) -> None:
    @tool
    def divide(a: float, b: float) -> float:
        """Divide."""
        return a / b

    @tool
    def halt() -> None:
        """End."""
        raise StopRun("the account is closed")

    model = Script([ToolCall("divide", {"a": 1, "b": 0})], results)
    done = await podium.run(acting(divide), "go", model=model, store=store)
    assert done.output.startswith("divide failed: ZeroDivisionError")
    done = await podium.run(acting(halt), "go", model=Script([ToolCall("halt", {})]), store=store)
    assert (done.status, "the account is closed" in str(done.error)) == ("failed", True)


async def test_at_a_cap_the_agent_gets_one_last_turn_in_which_it_must_answer(store: Store) -> None:
    def endless(call: Call) -> Any:
        return "at last" if call.must_answer else [ToolCall("add", {"a": 1, "b": 1})]

    model = Script(endless)
    done = await podium.run(acting(add, max_turns=4), "go", model=model, store=store)
    assert (done.output, [call.must_answer for call in model.calls]) == (
        "at last",
        [False, False, False, True],
    )
    assert model.calls[-1].tools, "providers want the tools of a conversation with calls"

    many = [ToolCall("add", {"a": n, "b": 0}) for n in range(5)]
    done = await podium.run(acting(add, max_tool_calls=3), "go", model=Script(many, results), store=store)
    assert done.output.split(" | ")[:3] == ["0", "1", "2"]
    assert done.output.count("limit of tool calls is reached") == 2


async def test_calls_in_the_last_turn_are_refused_not_executed(store: Store) -> None:
    model = Script([ToolCall("add", {"a": 1, "b": 1})], [ToolCall("add", {"a": 2, "b": 2})], "fine")
    done = await podium.run(acting(add, max_turns=2), "go", model=model, store=store)
    assert done.output == "fine"
    assert "plan/tool[2.0]" not in await steps(store, done.run_id)
    assert "No more tools" in model.calls[-1].messages[-1].text


class Cut:
    """A model whose first reply, with a call, is cut off."""

    name = "python:cut"
    rehearsal = False
    price: Price = FREE

    def __init__(self) -> None:
        self.seen: list[Call] = []

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        self.seen.append(call)
        if len(self.seen) == 1:
            half = (ToolCall("add", {"a": 1}),)
            return Reply("", Usage(10, call.max_tokens), self.name, "length", tool_calls=half)
        if len(self.seen) == 2:
            return Reply("", Usage(10, 5), self.name, tool_calls=(ToolCall("add", {"a": 1, "b": 2}),))
        return Reply(results(call), Usage(10, 5), self.name)

    def worst_case(self, call: Call) -> podium.Charge:
        return worst_case(call, self.price)


async def test_no_call_of_a_reply_that_was_cut_off_is_executed(store: Store) -> None:
    model = Cut()
    done = await podium.run(acting(add), "go", model=model, store=store)
    assert done.output == "3"
    assert model.seen[1].max_tokens == 2 * model.seen[0].max_tokens


@pytest.mark.parametrize("finish", ["error", "content_filter"])
async def test_no_call_of_a_reply_that_did_not_end_properly_is_executed(store: Store, finish: str) -> None:
    class Broken(Cut):
        async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
            self.seen.append(call)
            if len(self.seen) > 1:
                return Reply("done", Usage(10, 5), self.name)
            wanted = (ToolCall("add", {"a": 1, "b": 2}),)
            return Reply("", Usage(10, 5), self.name, finish, tool_calls=wanted)

    done = await podium.run(acting(add), "go", model=Broken(), store=store)
    assert (done.status, done.output) == ("completed", "done")
    assert await steps(store, done.run_id) == ["plan"]


async def test_a_structured_answer_is_repaired_inside_its_turn(store: Store) -> None:
    model = Script([ToolCall("add", {"a": 1, "b": 2})], '{"score": "high"}', '{"score": 3}')
    done = await podium.run(acting(add, returns=Grade), "go", model=model, store=store)
    assert done.output == {"score": 3}
    assert await steps(store, done.run_id) == ["plan", "plan/tool[1.0]", "plan/turn#2"]
    assert "could not be used" in model.calls[-1].messages[-1].text
    assert model.calls[-1].prompt == "go"


async def test_a_long_result_is_cut_and_can_be_read_on(store: Store) -> None:
    @tool
    def dump() -> str:
        """Dump."""
        return "".join(f"{n:06d}\n" for n in range(10_000))

    def read_on(call: Call) -> Any:
        assert call.messages[-1].text.endswith('read_result(call="1.0", offset=20000)]')
        assert [tool.name for tool in call.tools] == ["dump", "read_result"]
        return [ToolCall("read_result", {"call": "1.0", "offset": 69_993})]

    def last(call: Call) -> str:
        return call.messages[-1].text

    model = Script([ToolCall("dump", {})], read_on, last)
    done = await podium.run(acting(dump), "go", model=model, store=store)
    assert done.output == "009999\n"


async def test_tools_run_side_by_side_within_their_own_limit(store: Store) -> None:
    at_once = most = 0

    @tool(max_parallel=2)
    async def slow(n: int) -> int:
        """Wait."""
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        at_once -= 1
        return n

    model = Script([ToolCall("slow", {"n": n}) for n in range(9)], results)
    done = await podium.run(acting(slow), "go", model=model, store=store)
    assert done.output == " | ".join(map(str, range(9)))
    assert most == 2


async def test_declared_costs_are_reserved_and_counted(store: Store) -> None:
    @tool(cost=podium.Charge(usd=0.02))
    def search(words: str) -> str:
        """Search."""
        return words

    model = Script(*[[ToolCall("search", {"words": "x"})]] * 9, "done")
    done = await podium.run(acting(search), "go", model=model, store=store, budget=podium.Budget(usd=0.05))
    assert done.status == "partial"
    assert done.usage.usd == pytest.approx(0.04)


async def test_the_time_out_of_an_ask_covers_all_turns_and_replays(store: Store) -> None:
    blocked = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        await blocked.wait()
        return ""

    agent = podium.Agent("Ida", tools=[add, wait])

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        try:
            return await run.ask(agent, "plan", prompt=request, timeout=0.3)
        except StepTimeoutError:
            return "too late"

    model = Script([ToolCall("add", {"a": 1, "b": 1})], [ToolCall("wait", {})])
    done = await podium.run(flow, "go", model=model, store=store)
    assert done.output == "too late"
    assert (await podium.replay(done.run_id, workflow=flow, store=store)).output == "too late"


@pytest.mark.parametrize(
    ("answer", "seen", "ran"),
    [
        ("approve", "paid 3", [3]),
        ({"approve": {"amount": 2}}, "paid 2", [2]),
        ("reject", "A person rejected this call.", []),
        ({"reject": "too dear"}, "A person rejected this call: too dear", []),
    ],
)
async def test_a_person_approves_edits_or_rejects(
    store: Store, answer: Any, seen: str, ran: list[int]
) -> None:
    paid: list[int] = []

    def is_much(amount: int) -> bool:
        return amount > 1

    @tool(approve=is_much)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    flow = acting(pay)
    model = Script([ToolCall("pay", {"amount": 3}), ToolCall("pay", {"amount": 1})], results)
    handle = await podium.start(flow, "go", model=model, store=store)
    waiting = await handle.result()
    assert waiting.status == "waiting"
    [question] = waiting.questions.values()
    assert question.details == {"tool": "pay", "arguments": {"amount": 3}}
    with pytest.raises(UsageError, match="'much' is not of type 'integer'"):
        await podium.answer(handle.run_id, {"approve": {"amount": "much"}}, store=store)
    await podium.answer(handle.run_id, answer, store=store)
    done = await (await podium.resume(handle.run_id, store=store, workflow=flow, model=model)).result()
    assert done.output.split(" | ")[0].startswith(seen)
    assert sorted(paid) == sorted([1, *ran])


async def test_a_rehearsal_executes_only_safe_tools(store: Store) -> None:
    called: list[str] = []

    @tool(safe=True)
    def look() -> str:
        """Look."""
        called.append("look")
        return "seen"

    @tool
    def change() -> str:
        """Change."""
        called.append("change")
        return "changed"

    @tool(composite=True)
    async def act(ctx: podium.ToolContext) -> str:
        """Act."""
        called.append("act")
        return "acted"

    for tools in ([look, change], [act, look]):
        done = await podium.run(acting(*tools), "go", model="rehearsal", store=store)
        assert done.status == "completed"
        assert (await podium.replay(done.run_id, workflow=acting(*tools), store=store)).output == done.output
        paths = await steps(store, done.run_id)
        assert len([path for path in paths if path.startswith("plan/tool[1.")]) == 2
    assert called == ["look", "look"]


async def test_an_answer_as_json_text_edits_the_arguments(store: Store) -> None:
    @tool(approve=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    flow, model = acting(pay), Script(ToolCall("pay", {"amount": 3}), results)
    waiting = await podium.run(flow, "go", model=model, store=store)
    await podium.answer(waiting.run_id, '{"approve": {"amount": 2}}', store=store)
    done = await (await podium.resume(waiting.run_id, store=store, workflow=flow, model=model)).result()
    assert done.output == "paid 2"
    assert (await podium.replay(done.run_id, workflow=flow, store=store)).output == "paid 2"


# ── threads ──


async def test_a_thread_continues_its_conversation(store: Store) -> None:
    agent = podium.Agent("Ida", tools=[add])

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[Any]:
        thread = run.thread(agent)
        return [await thread.ask("one"), await thread.ask("two", returns=Grade), len(thread.messages)]

    model = Script(ToolCall("add", {"a": 1, "b": 2}), results, {"score": 7})
    done = await podium.run(flow, "go", model=model, store=store)
    assert done.output == ["3", {"score": 7}, 6]
    assert [message.role for message in model.calls[-1].messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert await steps(store, done.run_id) == ["thread", "thread/tool[1.0]", "thread/turn#2", "thread#2"]
    assert (await podium.replay(done.run_id, workflow=flow, store=store)).output == done.output


# ── window ──


class Narrow(Script):
    """A model with a small context window."""

    name, price, rehearsal, window = "narrow", FREE, False, 4_000

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        answer = "SUMMARY" if call.task == "condense" else await self(call)
        calls = (answer,) if isinstance(answer, ToolCall) else ()
        return Reply("" if calls else str(answer), Usage(1, 1), self.name, tool_calls=calls)

    def worst_case(self, call: Call) -> podium.Charge:
        return worst_case(call, self.price)


async def test_older_turns_are_condensed_when_they_do_not_fit_the_window(store: Store) -> None:
    @tool
    def read(page: int) -> str:
        """Read."""
        return f"page {page}: " + "x" * 3_000

    model = Narrow(*[ToolCall("read", {"page": page}) for page in range(6)], "done")
    flow = acting(read, max_tokens=500)
    done = await podium.run(flow, "go", model=model, store=store)
    assert done.output == "done"
    paths = await steps(store, done.run_id)
    assert "plan/turn#5/condensed" in paths
    sent = model.calls[-1].messages
    assert sent[0].text == "go"
    assert "SUMMARY" in sent[1].text
    assert "1.0" in sent[1].text
    assert [tool.name for tool in model.calls[-1].tools] == ["read", "read_result"]
    assert sum(len(message.text) for message in sent) < 12_000
    assert (await podium.replay(done.run_id, workflow=flow, store=store)).output == "done"


async def test_many_long_results_of_one_turn_are_shortened(store: Store) -> None:
    @tool
    def read(page: int) -> str:
        """Read."""
        return f"page {page}: " + "x" * 9_000

    class Wide(Narrow):
        async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
            calls = tuple(ToolCall("read", {"page": page}) for page in range(8))
            self.calls.append(call)
            first = len(self.calls) == 1
            return Reply("" if first else "done", Usage(1, 1), self.name, tool_calls=calls if first else ())

    model = Wide()
    done = await podium.run(acting(read, max_tokens=500), "go", model=model, store=store)
    assert done.output == "done"
    texts = [message.text for message in model.calls[-1].messages if message.role == "tool"]
    assert all("read_result" in text for text in texts)
    assert sum(map(len, texts)) < 8_000


# ── files ──


async def test_files_are_read_once_and_sent_with_the_prompt(store: Store, tmp_path: Path) -> None:
    picture = tmp_path / "map.png"
    picture.write_bytes(b"\x89PNG rest")

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        files = [podium.File(picture), podium.File(name="notes.txt", data=b"hello")]
        return await run.ask(podium.Agent("Ida"), "look", prompt=request, attach=files)

    def seen(call: Call) -> str:
        return ", ".join(
            f"{part.name} {part.media_type} {call.files[part.blob]!r}" for part in call.messages[0].files
        )

    done = await podium.run(flow, "go", model=Script(seen), store=store)
    assert done.output == "map.png image/png b'\\x89PNG rest', notes.txt text/plain b'hello'"
    picture.unlink()
    assert (await podium.replay(done.run_id, workflow=flow, store=store)).output == done.output


async def test_a_file_that_a_tool_returns_is_sent_to_the_model(store: Store) -> None:
    @tool
    def draw() -> podium.File:
        """Draw a map."""
        return podium.File(name="map.png", data=b"\x89PNG rest")

    def seen(call: Call) -> str:
        [part] = call.messages[-1].files
        return f"{part.name} {part.media_type} {call.files[part.blob]!r}"

    done = await podium.run(acting(draw), "go", model=Script(ToolCall("draw"), seen), store=store)
    assert done.output == "map.png image/png b'\\x89PNG rest'"
    assert (await podium.replay(done.run_id, workflow=acting(draw), store=store)).output == done.output


async def test_secrets_in_an_attached_text_reach_neither_log_nor_model(store: Store) -> None:
    key = "sk-" + "ant-api03-" + "a1B2" * 12

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        files = [podium.File(name="notes.txt", data=f"key {key} end".encode())]
        return await run.ask(podium.Agent("Ida"), "look", prompt=request, attach=files)

    def seen(call: Call) -> str:
        return call.files[call.messages[0].files[0].blob].decode()

    done = await podium.run(flow, "go", model=Script(seen), store=store)
    assert done.output.startswith("key ")
    assert key not in done.output


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (podium.File("no such file.png"), "cannot be attached"),
        (podium.File(name="data.bin", data=b"\xff\xfe\x00"), "neither text nor an image"),
        (podium.File(name="big.png", data=b"x" * 20_000_001), "at most 20,000,000"),
    ],
)
async def test_files_that_no_model_can_read_are_refused(
    store: Store, file: podium.File, problem: str
) -> None:
    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(podium.Agent("Ida"), "look", prompt=request, attach=[file])

    done = await podium.run(flow, "go", model=Script("never"), store=store)
    assert done.status == "failed"
    assert problem in str(done.error)


# ── calls that must not be repeated ──


async def test_a_call_that_was_executed_is_not_repeated_by_a_turn_that_runs_again(store: Store) -> None:
    """The prompt changed between two stretches, so the first turn runs again and wants the same call."""
    paid: list[str] = []

    @tool(once=True)
    def pay(ctx: podium.ToolContext, amount: int) -> str:
        """Pay."""
        paid.append(ctx.call_id)
        return "paid"

    def flow_of(prompt: str) -> podium.Workflow:
        @podium.workflow(name="flow")
        async def flow(run: podium.Run, request: str) -> Any:
            said = await run.ask(podium.Agent("Ida", tools=[pay]), "plan", prompt=prompt)
            await run.wait_for("Go on?", choices=["yes"])
            return said

        return flow

    model = Script(ToolCall("pay", {"amount": 3}), "ok")
    waiting = await podium.run(flow_of("one"), "go", model=model, store=store)
    assert len(paid) == 1
    again = Script(ToolCall("pay", {"amount": 4}), results)
    flow = flow_of("two")
    handle = await podium.resume(waiting.run_id, store=store, workflow=flow, model=again)
    asking = await handle.result()
    [(path, question)] = [(path, ask) for path, ask in asking.questions.items() if "before" in ask.question]
    assert question.details["arguments"] == {"amount": 4}
    assert len(paid) == 1
    await podium.answer(waiting.run_id, "skip", question=path, store=store)
    handle = await podium.resume(waiting.run_id, store=store, workflow=flow, model=again)
    await podium.answer(waiting.run_id, "yes", question="question", store=store)
    done = await handle.result()
    assert "unknown" in done.output
    assert len(paid) == 1


async def test_a_fork_does_not_repeat_a_call_that_its_source_has_made(store: Store) -> None:
    paid: list[str] = []

    @tool(once=True)
    def pay(ctx: podium.ToolContext, amount: int) -> str:
        """Pay."""
        paid.append(ctx.call_id)
        return "paid"

    flow, script = acting(pay), (ToolCall("pay", {"amount": 3}), results)
    source = await podium.run(flow, "go", model=Script(*script), store=store)
    assert (source.output, len(paid)) == ("paid", 1)
    handle = await podium.fork(source.run_id, at="plan", workflow=flow, model=Script(*script), store=store)
    asking = await handle.result()
    [question] = asking.questions.values()
    assert "was called before" in question.question
    assert len(paid) == 1
    await podium.answer(handle.run_id, "retry", store=store)
    again = await podium.resume(handle.run_id, workflow=flow, model=Script(results), store=store)
    assert (await again.result()).output == "paid"
    assert len(set(paid)) == 2


async def test_a_finished_composite_call_does_not_run_again(store: Store) -> None:
    ran: list[str] = []

    @tool(composite=True)
    async def look_up(ctx: podium.ToolContext, word: str) -> str:
        """Look up."""
        ran.append(word)
        return await ctx.ask(podium.Agent("Otto"), "explain", prompt=word)

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        said = await run.ask(podium.Agent("Ida", tools=[look_up]), "plan", prompt=request)
        await run.wait_for("Go on?", choices=["yes"])
        return said

    model = Script(ToolCall("look_up", {"word": "tide"}), "water moves", results)
    waiting = await podium.run(flow, "go", model=model, store=store)
    await podium.answer(waiting.run_id, "yes", store=store)
    done = await (await podium.resume(waiting.run_id, store=store, workflow=flow, model=model)).result()
    assert (done.output, ran, done.usage.calls) == ("water moves", ["tide"], 3)


async def test_asking_in_a_tool_that_is_not_composite_ends_the_run_with_the_remedy(store: Store) -> None:
    @tool
    async def look_up(ctx: podium.ToolContext) -> str:
        """Look up."""
        return await ctx.ask(podium.Agent("Otto"), "explain", prompt="x")

    done = await podium.run(acting(look_up), "go", model=Script(ToolCall("look_up", {}), "x"), store=store)
    assert done.status == "failed"
    assert "composite=True" in str(done.error)


async def test_the_ceiling_of_a_sub_agent_ends_its_call_not_the_run(store: Store) -> None:
    helper = podium.Agent("Otto").as_tool(name="helper", budget=podium.Budget(calls=0))
    model = Script(ToolCall("helper", {"request": "help"}), results)
    done = await podium.run(acting(helper), "go", model=model, store=store)
    assert done.status == "completed"
    assert "helper stopped" in done.output
    assert (await podium.replay(done.run_id, workflow=acting(helper), store=store)).output == done.output


async def test_on_tool_is_called_before_and_after_each_call_and_in_a_replay(store: Store) -> None:
    agent, seen = podium.Agent("Ida", tools=[add], max_tool_calls=2), list[tuple[str, str]]()

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        def note(call: ToolCall, outcome: ToolOutcome | None) -> None:
            seen.append((call.name, "" if outcome is None else outcome.text))

        return await run.ask(agent, "plan", prompt=request, on_tool=note)

    calls = [ToolCall("add", {"a": 1, "b": 2}), ToolCall("fly"), ToolCall("add", {"a": 3, "b": 4})]
    done = await podium.run(flow, "go", model=Script(calls, "done"), store=store)
    expected = [
        ("add", ""),
        ("fly", ""),
        ("add", "3"),
        ("fly", "There is no tool 'fly'. The tools are: add."),
    ]
    assert seen == expected, "the third call is beyond the cap"
    await podium.replay(done.run_id, workflow=flow, store=store)
    assert seen == expected * 2


async def test_a_window_of_the_agent_replaces_that_of_the_model(store: Store) -> None:
    agent = podium.Agent("Ida", tools=[long_text], window=6_000, max_tokens=500)

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(agent, "plan", prompt=request)

    script = Script(ToolCall("long_text"), ToolCall("long_text"), ToolCall("long_text"), "done")
    await podium.run(flow, "go", model=script, store=store)
    sizes = [
        sum(len(message.text) for message in call.messages) for call in script.calls if call.task == "plan"
    ]
    assert max(sizes) <= 3 * 6_000


@tool
def long_text() -> str:
    """Return a long text."""
    return "x" * 18_000


async def test_a_fork_keeps_its_edited_prompt_in_all_turns(store: Store) -> None:
    flow, script = acting(add), (ToolCall("add", {"a": 1, "b": 2}), ToolCall("add", {"a": 3, "b": 4}), "done")
    source = await podium.run(flow, "go", model=Script(*script), store=store)
    model = Script(*script)
    handle = await podium.fork(
        source.run_id, at="plan", prompt="go slowly", workflow=flow, model=model, store=store
    )
    assert (await handle.result()).output == "done"
    assert [call.messages[0].text for call in model.calls] == ["go slowly"] * 3
    assert [call.prompt for call in model.calls] == ["go slowly"] * 3


async def test_a_fork_edits_a_later_request_of_a_thread(store: Store) -> None:
    agent = podium.Agent("Ida", tools=[add])

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[str]:
        thread = run.thread(agent)
        return [await thread.ask("one"), await thread.ask("two")]

    script = ("first", ToolCall("add", {"a": 1, "b": 2}), "second")
    source = await podium.run(flow, "go", model=Script(*script), store=store)
    model = Script(*script[1:])
    handle = await podium.fork(
        source.run_id, at="thread#2", prompt="three", workflow=flow, model=model, store=store
    )
    assert (await handle.result()).output == ["first", "second"]
    for call in model.calls:
        assert [message.text for message in call.messages if message.role == "user"] == ["one", "three"]
