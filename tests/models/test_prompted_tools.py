"""Tools for models without tool calling: offered in the prompt, called in the text of a reply."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podium.engine.log import Store
from podium.models.messages import Message, ToolCall, ToolDefinition
from podium.models.model import Call
from podium.models.prompted_tools import as_prompted, calls_in_text
from podium.models.registry import open_model
from tests.models.wire.acting import Act
from tests.models.wire.agents import act, add
from tests.models.wire.answers import Refuse, Say
from tests.models.wire.providers import NAMES, name_at, set_keys, settings_at
from tests.models.wire.server import Wire

pytestmark = pytest.mark.usefixtures("keys")
PROMPTED = {"tools": "prompted"}
TOOLS = tuple(ToolDefinition(name, "Does it.", {"type": "object"}) for name in ("add", "now"))
CALLS = json.dumps(
    {
        "tool_calls": [
            {"name": "add", "arguments": {"a": 1, "b": 2}},
            {"name": "add", "arguments": {"a": -1, "b": 0}},
        ]
    }
)


class Plan(msgspec.Struct):
    city: str


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    set_keys(monkeypatch)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('{"tool_calls": [{"name": "add", "arguments": {"a": 1}}]}', [ToolCall("add", {"a": 1})]),
        ('Sure:\n```json\n{"tool_calls": [{"name": "now"}]}\n```\nWait.', [ToolCall("now", {})]),
        ("{'tool_calls': [{'name': 'add', 'arguments': {'a': 1,}},]}", [ToolCall("add", {"a": 1})]),
        ('{"tool_calls": [{"name": "sub", "arguments": {}}]}', [ToolCall("sub", {})]),
        ('{"tool_calls": [{"name": "add", "arguments": "{\\"a\\": 1}"}]}', [ToolCall("add", {"a": 1})]),
        ('{"tool_calls": [{"function": {"name": "now", "arguments": "{}"}}]}', [ToolCall("now", {})]),
        ('{"name": "add", "parameters": {"a": 1}}', [ToolCall("add", {"a": 1})]),
        ('[{"name": "add", "arguments": {"a": 1}}]', [ToolCall("add", {"a": 1})]),
        (
            '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>\n'
            '<tool_call>{"name": "now", "arguments": {}}</tool_call>',
            [ToolCall("add", {"a": 1}), ToolCall("now", {})],
        ),
        ("The sum is 3.", []),
        ('{"city": "Rome"}', []),
        ('{"name": "add"}', []),  # an answer with a name, not a call
        ('{"name": "Ada", "arguments": {"a": 1}}', []),
        ("Calls [1] and {2}.", []),
        ("", []),
    ],
)
def test_calls_are_found_in_text(text: str, calls: list[ToolCall]) -> None:
    assert calls_in_text(text, TOOLS) == tuple(calls)


@pytest.mark.parametrize(
    "text", ['{"tool_calls": [{"name": ', '{"tool_calls": "add"}', "<tool_call>add(1)</tool_call>"]
)
def test_calls_that_cannot_be_read_are_not_an_answer(text: str) -> None:
    assert calls_in_text(text, TOOLS, whole=False) is None


@pytest.mark.parametrize("watch", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("returns", [str, Plan], ids=["text", "data"])
@pytest.mark.parametrize("provider", ["openai", "anthropic", "google", "mistral", "ollama"])
async def test_a_loop_without_native_tools(
    provider: str, returns: Any, watch: bool, wire: Wire, store: Store
) -> None:
    wire.answer_with(Act(f"Here: {CALLS}"), Act('{"city": "Rome"}'))
    settings = settings_at(wire, options=PROMPTED)
    acted = await act(store, settings, name_at(provider, wire), returns=returns, watch=watch)
    assert acted.result.output == ({"city": "Rome"} if returns is Plan else '{"city": "Rome"}')
    first, second = wire.requests
    for seen in wire.requests:
        assert "tools" not in seen.body
        assert "toolConfig" not in seen.body
        assert "You can call tools." in json.dumps(seen.body)
    assert "Result of add:" not in json.dumps(first.body)
    sent = json.dumps(second.body)
    assert sent.index("tool_calls") < sent.index("Result of add:") < sent.index("The call of add failed:")
    messages: list[dict[str, Any]] = second.body.get("messages") or second.body.get("input") or []
    roles = [message["role"] for message in messages if message["role"] != "system"]
    assert roles in ([], ["user", "assistant", "user"])
    assert [attempt.tools for attempt in acted.attempts] == ["prompted", "prompted"]
    assert {attempt.mode for attempt in acted.attempts} == ({"prompted"} if returns is Plan else {""})


async def test_a_call_that_cannot_be_read_is_asked_again(wire: Wire, store: Store) -> None:
    wire.answer_with(Act('{"tool_calls": "add(1, 2)"}'), Act(CALLS), Act("3"))
    settings = settings_at(wire, options=PROMPTED)
    acted = await act(store, settings, NAMES["openai-chat"])
    assert acted.result.output == "3"
    assert "tool call that could not be read" in json.dumps(wire.requests[1].body)
    assert len(wire.requests) == 3


async def test_the_last_turn_says_that_no_tool_can_be_called(wire: Wire, store: Store) -> None:
    wire.answer_with(Act(CALLS), Act(CALLS), Act("3"))
    settings = settings_at(wire, options=PROMPTED)
    acted = await act(store, settings, NAMES["openai-chat"], agent={"max_turns": 2})
    assert acted.result.output == "3"
    first, second, third = (json.dumps(seen.body).count("No more tools") for seen in wire.requests)
    assert (first, second, third) == (0, 1, 2), "a model that goes on is told so once more"


@pytest.mark.parametrize(
    ("provider", "status", "message"),
    [
        ("ollama", 400, "registry.ollama.ai/library/gemma2 does not support tools"),
        ("openai-compatible", 400, '"auto" tool choice requires --enable-auto-tool-choice'),
        ("openrouter", 404, "No endpoints found that support tool use."),
    ],
)
async def test_a_server_that_refuses_tools_gets_them_in_the_prompt(
    provider: str, status: int, message: str, wire: Wire, store: Store
) -> None:
    wire.answer_with(Refuse(status, message), Act(CALLS), Act("3"))
    acted = await act(store, settings_at(wire), name_at(provider, wire))
    assert acted.result.output == "3"
    assert [(attempt.ok, attempt.tools) for attempt in acted.attempts] == [
        (False, "native"),
        (True, "prompted"),
        (True, "prompted"),
    ]
    assert acted.attempts[0].charge.usd == 0


async def test_a_setting_of_native_does_not_fall_back(wire: Wire, store: Store) -> None:
    wire.answer_with(Refuse(400, "This model does not support tools"), Say())
    acted = await act(store, settings_at(wire, options={"tools": "native"}), NAMES["ollama"])
    assert (acted.result.status, len(wire.requests)) == ("failed", 1)


async def test_a_model_without_tool_calling_is_never_offered_any(wire: Wire, store: Store) -> None:
    """The profile of this model says that it takes no tools."""
    wire.answer_with(Act(CALLS), Act("3"))
    acted = await act(store, settings_at(wire), "google:gemini-2.5-flash-image")
    assert acted.result.output == "3"
    assert "tools" not in wire.requests[0].body


def test_the_messages_stay_as_many_and_the_reservation_covers_the_prompt(wire: Wire) -> None:
    messages = (
        Message("user", "go"),
        Message("assistant", "hm", (ToolCall("add", {"a": 1}),)),
        Message("tool", "1", tool="add"),
    )
    call = Call(
        run_id="",
        workflow="",
        path="",
        agent="",
        role="",
        task="",
        system="s",
        prompt="go",
        messages=messages,
        tools=(add.definition,),
        max_tokens=1,
    )
    prompted = as_prompted(call)
    assert [message.role for message in prompted.messages] == ["user", "assistant", "user"]
    model = open_model(NAMES["ollama"], settings=settings_at(wire, options=PROMPTED))
    size = len(prompted.system) + sum(len(message.text) for message in prompted.messages)
    assert model.worst_case(call).input_tokens > size
