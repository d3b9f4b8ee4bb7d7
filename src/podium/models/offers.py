"""What each provider has to offer here and now, and what is missing where it has nothing. Calls nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from podium.models.catalogue import COMPATIBLE, PROVIDERS, Provider, has_price_tables, is_installed
from podium.models.model import FREE, UNKNOWN, Price
from podium.models.profiles import defaults_of, install, key_of
from podium.models.registry import is_hosted
from podium.settings import Settings, variable

NOTES = {
    "openai-chat": "the models of openai, over its older Chat API",
    "bedrock": "credentials and region as AWS's own tools find them",
    "ollama": "any model that you have pulled: ollama:MODEL",
    "openai-compatible": f"any server that speaks the same: {COMPATIBLE}",
}
"""What to know of a provider besides its models."""


class Rated(msgspec.Struct, frozen=True):
    """A model with its price and how much it can read."""

    name: str
    """Podium's name of it: `provider:model`."""
    price: Price
    window: int | None = None


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One provider, as it is reachable from here."""

    provider: Provider
    key: str
    """The variable that holds its key; empty: none is set."""
    installed: bool
    own_address: bool = False
    """It is asked at another address than its own, where it may want no key."""
    defaults: dict[str, str] = {}
    """Profile -> model."""

    @property
    def usable(self) -> bool:
        return self.installed and bool(self.key or self.provider.keyless or self.own_address)

    @property
    def missing(self) -> str:
        """What has to be done before it can be used, in one line."""
        steps = [] if self.installed else [install(self.provider.extra)]
        if not (self.key or self.provider.keyless or self.own_address):
            steps.append(f"set {' or '.join(self.provider.keys)}")
        return ", then ".join(steps)

    @property
    def note(self) -> str:
        return NOTES.get(self.provider.name, "")


def offers(settings: Settings, env: Mapping[str, str] | None = None) -> list[Offer]:
    """All providers, in the order in which they are preferred."""
    return [_offer(provider, settings, env) for provider in PROVIDERS.values()]


def _offer(provider: Provider, settings: Settings, env: Mapping[str, str] | None) -> Offer:
    options = settings.providers.get(provider.name)
    return Offer(
        provider=provider,
        key=key_of(provider, env),
        installed=is_installed(provider),
        own_address=bool((options and options.base_url) or variable(*provider.addresses, env=env)),
        defaults=defaults_of(provider.name),
    )


def rated(names: Iterable[str], settings: Settings) -> list[Rated]:
    """Models with what is known of them. The tables are read only for models of providers that have one."""
    return [_rated(name, settings) for name in names]


def _rated(name: str, settings: Settings) -> Rated:
    provider, _, model = name.partition(":")
    own = _own_price(name, settings)
    if own is None and (provider == "ollama" or not is_hosted(name)):
        return Rated(name, FREE)
    if not has_price_tables():
        return Rated(name, own or UNKNOWN)
    from podium.models.prices import rates_of, window_of  # noqa: PLC0415 - the tables take a while to load

    return Rated(name, own or rates_of(provider, model, {}).price, window_of(provider, model))


def all_of(provider: Provider, settings: Settings) -> list[Rated]:
    """Every model of a provider that the price tables know."""
    if not has_price_tables():
        return []
    from podium.models.prices import listed  # noqa: PLC0415 - the tables take a while to load

    names = [(f"{provider.name}:{one.model}", one) for one in listed(provider.name)]
    return [Rated(name, _own_price(name, settings) or one.price, one.window) for name, one in names]


def _own_price(name: str, settings: Settings) -> Price | None:
    own = settings.prices.get(name)
    return None if own is None else Price("known", own.input, own.output)
