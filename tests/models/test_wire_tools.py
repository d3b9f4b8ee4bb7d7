"""Agents with tools at every provider, over real sockets: what each request holds, turn by turn."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import podium
from podium.engine.log import Store
from tests.models.wire.acting import Act, Final, Thought, Use
from tests.models.wire.agents import Called, Returned, act, calls_and_results, offered
from tests.models.wire.answers import Refuse
from tests.models.wire.providers import INPUT, NAMES, OUTPUT, name_at, set_keys, settings_at
from tests.models.wire.server import Wire

pytestmark = pytest.mark.usefixtures("keys")
TWO = Act("Let me see.", Use("add", {"a": 1, "b": 2}), Use("add", {"a": -3, "b": 4}), usage=(100, 20))
"""Two calls side by side; the second fails."""


class Plan(msgspec.Struct):
    city: str
    days: int


PLAN = Act(Final('{"city": "Rome", "days": 3}'), usage=(150, 10))


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    set_keys(monkeypatch)


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("returns", [str, Plan], ids=["text", "data"])
@pytest.mark.parametrize("provider", NAMES)
async def test_two_turns_with_calls_side_by_side(
    provider: str, returns: Any, watch: bool, wire: Wire, store: Store
) -> None:
    wire.answer_with(TWO, PLAN if returns is Plan else Act("3, and one failed.", usage=(150, 10)))
    acted = await act(store, settings_at(wire), name_at(provider, wire), returns=returns, watch=watch)
    wanted = {"city": "Rome", "days": 3} if returns is Plan else "3, and one failed."
    assert (acted.result.status, acted.result.output) == ("completed", wanted)
    first, second = wire.requests
    assert offered(first) >= {"add"}
    assert calls_and_results(first) == []
    sum_call, failing_call, sum_result, failing_result = calls_and_results(second)
    assert sum_call == Called(sum_call.id, "add", {"a": 1, "b": 2})
    assert failing_call == Called(failing_call.id, "add", {"a": -3, "b": 4})
    assert sum_result == Returned(sum_call.id, "3", failed=False)
    assert failing_result == Returned(failing_call.id, "add failed: ValueError: negative", failed=True)
    assert sum_call.id != failing_call.id
    assert "Let me see." in json.dumps(second.body)
    used = acted.result.usage
    assert (used.calls, used.input_tokens, used.output_tokens) == (2, 250, 30)
    assert used.usd == pytest.approx((250 * INPUT + 30 * OUTPUT) / 1e6)
    assert [attempt.tools for attempt in acted.attempts] == ["native", "native"]
    shown = "".join(delta[3] for delta in acted.deltas)
    assert '"a"' not in shown, "arguments are not part of the answer"


@pytest.mark.parametrize(
    ("provider", "mode"),
    [
        ("openai", "native"),
        ("openai-chat", "native"),
        ("anthropic", "native"),
        ("google", "tool"),  # its client refuses a schema beside tools for this model
        ("mistral", "tool"),
        ("groq", "tool"),
        ("openrouter", "native"),
        ("bedrock", "native"),
        ("ollama", "tool"),
        ("openai-compatible", "tool"),
    ],
)
async def test_an_answer_with_a_schema_goes_together_with_tools(
    provider: str, mode: str, wire: Wire, store: Store
) -> None:
    wire.answer_with(TWO, PLAN)
    acted = await act(store, settings_at(wire), name_at(provider, wire), returns=Plan)
    assert [attempt.mode for attempt in acted.attempts] == [mode, mode]
    assert [offered(seen) for seen in wire.requests] == [{"add", "answer"} if mode == "tool" else {"add"}] * 2
    assert len(wire.requests) == 2, "choosing a mode costs no request"


async def test_a_schema_beside_tools_can_be_native_with_a_newer_gemini(wire: Wire, store: Store) -> None:
    wire.answer_with(TWO, PLAN)
    acted = await act(store, settings_at(wire), "google:gemini-3-pro-preview", returns=Plan)
    assert acted.result.output == {"city": "Rome", "days": 3}
    assert [attempt.mode for attempt in acted.attempts] == ["native", "native"]


@pytest.mark.parametrize("output", ["tool", "prompted"])
@pytest.mark.parametrize("provider", NAMES)
async def test_every_mode_of_the_settings_works_with_tools(
    provider: str, output: str, wire: Wire, store: Store
) -> None:
    wire.answer_with(TWO, PLAN)
    settings = settings_at(wire, options={"output": output})
    acted = await act(store, settings, name_at(provider, wire), returns=Plan)
    assert acted.result.output == {"city": "Rome", "days": 3}
    assert {attempt.mode for attempt in acted.attempts} == {output}


@pytest.mark.parametrize("returns", [str, Plan], ids=["text", "data"])
@pytest.mark.parametrize("provider", NAMES)
async def test_the_last_turn_offers_no_tool_but_the_answer(
    provider: str, returns: Any, wire: Wire, store: Store
) -> None:
    """An endless loop of calls ends at the cap."""
    wire.answer_with(Act(Use("add", {"a": 1, "b": 1})), Act(Use("add", {"a": 2, "b": 2})), PLAN)
    acted = await act(
        store, settings_at(wire), name_at(provider, wire), returns=returns, agent={"max_turns": 3}
    )
    assert acted.result.status == "completed"
    first, second, third = wire.requests
    assert "add" in offered(first) & offered(second)
    assert offered(third) <= {"answer"}
    assert len(calls_and_results(third)) == 4, "the calls before stay in the conversation"
    reported = ["No more tools can be called." in json.dumps(seen.body) for seen in wire.requests]
    assert reported == [False, False, True]


async def test_a_provider_that_cannot_forbid_calls_still_says_it(wire: Wire, store: Store) -> None:
    wire.answer_with(Act(Use("add", {"a": 1, "b": 1})), Act("2"))
    nova = "bedrock:us.amazon.nova-lite-v1:0"
    acted = await act(store, settings_at(wire), nova, agent={"max_turns": 2})
    assert acted.result.output == "2"
    assert offered(wire.requests[1]) == {"add"}
    assert "No more tools can be called." in json.dumps(wire.requests[1].body)


# ── what belongs to one model ──

THINKERS = ("openai", "anthropic", "google", "openrouter", "bedrock")


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", THINKERS)
async def test_reasoning_and_signatures_go_back_to_the_same_model(
    provider: str, watch: bool, wire: Wire, store: Store
) -> None:
    thought = Act(Thought("It is a sum."), Use("add", {"a": 1, "b": 2}))
    wire.answer_with(thought, thought, Act("3"))
    acted = await act(store, settings_at(wire), name_at(provider, wire), watch=watch)
    assert acted.result.output == "3"
    second, third = (json.dumps(seen.body) for seen in wire.requests[1:])
    assert (second.count("It is a sum."), second.count("c2lnbmVk")) == (1, 1)
    assert (third.count("It is a sum."), third.count("c2lnbmVk")) == (2, 2)


@pytest.mark.parametrize(
    ("provider", "other"),
    [
        ("openai", "openai-chat"),
        ("openai", "mistral"),
        ("openai", "anthropic"),
        ("anthropic", "openai"),
        ("anthropic", "bedrock"),
        ("google", "openrouter"),
        ("google", "groq"),
        ("openrouter", "google"),
        ("bedrock", "ollama"),
    ],
)
async def test_another_model_gets_text_calls_and_results_only(
    provider: str, other: str, wire: Wire, store: Store
) -> None:
    """After the first turn the first model fails, and the next one of the profile continues."""
    long = Use("add", {"a": 1, "b": 2}, "call_" + "x" * 60)
    thought = Act(Thought("It is a sum."), "Let me see.", long, Use("add", {"a": 2, "b": 2}))
    wire.answer_with(thought, Refuse(400, "Out of order."), Act("done"))
    profiles = {"balanced": [name_at(provider, wire), name_at(other, wire)]}
    acted = await act(store, settings_at(wire, profiles=profiles), None)
    assert acted.result.output == "done"
    sent = json.dumps(wire.requests[-1].body)
    assert "It is a sum." not in sent
    assert "c2lnbmVk" not in sent
    assert "Let me see." in sent
    first_call, second_call, first_result, second_result = calls_and_results(wire.requests[-1])
    assert [first_call.id, second_call.id] == [first_result.id, second_result.id]
    assert len(first_call.id) == 9, "the id of one provider is too long for another"


async def test_the_answer_of_an_ask_is_plain_text_in_the_next_one_of_a_thread(
    wire: Wire, store: Store
) -> None:
    """A call of the answer tool would need a result, and a tool list that the next ask may not have."""
    wire.answer_with(Act(Thought("Rome."), Final('{"city": "Rome", "days": 3}')), Act("Because."))
    agent = podium.Agent("Ida", max_tokens=500)

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        thread = run.thread(agent)
        await thread.ask("Where?", returns=Plan)
        return await thread.ask("Why?")

    settings = settings_at(wire, options={"output": "tool"})
    result = await podium.run(flow, "x", model=NAMES["anthropic"], store=store, settings=settings)
    assert result.output == "Because."
    messages = wire.requests[1].body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"] == [{"type": "text", "text": '{"city":"Rome","days":3}'}]
