"""Faults of models and servers that call tools: no half call is executed, and the model hears the problem."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podium.agents.tools import tool
from podium.engine.log import Store
from podium.models.events import ModelRepaired
from tests.models.wire.acting import Act, Final, Use
from tests.models.wire.agents import Called, act, calls_and_results, offered
from tests.models.wire.providers import NAMES, name_at, set_keys, settings_at
from tests.models.wire.server import Wire

pytestmark = pytest.mark.usefixtures("keys")
TEXTUAL = ("openai", "openai-chat", "groq", "openrouter", "ollama", "openai-compatible")
"""Providers that send arguments as text, which can be malformed."""


class Plan(msgspec.Struct):
    city: str


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    set_keys(monkeypatch)


class Counter:
    """A tool that counts its calls."""

    def __init__(self) -> None:
        self.calls: list[int] = []

        @tool
        async def add(a: int, b: int = 0) -> int:
            """Add."""
            self.calls.append(a)
            return a + b

        self.tool = add


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", TEXTUAL)
async def test_malformed_arguments_and_unknown_tools_go_back(
    provider: str, watch: bool, wire: Wire, store: Store, counter: Counter
) -> None:
    calls = (Use("add", '{"a": 1,'), Use("add", "[1]"), Use("sub", {"a": 1}), Use("add", ""))
    wire.answer_with(Act(*calls), Act("done"))
    acted = await act(store, settings_at(wire), name_at(provider, wire), tools=(counter.tool,), watch=watch)
    assert (acted.result.output, counter.calls) == ("done", [])
    *made, broken, listed, unknown, empty = calls_and_results(wire.requests[1])
    assert [type(call) for call in made] == [Called] * 4, "each call is sent back as valid JSON"
    assert "not a JSON object" in broken[1]
    assert "not a JSON object" in listed[1]
    assert "There is no tool" in unknown[1]
    assert "The arguments are wrong: `a`" in empty[1]


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", NAMES)
async def test_ids_that_repeat_are_reported_apart(
    provider: str, watch: bool, wire: Wire, store: Store, counter: Counter
) -> None:
    """Within a turn and over turns: some providers refuse a conversation with repeated ids."""
    twice = Act(Use("add", {"a": 1}, "same"), Use("add", {"a": 2}, "same"))
    wire.answer_with(twice, twice, Act("done"))
    acted = await act(store, settings_at(wire), name_at(provider, wire), tools=(counter.tool,), watch=watch)
    assert acted.result.output == "done"
    assert sorted(counter.calls) == [1, 1, 2, 2]
    parts = calls_and_results(wire.requests[2])
    made = [part.id for part in parts if isinstance(part, Called)]
    assert len(set(made)) == 4
    assert [part.id for part in parts] == [*made[:2], *made[:2], *made[2:], *made[2:]]


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", ["google", "ollama", "openai-compatible"])
async def test_calls_without_ids_get_one(
    provider: str, watch: bool, wire: Wire, store: Store, counter: Counter
) -> None:
    wire.answer_with(Act(Use("add", {"a": 1}, None), Use("add", {"a": 2}, None)), Act("done"))
    acted = await act(store, settings_at(wire), name_at(provider, wire), tools=(counter.tool,), watch=watch)
    assert acted.result.output == "done"
    ids = [part.id for part in calls_and_results(wire.requests[1])]
    assert ids[:2] == ids[2:]
    assert len(set(ids)) == 2
    assert all(ids)


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", NAMES)
async def test_no_call_of_a_reply_that_was_cut_off_is_executed(
    provider: str, watch: bool, wire: Wire, store: Store, counter: Counter
) -> None:
    """With some providers such a call looks whole."""
    cut = Act(Use("add", {"a": 1}), Use("add", {}), finish="length", usage=(12, 500))
    wire.answer_with(cut, Act(Use("add", {"a": 7})), Act("done"))
    acted = await act(store, settings_at(wire), name_at(provider, wire), tools=(counter.tool,), watch=watch)
    assert (acted.result.output, counter.calls) == ("done", [7])
    limits = [attempt.max_tokens for attempt in acted.attempts]
    assert limits == [500, 1000, 500], "asked again with a larger limit"


@pytest.mark.parametrize("provider", [name for name in NAMES if name != "mistral"])
async def test_no_call_of_a_stream_without_an_end_is_executed(
    provider: str, wire: Wire, store: Store, counter: Counter
) -> None:
    half = Act(Use("add", {"a": 1}), finished=False)
    wire.answer_with(half, Act(Use("add", {"a": 7})), Act("done"))
    acted = await act(store, settings_at(wire), name_at(provider, wire), tools=(counter.tool,), watch=True)
    assert (acted.result.output, counter.calls) == ("done", [7])
    first = acted.attempts[0]
    assert (first.ok, first.estimated, first.tools) == (False, True, "native")
    if provider in ("openrouter", "ollama", "openai-compatible"):
        streamed = [seen.body["stream"] for seen in wire.requests]
        assert streamed == [True, False, False], "servers without finish reasons stay usable"


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", ["openai", "anthropic", "google", "bedrock", "openai-compatible"])
async def test_forty_calls_in_one_turn(
    provider: str, watch: bool, wire: Wire, store: Store, counter: Counter
) -> None:
    wire.answer_with(Act(*[Use("add", {"a": number}) for number in range(40)]), Act("done"))
    acted = await act(store, settings_at(wire), name_at(provider, wire), tools=(counter.tool,), watch=watch)
    assert acted.result.output == "done"
    assert sorted(counter.calls) == list(range(40))
    parts = calls_and_results(wire.requests[1])
    assert [part.id for part in parts[:40]] == [part.id for part in parts[40:]]
    assert [part[1] for part in parts[40:]] == [str(number) for number in range(40)]


@pytest.mark.parametrize("provider", ["openai-chat", "anthropic", "ollama"])
async def test_an_endless_loop_ends_at_the_cap_of_calls(
    provider: str, wire: Wire, store: Store, counter: Counter
) -> None:
    """A model that goes on calling tools when it must answer is told so twice, then the ask fails."""
    wire.answer_with(Act(Use("add", {"a": 1}), Use("add", {"a": 2})))
    acted = await act(
        store,
        settings_at(wire),
        name_at(provider, wire),
        tools=(counter.tool,),
        agent={"max_tool_calls": 3},
    )
    assert acted.result.status == "failed"
    assert "No more tools can be called" in acted.result.error
    assert len(counter.calls) == 3
    assert [offered(seen) for seen in wire.requests] == [{"add"}, {"add"}, set(), set(), set()]
    assert "the limit of tool calls is reached" in json.dumps(wire.requests[2].body)


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
async def test_calls_that_a_stream_merges_are_separated(
    watch: bool, wire: Wire, store: Store, counter: Counter
) -> None:
    calls = [Use("add", {"a": 1}), Use("add", {"a": 2, "b": 3}), Use("add", {"a": 4})]
    wire.answer_with(Act(*calls, one_index=True), Act("done"))
    name = name_at("openai-compatible", wire)
    acted = await act(store, settings_at(wire), name, tools=(counter.tool,), watch=watch)
    assert (acted.result.output, counter.calls) == ("done", [1, 2, 4])


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("returns", [str, Plan], ids=["text", "data"])
async def test_a_malformed_function_call_of_gemini_is_asked_again(
    returns: Any, watch: bool, wire: Wire, store: Store
) -> None:
    wire.answer_with(Act(finish="malformed"), Act(Final('{"city": "Rome"}')))
    acted = await act(store, settings_at(wire), NAMES["google"], returns=returns, watch=watch)
    assert acted.result.status == "completed"
    assert "tool call that could not be read" in json.dumps(wire.requests[1].body)
    assert [event.data.attempt for event in acted.events if isinstance(event.data, ModelRepaired)] == [1]
    assert (acted.result.usage.calls, acted.result.usage.input_tokens) == (2, 24)


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
async def test_a_paused_reply_is_continued(watch: bool, wire: Wire, store: Store) -> None:
    wire.answer_with(Act("The first half,", finish="pause"), Act("The first half, and the second."))
    acted = await act(store, settings_at(wire), NAMES["anthropic"], watch=watch)
    assert acted.result.output == "The first half, and the second."
    assert [attempt.ok for attempt in acted.attempts] == [True, True]


@pytest.mark.parametrize("provider", ["google", "openai-compatible"])
async def test_an_empty_reply_of_a_turn_is_asked_again(provider: str, wire: Wire, store: Store) -> None:
    wire.answer_with(Act(Use("add", {"a": 1, "b": 2})), Act(" "), Act("3"))
    acted = await act(store, settings_at(wire), name_at(provider, wire))
    assert acted.result.output == "3"
    assert "Your last reply was empty" in json.dumps(wire.requests[2].body)


@pytest.mark.parametrize("provider", ["openai-chat", "anthropic", "google", "bedrock"])
async def test_an_answer_beside_calls_is_not_taken(
    provider: str, wire: Wire, store: Store, counter: Counter
) -> None:
    """The results of the calls may change it."""
    both = Act(Use("answer", {"city": "Oslo"}), Use("add", {"a": 1}))
    wire.answer_with(both, Act(Final('{"city": "Rome"}')))
    settings = settings_at(wire, options={"output": "tool"})
    acted = await act(store, settings, name_at(provider, wire), tools=(counter.tool,), returns=Plan)
    assert (acted.result.output, counter.calls) == ({"city": "Rome"}, [1])
    parts = calls_and_results(wire.requests[1])
    assert [part[1] for part in parts] == ["add", "1"], "no call without a result is sent"
