"""The providers that share a wire format, each through its own client: one request, whatever happens."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

import podium
from podium.engine.log import Store
from podium.errors import ModelUnavailableError
from podium.models.catalogue import PROVIDERS, access_to
from podium.models.model import Call, Model, ModelFault
from podium.models.providers.hosted import HostedModel
from podium.models.registry import open_model
from podium.settings import OwnPrice, ProviderOptions, ReplyLimits, Settings
from tests.models.wire.answers import Answer, Drop, Hang, Refuse, Say
from tests.models.wire.others import converse, converse_stream, gemini, gemini_stream
from tests.models.wire.server import Wire

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
NAMES = {
    "groq": "groq:llama-3.3-70b-versatile",
    "mistral": "mistral:mistral-large-latest",
    "google": "google:gemini-2.5-pro",
    "bedrock": "bedrock:us.amazon.nova-lite-v1:0",
    "openrouter": "openrouter:openai/gpt-4o",
    "ollama": "ollama:llama3",
    "openai-compatible": "openai-compatible:local",
}


def call(schema: dict[str, Any] | None = None) -> Call:
    return Call(
        run_id="", workflow="", path="", agent="", role="", task="", system="s", prompt="p", schema=schema
    )


def settings_for(provider: str, wire: Wire) -> tuple[str, Settings]:
    """A model of a provider, at a server on loopback."""
    base = f"{wire.url}/v1" if provider in ("openrouter", "ollama", "openai-compatible") else wire.url
    name = f"{NAMES[provider]}@{base}" if provider == "openai-compatible" else NAMES[provider]
    prices = {name: OwnPrice(input=10.0, output=40.0)}
    return name, Settings(
        providers={provider: ProviderOptions(base_url=base)}, prices=prices, retry_wait=0.001
    )


@pytest.fixture
def keys(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS's client reads its own variables, and sends a bearer's token only where it is encrypted."""
    keys = (
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY") if provider == "bedrock" else PROVIDERS[provider].keys
    )
    for key in keys:
        monkeypatch.setenv(key, "some-key-of-a-test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.fixture
async def model(provider: str, wire: Wire, keys: None) -> AsyncIterator[Model]:
    name, settings = settings_for(provider, wire)
    try:
        access_to(name, settings.providers)
    except ModelUnavailableError as error:
        pytest.skip(str(error))
    opened = open_model(name, settings=settings)
    yield opened
    assert isinstance(opened, HostedModel)
    await opened.close()


def answer(provider: str, text: str, *, tool: bool = False) -> Answer:
    match provider:
        case "google":
            return gemini(text)
        case "bedrock":
            return converse(text, tool=tool)
        case _:
            return Say(text)


def streamed(provider: str, *pieces: str) -> Answer:
    match provider:
        case "google":
            return gemini_stream(*pieces)
        case "bedrock":
            return converse_stream(*pieces)
        case _:
            return Say("".join(pieces), pieces=len(pieces))


@pytest.mark.parametrize("provider", NAMES)
async def test_data(provider: str, model: Model, wire: Wire) -> None:
    wire.answer_with(answer(provider, '{"a": 3}', tool=True))
    reply = await model.complete(call(SCHEMA))
    assert json.loads(reply.text) == {"a": 3}
    assert (reply.calls, len(wire.requests), reply.finish) == (1, 1, "stop")
    assert reply.mode in ("native", "tool")
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (12, 5)


@pytest.mark.parametrize("provider", NAMES)
async def test_pieces(provider: str, model: Model, wire: Wire) -> None:
    wire.answer_with(streamed(provider, "in f", "our ", "smal", "l pi"))
    pieces: list[str] = []
    reply = await model.complete(call(), pieces.append)
    assert (reply.text, "".join(pieces)) == ("in four small pi", "in four small pi")
    assert len(pieces) == 4
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (12, 5)
    assert (reply.calls, len(wire.requests)) == (1, 1)


@pytest.mark.parametrize(("status", "kind"), [(429, "limited"), (500, "unavailable"), (503, "unavailable")])
@pytest.mark.parametrize("provider", NAMES)
async def test_trouble(provider: str, status: int, kind: str, model: Model, wire: Wire) -> None:
    wire.answer_with(Refuse(status, "Too busy.", headers={"Retry-After": "7"}))
    with pytest.raises(ModelFault) as caught:
        await model.complete(call())
    fault = caught.value
    assert (fault.kind, fault.retry, fault.billed, fault.status) == (kind, True, False, status)
    assert fault.wait_s == 7.0
    assert str(fault) == f"HTTP {status}: Too busy."
    assert (fault.calls, len(wire.requests)) == (1, 1), "no client tries again by itself"


@pytest.mark.parametrize("provider", NAMES)
async def test_a_connection_that_breaks_off_counts_in_full(provider: str, model: Model, wire: Wire) -> None:
    wire.answer_with(Drop())
    with pytest.raises(ModelFault) as caught:
        await model.complete(call())
    assert (caught.value.kind, caught.value.billed, caught.value.calls) == ("dropped", True, 1)
    assert len(wire.requests) == 1


@pytest.mark.parametrize("provider", NAMES)
async def test_a_run_pays_for_what_was_used(provider: str, model: Model, wire: Wire, store: Store) -> None:
    """Through the same door as a user: an error reply costs nothing, the answer what it says."""
    wire.answer_with(Refuse(500, "Oops."), answer(provider, "Fine."))
    name, settings = settings_for(provider, wire)

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(podium.Agent("Nora", max_tokens=100), "draft", prompt="Say something.")

    budget = podium.Budget(usd=0.05, calls=3)
    result = await podium.run(flow, "x", model=name, store=store, settings=settings, budget=budget)
    assert (result.status, result.output) == ("completed", "Fine.")
    used = result.usage
    assert (used.input_tokens, used.output_tokens, used.calls) == (12, 5, 2)
    assert used.usd == pytest.approx((12 * 10 + 5 * 40) / 1e6)
    assert len(wire.requests) == 2


def test_bedrock_without_a_region_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "some-key-of-a-test")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(ModelUnavailableError, match=r"needs a region of AWS\.$") as caught:
        open_model(NAMES["bedrock"])
    assert "AWS_DEFAULT_REGION" in caught.value.hint


