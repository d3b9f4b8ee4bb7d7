"""Attached files on the wire of every provider, and one clear sentence where a model cannot read them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.models.messages import FilePart, Message, ToolCall, ToolDefinition
from podium.models.model import Call
from podium.models.providers.hosted import HostedModel
from podium.models.registry import open_model
from tests.models.wire.acting import Act, Use
from tests.models.wire.agents import act
from tests.models.wire.answers import Refuse
from tests.models.wire.providers import NAMES, name_at, set_keys, settings_at
from tests.models.wire.server import Seen, Wire

pytestmark = pytest.mark.usefixtures("keys")
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
PDF = b"%PDF-1.4\n/Type /Page \n%%EOF"
NO_PDF = ("groq", "ollama")


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    set_keys(monkeypatch)


def text_of(seen: Seen) -> str:
    return json.dumps(seen.body, ensure_ascii=False)


@pytest.mark.parametrize("tools", [True, False], ids=["tools", "no tools"])
@pytest.mark.parametrize("provider", NAMES)
async def test_images_and_text_are_sent_with_every_turn(
    provider: str, tools: bool, wire: Wire, store: Store
) -> None:
    turns = [Act(Use("add", {"a": 1, "b": 2})), Act("A map.")] if tools else [Act("A map.")]
    wire.answer_with(*turns)
    files = [podium.File(name="map.png", data=PNG), podium.File(name="notes.txt", data="Grüße".encode())]
    options: dict[str, Any] = {} if tools else {"tools": ()}
    acted = await act(store, settings_at(wire), name_at(provider, wire), attach=files, **options)
    assert acted.result.output == "A map."
    assert len(wire.requests) == len(turns)
    for seen in wire.requests:
        sent = text_of(seen)
        assert sent.count(base64.b64encode(PNG).decode()) == 1
        assert "File notes.txt:" in sent
        assert "Grüße" in sent


@pytest.mark.parametrize("provider", [name for name in NAMES if name not in NO_PDF])
async def test_a_pdf_is_sent(provider: str, wire: Wire, store: Store) -> None:
    wire.answer_with(Act("A report."))
    attach = [podium.File(name="report.pdf", data=PDF)]
    acted = await act(store, settings_at(wire), name_at(provider, wire), attach=attach)
    assert acted.result.output == "A report."
    assert base64.b64encode(PDF).decode() in text_of(wire.requests[0])


@pytest.mark.parametrize("provider", NO_PDF)
async def test_a_pdf_that_a_model_cannot_read_is_refused_in_one_sentence(
    provider: str, wire: Wire, store: Store
) -> None:
    wire.answer_with(Act("never"))
    attach = [podium.File(name="report.pdf", data=PDF)]
    name = name_at(provider, wire)
    acted = await act(store, settings_at(wire), name, attach=attach)
    assert (acted.result.status, wire.requests) == ("failed", [])
    why = f"plan: {name}: the model cannot read PDF files, so report.pdf cannot be sent to it"
    assert acted.result.error == why
    assert acted.result.usage.usd == 0


async def test_the_next_model_of_a_profile_gets_what_the_first_cannot_read(wire: Wire, store: Store) -> None:
    wire.answer_with(Act("A report."))
    profiles = {"balanced": [NAMES["groq"], NAMES["anthropic"]]}
    attach = [podium.File(name="report.pdf", data=PDF)]
    acted = await act(store, settings_at(wire, profiles=profiles), None, attach=attach)
    assert acted.result.output == "A report."
    assert len(wire.requests) == 1


async def test_a_refusal_of_the_provider_is_shown(wire: Wire, store: Store) -> None:
    wire.answer_with(Refuse(400, "This model does not support image input."))
    attach = [podium.File(name="map.png", data=PNG)]
    acted = await act(store, settings_at(wire), NAMES["openai-chat"], attach=attach)
    assert acted.result.error.endswith("HTTP 400: This model does not support image input.")
    assert len(wire.requests) == 1


@pytest.mark.parametrize("provider", ["openai", "openai-chat", "anthropic", "google", "bedrock"])
async def test_a_picture_in_a_tool_result_is_sent(provider: str, wire: Wire) -> None:
    wire.answer_with(Act("A map."))
    messages = (
        Message("user", "Where?"),
        Message("assistant", calls=(ToolCall("draw", {}, "c1"),)),
        Message(
            "tool", "drawn", tool="draw", call_id="c1", files=(FilePart("map.png", "image/png", "b", 70),)
        ),
    )
    call = Call(
        run_id="",
        workflow="",
        path="",
        agent="",
        role="",
        task="",
        system="s",
        prompt="p",
        messages=messages,
        files={"b": PNG},
        tools=(ToolDefinition("draw", "Draw.", {"type": "object", "properties": {}}),),
    )
    model = open_model(name_at(provider, wire), settings=settings_at(wire))
    reply = await model.complete(call)
    assert reply.text == "A map."
    assert base64.b64encode(PNG).decode() in text_of(wire.requests[0]).replace("-", "+").replace("_", "/")
    assert isinstance(model, HostedModel)
    await model.close()
