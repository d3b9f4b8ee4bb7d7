"""Model lookup, provider offers and context windows.

Offline models are opened here. Hosted ones (`openai:…`, `anthropic:…`) are in `podium.models.providers`,
imported on the first use of such a name and never before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from podium.engine.log import Store
from podium.errors import ModelUnavailableError
from podium.models.catalogue import (
    COMPATIBLE,
    PROFILES,
    PROVIDERS,
    Provider,
    access_to,
    defaults_of,
    has_price_tables,
    install,
    is_installed,
    key_of,
)
from podium.models.local import ReplayModel, load_function
from podium.models.model import FREE, UNKNOWN, Model, Price
from podium.models.rehearsal import Rehearsal
from podium.settings import Settings, nearest, variable
from podium.settings.options import longest_timeout

DEFAULT = "rehearsal"
"""The model used when none is named and no provider has a key: it needs none and costs nothing."""

OFFLINE = ("rehearsal", "python:FILE.py:function", "replay:RUN_ID")
"""Name patterns of models that need no key or package."""

_HOSTED = ", ".join(f"{name}:MODEL" for name in PROVIDERS if name != "openai-compatible")
_WORKS = f"These work: {', '.join(OFFLINE)}, {_HOSTED}, {COMPATIBLE}."


def is_hosted(name: str) -> bool:
    """Return whether a name refers to a provider's model."""
    kind, _, rest = name.partition(":")
    return kind in PROVIDERS and bool(rest)


def open_model(
    name: str,
    *,
    store: Store | None = None,
    settings: Settings | None = None,
    env: Mapping[str, str] | None = None,
) -> Model:
    """Open the model of a name; raise `ModelUnavailableError` if there is none. `store` holds the run for
    `replay:` and the rate limits of a fleet; `env` replaces the environment in which keys are looked up."""
    kind, _, rest = name.partition(":")
    match kind:
        case "rehearsal" if not rest:
            return Rehearsal()
        case "python":
            return load_function(name)
        case "replay":
            return _open_replay(name, rest, store)
        case _ if is_hosted(name):
            return _open_hosted(name, settings or Settings(), env, store)
        case _:
            raise _unknown(name, kind, rest)


def _open_hosted(name: str, settings: Settings, env: Mapping[str, str] | None, store: Store | None) -> Model:
    access = access_to(name, settings.providers, env)
    access = msgspec.structs.replace(access, read_s=longest_timeout(settings))
    from podium.models.providers.hosted import open_hosted  # noqa: PLC0415 - takes a second to import

    return open_hosted(access, settings.prices, store.limits if store is not None else None)


def _open_replay(name: str, run_id: str, store: Store | None) -> Model:
    if not run_id:
        raise ModelUnavailableError(f"The model {name} names no run.", hint="Write it as replay:RUN_ID.")
    if store is None:
        raise ModelUnavailableError(f"The model {name} needs a store to read that run from.")
    return ReplayModel(run_id, store)


def _unknown(name: str, kind: str, rest: str) -> ModelUnavailableError:
    if kind.endswith(".py"):
        return ModelUnavailableError(f"There is no model {name}.", hint=f"Did you mean python:{name}?")
    if name in PROFILES:
        return ModelUnavailableError(
            f"{name} is a profile, not a model.",
            hint=f"Agents ask for profiles; [profiles] in podium.toml says which model {name} is.",
        )
    if kind in PROVIDERS:
        form = COMPATIBLE if kind == "openai-compatible" else f"{kind}:MODEL"
        return ModelUnavailableError(f"The name {name} names no model.", hint=f"Write it as {form}.")
    meant = nearest(kind.lower(), ("rehearsal", "python", "replay", *PROVIDERS))
    full = f"{meant}:{rest}" if rest and meant != DEFAULT else meant
    hint = f"Did you mean {full}? {_WORKS}" if meant else _WORKS
    return ModelUnavailableError(f"There is no model {name or '(empty name)'}.", hint=hint)


class Rated(msgspec.Struct, frozen=True):
    """A model with its price and context window."""

    name: str
    """Podium's name of the model: `provider:model`."""
    price: Price
    window: int | None = None


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """Availability of one provider."""

    provider: Provider
    key: str
    """Name of the variable that holds its key; empty: none is set."""
    installed: bool
    own_address: bool = False
    """A custom base URL is set, where it may need no key."""
    defaults: dict[str, str] = {}
    """Profile -> model."""

    @property
    def usable(self) -> bool:
        return self.installed and bool(self.key or self.provider.keyless or self.own_address)

    @property
    def missing(self) -> str:
        """Steps to take before it can be used, in one line; empty if there are none."""
        steps = [] if self.installed else [install(self.provider.extra)]
        if not (self.key or self.provider.keyless or self.own_address):
            steps.append(f"set {' or '.join(self.provider.keys)}")
        return ", then ".join(steps)

    @property
    def note(self) -> str:
        return self.provider.note


def offers(settings: Settings, env: Mapping[str, str] | None = None) -> list[Offer]:
    """Return all providers, in order of preference."""
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
    """Return models with their prices. The tables are read only for models of providers that have one."""
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
    """Return every model of a provider in the price tables."""
    if not has_price_tables():
        return []
    from podium.models.prices import listed  # noqa: PLC0415 - the tables take a while to load

    names = [(f"{provider.name}:{model.model}", model) for model in listed(provider.name)]
    return [Rated(name, _own_price(name, settings) or model.price, model.window) for name, model in names]


def _own_price(name: str, settings: Settings) -> Price | None:
    own = settings.prices.get(name)
    return None if own is None else Price("known", own.input, own.output)


def context_window(name: str) -> int | None:
    """Return the context window of `provider:model` in tokens; `None` if unknown. Makes no network
    request."""
    provider, _, model = name.partition(":")
    if not is_hosted(name) or not has_price_tables():
        return None
    from podium.models.prices import window_of  # noqa: PLC0415 - the tables take a while to load

    return window_of(provider, model)
