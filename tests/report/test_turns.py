"""Turns and tool calls in lines, costs and reports; the runs are real."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import podium
from podium.api.outcome import conversations_of
from podium.engine.events import Event, RunWaiting, StepCompleted, StepStarted
from podium.engine.log import Store
from podium.engine.state import RunState
from podium.models.messages import ToolCall
from podium.models.model import Call
from podium.report.conversation import Conversations
from podium.report.data import facts_of, to_json
from podium.report.event_lines import line_of
from podium.report.html import to_html
from podium.report.markdown import to_markdown
from podium.report.presentation import Line
from podium.report.turns import call_words, decision_words, tools_of
from podium.stores import open_store
from podium.workflows import presentation_of
from tests.agents.test_loop import Narrow, acting
from tests.report.acting import acted, add, events_of, model, plan
from tests.report.logs import log

EDITED = {"approve": {"amount": 2.5}}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(str(tmp_path / "store.sqlite")) as opened:
        yield opened


def lines_of(events: list[Event]) -> list[tuple[Event, Line]]:
    state, shown = RunState(), presentation_of(workflow_of(events))
    lines: list[tuple[Event, Line]] = []
    for event in events:
        state.apply(event)
        shown.apply(event)
        lines.append((event, line_of(event, state, shown)))
    return lines


def workflow_of(events: list[Event]) -> str:
    return RunState.of(events[:1]).workflow


def live(events: list[Event]) -> dict[str, str]:
    """The last line of each path in the live view."""
    shown = [(event.path, line) for event, line in lines_of(events) if line.weight != "trace" and event.path]
    return {path: f"{line.mark} {line.what}" for path, line in shown}


async def test_a_turn_names_its_calls_and_each_call_has_one_line(store: Store) -> None:
    events = await acted(store, EDITED)
    lines = live(events)
    assert lines == {
        "plan/attached": "✓ attached notes.txt (text/plain, 5 B)",
        "plan": "✓ Ida wants add(a=1, b=2), divide(a=1, b=0), sub()",
        "plan/tool[1.0]": "✓ add: 3",
        "plan/tool[1.1]": "✗ divide: failed: ZeroDivisionError: float division by zero",
        "plan/tool[1.2]": "✗ sub: refused: There is no tool 'sub'. The tools are: add, divide, pay, otto.",
        "plan/turn#2": '✓ Ida wants otto(request="5 + 5?"), pay(amount=3.5)',
        "plan/question[approve 2.1]": "▸ approved with edited arguments: amount=2.5 (by ann)",
        "plan/tool[2.0]/answer": "✓ Otto wants add(a=5, b=5)",
        "plan/tool[2.0]/answer/tool[1.0]": "✓ add: 10",
        "plan/tool[2.0]/answer/turn#2": "✓ Otto: ten",
        "plan/tool[2.0]/result": "✓ otto: ten",
        "plan/tool[2.1]": "✓ pay: paid 2.5",
        "plan/turn#3": "✓ Ida: It is 3. <script>alert(1)</script> red",
    }
    calls = [event for event, line in lines_of(events) if line.weight != "trace" and "/tool[" in event.path]
    assert len(calls) == len({event.path for event in calls}), "one line per call"


async def test_traces_name_the_call_and_the_turn(store: Store) -> None:
    lines = lines_of(await acted(store, "approve"))
    traces = {(event.type, event.path): line.what for event, line in lines if line.weight == "trace"}
    assert traces["step.started", "plan/tool[1.0]"] == "add(a=1, b=2)"
    assert traces["step.running", "plan/tool[2.1]"] == "pay(amount=3.5), which must not be repeated"
    assert traces["model.asked", "plan/turn#2"].endswith(": turn 2")
    waiting_line = next(line for event, line in lines if event.type == "run.waiting")
    assert waiting_line.what == "May the agent call pay? pay(amount=3.5) [approve / reject]"
    assert waiting_line.weight == "attention"


@pytest.mark.parametrize(
    ("answer", "line", "state"),
    [
        ("approve", "▸ approved (by ann)", "done"),
        ("reject", "▸ rejected (by ann)", "rejected"),
        ({"reject": "too dear"}, "▸ rejected: too dear (by ann)", "rejected"),
    ],
    ids=["approve", "reject", "with a reason"],
)
async def test_the_answer_to_an_approval_is_worded(store: Store, answer: Any, line: str, state: str) -> None:
    events = await acted(store, answer)
    assert live(events)["plan/question[approve 2.1]"] == line
    [ida, _] = await conversations_of(store, events)
    paid = ida.messages[3].calls[1]
    assert (paid.state, paid.decision) == (state, line.removeprefix("▸ "))


async def test_the_messages_of_a_later_turn_are_rebuilt(store: Store) -> None:
    talks = Conversations.of(await acted(store, EDITED))
    second = await talks.up_to("plan/turn#2", store.get_blob)
    assert second is not None
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "assistant"]
    system, request, first, last = second.messages
    assert (system.text, request.text) == ("You are Ida.\n\nCalculate.", "Add and pay")
    assert [part.name for part in request.files] == ["notes.txt"]
    assert [(call.words, call.state, call.result) for call in first.calls] == [
        ("add(a=1, b=2)", "done", "3"),
        ("divide(a=1, b=0)", "failed", "divide failed: ZeroDivisionError: float division by zero"),
        ("sub()", "refused", "There is no tool 'sub'. The tools are: add, divide, pay, otto."),
    ]
    helper, paid = last.calls
    assert (helper.result, helper.path) == ("ten", "plan/tool[2.0]/result")
    assert helper.tokens > 0, "what the sub-agent used"
    assert (paid.arguments, paid.result, paid.cost_usd) == ({"amount": 2.5}, "paid 2.5", 0.02)
    tool_call = await talks.call("plan/tool[2.1]", store.get_blob)
    assert tool_call == paid
    assert len(paid.call_id) == 24
    assert await talks.up_to("plan/tool[2.1]", store.get_blob) is None


async def test_a_call_shows_the_id_that_its_tool_got(store: Store) -> None:
    got: list[str] = []

    @podium.tool
    def look(ctx: podium.ToolContext) -> str:
        """Look."""
        got.append(ctx.call_id)
        return "seen"

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(podium.Agent("Ida", tools=[look]), "plan", prompt=request)

    async def twice(call: Call) -> Any:
        answered = any(message.role == "tool" for message in call.messages)
        return "done" if answered else [ToolCall("look", {}), ToolCall("look", {})]

    result = await podium.run(flow, "go", model=twice, store=store)
    [talk] = await conversations_of(store, await events_of(store, result.run_id))
    assert [call.call_id for call in talk.messages[2].calls] == got
    assert len(set(got)) == 2


async def test_a_turn_that_ran_again_replaces_what_followed_it(store: Store) -> None:
    """The prompt changed between two stretches: the calls of the first one are not part of it any more."""

    def flow_of(prompt: str) -> podium.Workflow:
        @podium.workflow(name="flow")
        async def flow(run: podium.Run, request: str) -> str:
            reply = await run.ask(podium.Agent("Ida", tools=[add]), "plan", prompt=prompt)
            await run.wait_for("Go on?", choices=["yes"])
            return reply

        return flow

    async def calls_first(call: Call) -> Any:
        return "first" if len(call.messages) > 1 else [ToolCall("nothing", {})]

    async def answers(call: Call) -> Any:
        return "second"

    waiting = await podium.run(flow_of("one"), "go", model=calls_first, store=store)
    await podium.answer(waiting.run_id, "yes", store=store)
    await (await podium.resume(waiting.run_id, workflow=flow_of("two"), model=answers, store=store)).result()
    [talk] = await conversations_of(store, await events_of(store, waiting.run_id))
    assert [message.text for message in talk.messages[1:]] == ["two", "second"]


async def test_a_thread_is_one_conversation(store: Store) -> None:
    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        thread = run.thread(podium.Agent("Ida"))
        await thread.ask("one")
        await thread.ask("two")
        other = run.thread(podium.Agent("Otto"))
        return await other.ask("three")

    async def echo(call: Call) -> str:
        return f"{call.messages[-1].text}!"

    result = await podium.run(flow, "go", model=echo, store=store)
    ida, otto = await conversations_of(store, await events_of(store, result.run_id))
    assert [message.text for message in ida.messages] == ["You are Ida.", "one", "one!", "two", "two!"]
    assert [message.text for message in otto.messages] == ["You are Otto.", "three", "three!"]


async def test_a_condensed_conversation_says_so(store: Store) -> None:
    @podium.tool
    def read(page: int) -> str:
        """Read."""
        return f"page {page}: " + "x" * 3_000

    pages = [ToolCall("read", {"page": page}) for page in range(6)]
    flow = acting(read, max_tokens=500)
    result = await podium.run(flow, "go", model=Narrow(*pages, "done"), store=store)
    events = await events_of(store, result.run_id)
    assert live(events)["plan/turn#5/condensed"] == "✓ Ida condensed 4 messages"
    [talk] = await conversations_of(store, events)
    [summary] = [message for message in talk.messages if message.path == "plan/turn#5/condensed"]
    assert (summary.role, summary.text, summary.who) == ("summary", "SUMMARY", "condensed 4 messages")


async def test_a_rehearsal_s_results_are_marked_as_made_up(store: Store) -> None:
    class Rehearsing(Narrow):
        rehearsal, window = True, 0

    @podium.tool
    def send(text: str) -> str:
        """Send."""
        raise AssertionError("a rehearsal does not send")

    model = Rehearsing(ToolCall("send", {"text": "hi"}), "done")
    result = await podium.run(acting(send), "go", model=model, store=store)
    events = await events_of(store, result.run_id)
    assert live(events)["plan/tool[1.0]"] == "✓ send: made up in a rehearsal, not called"
    [talk] = await conversations_of(store, events)
    assert talk.messages[2].calls[0].state == "made up"


def test_an_unknown_outcome_is_named() -> None:
    about = {"tool": "pay", "arguments": {"amount": 3}, "call_id": "c0ffee"}
    events = log(
        ("plan/tool[1.0]", StepStarted(kind="tool", about=about)),
        ("plan/tool[1.0]", StepCompleted(result=msgspec.Raw(b'{"unknown":true}'))),
        ("plan/question[outcome 1.0]", RunWaiting(question="Did pay take effect?", details=about)),
    )
    lines = [line for _, line in lines_of(events)]
    assert lines[1] == Line(
        "pay: outcome unknown: the run was cut off during the call", "warning", ("1.0s",), "?"
    )
    assert lines[2].what == "Did pay take effect? pay(amount=3)"


def test_calls_are_worded_on_one_safe_line() -> None:
    assert call_words("add", {"a": 1, "b": "x\ny"}) == 'add(a=1, b="x\\ny")'
    assert call_words("add", "{broken") == "add({broken)"
    assert call_words("\x1b[31mred", {"k": "v" * 500}) == f'red(k="{"v" * 58}…)'
    assert len(call_words("add", {f"k{n}": n for n in range(100)})) == 100
    assert decision_words("outcome", "retry") == "call it again"
    assert decision_words("outcome", {"result": "done"}) == "gave the result: done"
    assert decision_words("repeat", "skip") == "skipped: outcome unknown"


async def test_calls_and_cost_per_tool(store: Store) -> None:
    events = await acted(store, EDITED)
    uses = {use.tool: use for use in tools_of(events)}
    assert {name: (use.calls, use.failed) for name, use in uses.items()} == {
        "add": (2, 0),
        "divide": (1, 1),
        "sub": (1, 1),
        "otto": (1, 0),
        "pay": (1, 0),
    }
    assert uses["pay"].usage.usd == 0.02
    assert uses["otto"].usage.calls == 2, "the model calls of the sub-agent"
    assert "tool pay" in facts_of(events).by_agent


async def test_reports_show_conversations_and_sanitise_them(store: Store) -> None:
    events = await acted(store, EDITED)
    talks = await conversations_of(store, events)
    facts = facts_of(events, conversations=talks)
    page = to_html(facts)
    assert "Ida, plan (3 turns, 5 calls)" in page
    assert "<code>pay(amount=2.5)</code>" in page
    assert "approved with edited arguments: amount=2.5 (by ann)" in page
    assert "<script" not in page
    assert "\x1b" not in page
    text = to_markdown(facts)
    assert "## Conversation: Ida, plan (3 turns, 5 calls)" in text
    assert "- pay(amount=2.5) done · approved with edited arguments: amount=2.5 (by ann)" in text
    assert "> It is 3. \\<script\\>" in text
    assert "| pay | 1 |" in text
    assert "- May the agent call pay? → approved with edited arguments: amount=2.5" in text
    data = json.loads(to_json(facts, ()))
    assert [use["tool"] for use in data["tools"]] == ["add", "divide", "sub", "otto", "pay"]
    assert data["conversations"][0]["messages"][3]["calls"][1]["arguments"] == {"amount": 2.5}


async def test_a_long_result_and_a_long_prompt_are_read_from_beside_the_log(store: Store) -> None:
    @podium.tool
    def dump() -> str:
        """Dump."""
        return "word " * 20_000

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(podium.Agent("Ida", tools=[dump]), "plan", prompt="long " * 20_000)

    async def once(call: Call) -> Any:
        return "done" if any(message.role == "tool" for message in call.messages) else [ToolCall("dump", {})]

    result = await podium.run(flow, "go", model=once, store=store)
    events = await events_of(store, result.run_id)
    assert any(isinstance(event.data, StepCompleted) and event.data.blob for event in events)
    [talk] = await conversations_of(store, events)
    assert talk.messages[1].text.count("long ") == 20_000
    assert talk.messages[2].calls[0].result.count("word ") == 20_000
    assert live(events)["plan/tool[1.0]"] == "✓ dump: a long result"
    page = to_html(facts_of(events, conversations=[talk]))
    assert page.count("word ") < 5_000, "a page has to open"


async def test_an_open_call_is_shown_with_its_state(store: Store) -> None:
    waiting = await podium.run(plan, "Add and pay", model=model, store=store)
    [ida, _] = await conversations_of(store, await events_of(store, waiting.run_id))
    assert [(call.tool, call.state) for call in ida.messages[3].calls] == [
        ("otto", "done"),
        ("pay", "waiting"),
    ]