@pytest.mark.parametrize("provider", [name for name in NAMES if name != "bedrock"])
async def test_the_time_out_of_a_call_reaches_every_client(wire: Wire, model: Model) -> None:
    """Nothing but the client ends this call: were its time-out fixed, it would wait for ten minutes."""
    wire.answer_with(Hang())
    hasty = msgspec.structs.replace(call(), timeout=0.2)
    with pytest.raises(ModelFault) as caught:
        await model.complete(hasty)
    assert caught.value.kind == "timeout"


@pytest.mark.parametrize("provider", ["google"])
async def test_a_server_that_keeps_a_deadline_is_reported_the_calls_own(wire: Wire, model: Model) -> None:
    wire.answer_with(gemini("fine"))
    await model.complete(msgspec.structs.replace(call(), timeout=7200.0))
    assert wire.requests[0].headers["x-server-timeout"] == "7200"


@pytest.mark.parametrize("provider", ["bedrock"])
def test_the_client_of_aws_waits_as_long_as_the_settings_allow(wire: Wire, provider: str, keys: None) -> None:
    name, settings = settings_for(provider, wire)
    slow = msgspec.structs.replace(settings, agents={"writer": ReplyLimits(reply_timeout=7200.0)})
    try:
        opened = [open_model(name, settings=choice) for choice in (settings, slow)]
    except ModelUnavailableError as error:
        pytest.skip(str(error))
    clients: list[Any] = [vars(client)["_backend"].client for client in opened]
    assert [client.meta.config.read_timeout for client in clients] == [600.0, 7200.0]
