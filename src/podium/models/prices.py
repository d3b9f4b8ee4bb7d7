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

from podium.models.catalogue import PROVIDERS
from podium.models.model import UNKNOWN, Price, Usage, charge
from podium.settings import OwnPrice


class Rates:
    """The price of one model. It may be higher for long inputs."""

    def __init__(
        self,
        price: Price,
        info: ModelInfo | None = None,
        provider: Any = None,
        own: OwnPrice | None = None,
    ) -> None:
        self.price = price
        """Price for an input of ordinary length."""
        self._info = info
        self._provider = provider
        self._own = own

    def at(self, input_tokens: int, *, remembered: bool = False) -> Price:
        """Return the price for an input of a certain length: with some providers, long ones cost more per
        token. `remembered` adds the maximum surcharge for writing the input to the provider's cache."""
        price = self.price if self._info is None else _price(self._info, input_tokens)
        if not remembered or price.kind != "known":
            return price
        dearer = self._own.cache_write if self._own else _write_rate(self._info, input_tokens)
        return Price("known", max(price.input_per_million, dearer or 0.0), price.output_per_million)

    def cost(self, usage: Any, tokens: Usage) -> Usage:
        """Return the usage with its cost, including the rates for long and cached inputs."""
        cached = usage.cache_read_tokens or usage.cache_write_tokens
        if self._info is None and not (self._own and cached):
            return tokens
        if self._own is not None:
            usd = _own_cost(self._own, tokens)
        elif self._info is not None and cached:
            usd = float(self._info.calc_price(usage, self._provider).total_price)
        else:  # same result, in a hundredth of the time
            usd = charge(self.at(tokens.input_tokens), tokens).usd
        return msgspec.structs.replace(tokens, usd=usd)


def rates_of(provider: str, model: str, own: Mapping[str, OwnPrice]) -> Rates:
    """Return the price of `provider:model`."""
    mine = own.get(f"{provider}:{model}")
    if mine is not None:
        return Rates(Price("known", mine.input, mine.output), own=mine)
    try:
        table, info = _find(provider, model)
    except LookupError:  # no such provider, no table, or no such model
        return Rates(UNKNOWN)
    price = _price(info, 0)
    return Rates(price, info, table) if price.kind == "known" else Rates(UNKNOWN)


class Listed(NamedTuple):
    """One model of the price tables."""

    model: str
    """The provider's name of the model."""
    price: Price
    window: int | None
    """Context window in tokens; `None` if the tables do not say."""


def listed(provider: str) -> list[Listed]:
    """Return every text model of a provider that is billed by the token, by name."""
    tables = [table for table in get_snapshot().providers if table.id == PROVIDERS[provider].table]
    models = [
        Listed(model.id, _price(model, 0), model.context_window)
        for model in (tables[0].models if tables else ())
        if not model.deprecated
    ]
    return sorted(model for model in models if model.price.kind == "known" and model.price.output_per_million)


def window_of(provider: str, model: str) -> int | None:
    """Return the context window of a model in tokens, or None if unknown."""
    try:
        return _find(provider, model)[1].context_window
    except LookupError:
        return None


def _find(provider: str, model: str) -> tuple[Any, ModelInfo]:
    return get_snapshot().find_provider_model(model, None, PROVIDERS[provider].table, None)


def _price(info: ModelInfo, input_tokens: int) -> Price:
    prices = info.get_prices(datetime.now(UTC))
    into, out = prices.input_mtok, prices.output_mtok
    if into is None and out is None:
        return UNKNOWN  # priced by the request or the minute: no ceiling could be computed
    return Price("known", _rate(into, input_tokens), _rate(out, input_tokens))


def _write_rate(info: ModelInfo | None, input_tokens: int) -> float:
    if info is None:
        return 0.0
    return _rate(info.get_prices(datetime.now(UTC)).cache_write_mtok, input_tokens)


def _own_cost(own: OwnPrice, tokens: Usage) -> float:
    read, wrote = tokens.cache_read_tokens, tokens.cache_write_tokens
    priced = (
        (tokens.input_tokens - read - wrote, own.input),
        (read, own.input if own.cache_read is None else own.cache_read),
        (wrote, own.input if own.cache_write is None else own.cache_write),
        (tokens.output_tokens, own.output),
    )
    return sum(amount * rate for amount, rate in priced) / 1_000_000


def _rate(price: Decimal | TieredPrices | None, input_tokens: int) -> float:
    """Return dollars per million tokens; the last tier that begins at or below this input applies to all of
    it."""
    if isinstance(price, TieredPrices):
        passed = [tier.price for tier in price.tiers if input_tokens >= tier.start]
        return float(passed[-1] if passed else price.base)
    return float(price or 0)
