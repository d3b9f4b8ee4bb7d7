"""The providers that share a wire format, each through its own client: one request, whatever happens."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from podium.errors import ModelUnavailableError
from podium.models.catalogue import PROVIDERS, access_to
from podium.models.faults import ModelFault
from podium.models.model import Call, Model
from podium.models.providers.hosted import HostedModel
from podium.models.registry import open_model
from podium.settings import ProviderOptions, Settings
from tests.models.wire.answers import Answer, Raw, Refuse, Say
from tests.models.wire.server import Wire

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
GEMINI = {
    "candidates": [{"content": {"parts": [{"text": '{"a": 3}'}], "role": "model"}, "finishReason": "STOP"}],
    "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 5, "totalTokenCount": 17},
}
NAMES = {
    "groq": "groq:llama-3.3-70b-versatile",
    "mistral": "mistral:mistral-large-latest",
    "google": "google:gemini-2.5-pro",
    "openrouter": "openrouter:openai/gpt-4o",
    "ollama": "ollama:llama3",
    "openai-compatible": "openai-compatible:local",
}


def call(schema: dict[str, Any] | None = None) -> Call:
    return Call(
        run_id="", workflow="", path="", agent="", role="", task="", system="s", prompt="p", schema=schema
    )


@pytest.fixture
async def model(provider: str, wire: Wire) -> AsyncIterator[Model]:
    """A model of a provider, at a server on loopback."""
    base = f"{wire.url}/v1" if provider in ("openrouter", "ollama", "openai-compatible") else wire.url
    name = f"{NAMES[provider]}@{base}" if provider == "openai-compatible" else NAMES[provider]
    env = dict.fromkeys(PROVIDERS[provider].keys, "some-key")
    settings = Settings(providers={provider: ProviderOptions(base_url=base)})
    try:
        access_to(name, settings.providers, env)
    except ModelUnavailableError as error:
        pytest.skip(str(error))
    opened = open_model(name, settings=settings, env=env)
    yield opened
    assert isinstance(opened, HostedModel)
    await opened.close()


def answer(provider: str, text: str) -> Answer:
    return Raw(json.dumps(GEMINI).encode()) if provider == "google" else Say(text)


@pytest.mark.parametrize("provider", NAMES)
async def test_data(provider: str, model: Model, wire: Wire) -> None:
    wire.answer_with(answer(provider, '{"a": 3}'))
    reply = await model.complete(call(SCHEMA))
    assert json.loads(reply.text) == {"a": 3}
    assert (reply.calls, len(wire.requests), reply.finish) == (1, 1, "stop")
    assert reply.mode in ("native", "tool")
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (12, 5)


@pytest.mark.parametrize("provider", [name for name in NAMES if name != "google"])
async def test_pieces(provider: str, model: Model, wire: Wire) -> None:
    wire.answer_with(Say("in four small pieces"))
    pieces: list[str] = []
    reply = await model.complete(call(), pieces.append)
    assert (reply.text, "".join(pieces), len(pieces)) == ("in four small pieces", "in four small pieces", 4)
    assert len(wire.requests) == 1


@pytest.mark.parametrize("provider", NAMES)
async def test_trouble(provider: str, model: Model, wire: Wire) -> None:
    wire.answer_with(Refuse(503, "Too busy.", headers={"Retry-After": "7"}))
    with pytest.raises(ModelFault) as caught:
        await model.complete(call())
    fault = caught.value
    assert (fault.kind, fault.retry, fault.billed, fault.status, fault.wait_s) == (
        "unavailable", True, False, 503, 7.0,
    )  # fmt: skip
    assert str(fault) == "HTTP 503: Too busy."
    assert len(wire.requests) == 1, "no client tries again by itself"
