"""Model prices: from the settings, else from the public tables, else unknown.

With an unknown price, a money ceiling alone is rejected for the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, TieredPrices

from podium.models.model import UNKNOWN, Price, Usage, charge
from podium.settings import OwnPrice

TABLES = {
    "openai": "openai", "openai-chat": "openai", "anthropic": "anthropic", "google": "google",
    "mistral": "mistral", "groq": "groq", "openrouter": "openrouter", "bedrock": "aws",
}  # fmt: skip
"""Podium's names of providers, and those of the tables."""


class Rates:
    """The price of one model. It may be higher for long inputs."""

    def __init__(
        self,
        price: Price,
        found: ModelInfo | None = None,
        provider: Any = None,
        own: OwnPrice | None = None,
    ) -> None:
        self.price = price
        """Price for an input of ordinary length."""
        self._found = found
        self._provider = provider
        self._own = own

    def at(self, input_tokens: int, *, remembered: bool = False) -> Price:
        """Return the price for an input of a certain length: with some providers, long ones cost more per
        token. `remembered` adds the maximum surcharge for writing the input to the provider's cache."""
        price = self.price if self._found is None else _price(self._found, input_tokens)
        if not remembered or price.kind != "known":
            return price
        dearer = self._own.cache_write if self._own else _write_rate(self._found, input_tokens)
        return Price("known", max(price.input_per_million, dearer or 0.0), price.output_per_million)

    def cost(self, usage: Any, tokens: Usage) -> Usage:
        """Return the usage with its cost, including the rates for long and cached inputs."""
        cached = usage.cache_read_tokens or usage.cache_write_tokens
        if self._found is None and not (self._own and cached):
            return tokens
        if self._own is not None:
            usd = _own_cost(self._own, tokens)
        elif self._found is not None and cached:
            usd = float(self._found.calc_price(usage, self._provider).total_price)
        else:  # same result, in a hundredth of the time
            usd = charge(self.at(tokens.input_tokens), tokens).usd
        return msgspec.structs.replace(tokens, usd=usd)


def rates_of(provider: str, model: str, own: Mapping[str, OwnPrice]) -> Rates:
    """Return the price of `provider:model`."""
    mine = own.get(f"{provider}:{model}")
    if mine is not None:
        return Rates(Price("known", mine.input, mine.output), own=mine)
    if provider not in TABLES:
        return Rates(UNKNOWN)
    try:
        table, found = get_snapshot().find_provider_model(model, None, TABLES[provider], None)
    except LookupError:
        return Rates(UNKNOWN)
    price = _price(found, 0)
    return Rates(price, found, table) if price.kind == "known" else Rates(UNKNOWN)


class Listed(NamedTuple):
    """One model of the price tables."""

    model: str
    """The provider's name of the model."""
    price: Price
    window: int | None
    """Context window in tokens; `None` if the tables do not say."""


def listed(provider: str) -> list[Listed]:
    """Return every text model of a provider that is billed by the token, by name."""
    table = next((one for one in get_snapshot().providers if one.id == TABLES.get(provider)), None)
    models = () if table is None else table.models
    found = [Listed(one.id, _price(one, 0), one.context_window) for one in models if not one.deprecated]
    return sorted(one for one in found if one.price.kind == "known" and one.price.output_per_million)


def window_of(provider: str, model: str) -> int | None:
    """Return the context window of a model in tokens, or None if unknown."""
    try:
        return get_snapshot().find_provider_model(model, None, TABLES[provider], None)[1].context_window
    except LookupError:  # no such provider, or no such model
        return None


def _price(found: ModelInfo, input_tokens: int) -> Price:
    prices = found.get_prices(datetime.now(UTC))
    into, out = prices.input_mtok, prices.output_mtok
    if into is None and out is None:
        return UNKNOWN  # priced by the request or the minute: no ceiling could be computed
    return Price("known", _rate(into, input_tokens), _rate(out, input_tokens))


def _write_rate(found: ModelInfo | None, input_tokens: int) -> float:
    if found is None:
        return 0.0
    return _rate(found.get_prices(datetime.now(UTC)).cache_write_mtok, input_tokens)


def _own_cost(own: OwnPrice, tokens: Usage) -> float:
    read, wrote = tokens.cache_read_tokens, tokens.cache_write_tokens
    told = (
        (tokens.input_tokens - read - wrote, own.input),
        (read, own.input if own.cache_read is None else own.cache_read),
        (wrote, own.input if own.cache_write is None else own.cache_write),
        (tokens.output_tokens, own.output),
    )
    return sum(amount * rate for amount, rate in told) / 1_000_000


def _rate(price: Decimal | TieredPrices | None, input_tokens: int) -> float:
    """Return dollars per million tokens; the last tier that begins at or below this input applies to all of
    it."""
    if isinstance(price, TieredPrices):
        passed = [tier.price for tier in price.tiers if input_tokens >= tier.start]
        return float(passed[-1] if passed else price.base)
    return float(price or 0)
