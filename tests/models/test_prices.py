"""What calls cost: the tables, long inputs, cached ones, and what nobody knows."""

from __future__ import annotations

import pytest
from pydantic_ai.usage import RequestUsage

from podium.models.catalogue import PROVIDERS
from podium.models.model import UNKNOWN, Usage
from podium.models.prices import rates_of
from podium.settings import OwnPrice


def cost(provider: str, model: str, usage: RequestUsage) -> float:
    shown = rates_of(provider, model, {}).cost(usage, Usage(usage.input_tokens, usage.output_tokens))
    assert shown.usd is not None
    return shown.usd


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-4o"),
        ("openai-chat", "gpt-4o"),
        ("anthropic", "claude-haiku-4-5"),
        ("google", "gemini-2.5-pro"),
        ("mistral", "mistral-large-latest"),
        ("groq", "llama-3.3-70b-versatile"),
        ("openrouter", "openai/gpt-4o"),
        ("bedrock", "anthropic.claude-haiku-4-5-20251001-v1:0"),
    ],
)
def test_the_tables_know_the_models_of_every_provider(provider: str, model: str) -> None:
    price = rates_of(provider, model, {}).price
    assert (price.kind, price.input_per_million > 0, price.output_per_million > 0) == ("known", True, True)
    assert PROVIDERS[provider].table


def test_the_short_way_gives_what_the_tables_say() -> None:
    """Plain usage is priced by us, cached usage by the tables: without cached tokens both must agree."""
    for tokens in (1000, 150_000, 250_000):
        plain = RequestUsage(input_tokens=tokens, output_tokens=500)
        cached = RequestUsage(input_tokens=tokens, output_tokens=500, cache_read_tokens=1)
        for provider, model in (("openai", "gpt-4o"), ("google", "gemini-2.5-pro")):
            assert cost(provider, model, plain) == pytest.approx(cost(provider, model, cached), rel=1e-3)


def test_long_inputs_cost_more_where_the_provider_says_so() -> None:
    rates = rates_of("google", "gemini-2.5-pro", {})
    assert rates.at(250_000).input_per_million > rates.at(100_000).input_per_million
    assert rates.at(100_000) == rates.price


def test_cached_input_is_cheaper_and_never_dearer_than_the_reservation() -> None:
    plain = RequestUsage(input_tokens=10_000, output_tokens=100)
    cached = RequestUsage(input_tokens=10_000, output_tokens=100, cache_read_tokens=9_000)
    assert cost("openai", "gpt-4o", cached) < cost("openai", "gpt-4o", plain)


@pytest.mark.parametrize(
    ("provider", "model"), [("openai", "no-such-model"), ("openai-compatible", "gpt-4o")]
)
def test_what_nobody_knows_stays_unknown(provider: str, model: str) -> None:
    rates = rates_of(provider, model, {})
    assert rates.price == UNKNOWN
    assert rates.cost(RequestUsage(input_tokens=1), Usage(1, 0)) == Usage(1, 0)


def test_an_own_price_needs_no_table() -> None:
    rates = rates_of("openai", "no-such-model", {"openai:no-such-model": OwnPrice(input=1, output=2)})
    assert (rates.price.kind, rates.at(10**6).output_per_million) == ("known", 2)
