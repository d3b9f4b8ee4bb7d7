"""Providers, access to them, and default profiles.

The first provider below whose key is set and whose client is installed supplies the default models. Users
rely on its models and on the order: a change belongs into the changelog.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import msgspec

from podium.errors import ModelUnavailableError
from podium.settings import ProviderOptions, Settings, variable


class Provider(msgspec.Struct, frozen=True):
    """A provider of hosted models."""

    name: str
    extra: str
    """The extra of Podium that installs its client."""
    package: str
    """Package that must be importable."""
    keys: tuple[str, ...] = ()
    """Environment variables for its key; the first one that is set counts."""
    addresses: tuple[str, ...] = ()
    """Environment variables for another base URL."""
    address: str = ""
    """Its base URL, if its client does not know it."""
    keyless: bool = False
    """It can be used without a key."""
    defaults: tuple[str, ...] = ()
    """Its models for `PROFILES`; empty: it is never chosen by itself."""
    table: str = ""
    """Its name in the public price tables; empty: only prices of the settings are known."""
    note: str = ""
    """A remark for lists of providers."""


COMPATIBLE = "openai-compatible:MODEL@URL"

PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            name="openai",
            extra="openai",
            package="openai",
            keys=("OPENAI_API_KEY",),
            addresses=("OPENAI_BASE_URL",),
            defaults=("gpt-6-luna", "gpt-6.1-terra", "gpt-6.1-sol"),
            table="openai",
        ),
        Provider(
            name="openai-chat",
            extra="openai",
            package="openai",
            keys=("OPENAI_API_KEY",),
            addresses=("OPENAI_BASE_URL",),
            table="openai",
            note="the models of openai, over its older Chat API",
        ),
        Provider(
            name="anthropic",
            extra="anthropic",
            package="anthropic",
            keys=("ANTHROPIC_API_KEY",),
            addresses=("ANTHROPIC_BASE_URL",),
            defaults=("claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5"),
            table="anthropic",
        ),
        Provider(
            name="google",
            extra="google",
            package="google.genai",
            keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
            addresses=("GOOGLE_GEMINI_BASE_URL",),
            defaults=("gemini-3.5-flash-lite", "gemini-3.8-flash", "gemini-4-argon"),
            table="google",
        ),
        Provider(
            name="mistral",
            extra="mistral",
            package="mistralai",
            keys=("MISTRAL_API_KEY",),
            addresses=("MISTRAL_BASE_URL",),
            defaults=("mistral-small-2603", "mistral-large-2512", "mistral-large-4"),
            table="mistral",
        ),
        Provider(
            name="groq",
            extra="groq",
            package="groq",
            keys=("GROQ_API_KEY",),
            addresses=("GROQ_BASE_URL",),
            defaults=("openai/gpt-oss-20b", "openai/gpt-oss-120b", "openai/gpt-oss-120b"),
            table="groq",
        ),
        Provider(
            name="openrouter",
            extra="openai",
            package="openai",
            keys=("OPENROUTER_API_KEY",),
            addresses=("OPENROUTER_BASE_URL",),
            address="https://openrouter.ai/api/v1",
            defaults=(
                "anthropic/claude-haiku-5.5",
                "anthropic/claude-sonnet-5.5",
                "anthropic/claude-opus-5.5",
            ),
            table="openrouter",
        ),
        Provider(
            name="bedrock",
            extra="bedrock",
            package="boto3",
            keys=("AWS_BEARER_TOKEN_BEDROCK",),
            addresses=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",),
            keyless=True,
            defaults=(
                "global.anthropic.claude-haiku-5-5",
                "global.anthropic.claude-sonnet-5-5",
                "global.anthropic.claude-opus-5-5",
            ),
            table="aws",
            note="credentials and region as AWS's own tools find them",
        ),
        Provider(
            name="ollama",
            extra="openai",
            package="openai",
            keys=("OLLAMA_API_KEY",),
            addresses=("OLLAMA_BASE_URL",),
            address="http://127.0.0.1:11434/v1",
            keyless=True,
            note="any model that you have pulled: ollama:MODEL",
        ),
        Provider(
            name="openai-compatible",
            extra="openai",
            package="openai",
            keys=("OPENAI_COMPATIBLE_API_KEY",),
            keyless=True,
            note=f"any server that speaks the same: {COMPATIBLE}",
        ),
    )
}
"""All providers by name, in order of preference. A server that speaks OpenAI's Chat format needs only a row
here; any other also an opener in `podium.models.providers.clients`."""

OTHER_KEYS = (
    "COHERE_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "HF_TOKEN",
    "TAVILY_API_KEY",
    "BRAVE_API_KEY",
)
"""Environment variables of keys that providers of models or tools read by themselves."""

_COMPATIBLE = re.compile(r"(?P<model>.+?)@(?P<url>https?://.+)", re.DOTALL)


class Access(msgspec.Struct, frozen=True):
    """Everything needed to call one model. Contains a key: never show or log it."""

    provider: Provider
    model: str
    """The provider's name of the model."""
    name: str
    """Podium's name of the model."""
    key: str = ""
    address: str = ""
    """Base URL; empty: the client's default."""
    options: ProviderOptions = ProviderOptions()
    read_s: float = 0.0
    """The longest reply timeout of the settings, in seconds; 0: none is set."""

    def __repr__(self) -> str:
        return f"Access({self.name!r})"


def access_to(
    name: str, options: Mapping[str, ProviderOptions], env: Mapping[str, str] | None = None
) -> Access:
    """Return the access to a hosted model; raise `ModelUnavailableError` that says what is missing."""
    kind, _, model = name.partition(":")
    provider = PROVIDERS[kind]
    chosen = options.get(kind, ProviderOptions())
    address = chosen.base_url or variable(*provider.addresses, env=env)
    if kind == "openai-compatible":
        model, address = _compatible(model)
    _check_address(address, kind)
    if kind == "ollama" and address and urlsplit(address).path in ("", "/"):
        address = f"{address.rstrip('/')}/v1"
    if not model.strip():
        raise ModelUnavailableError(f"The name {name} names no model.", hint=f"Write it as {kind}:MODEL.")
    key = variable(*provider.keys, env=env)
    if not key and not provider.keyless and not address:
        raise ModelUnavailableError(f"The model {name} needs a key in {provider.keys[0]}.")
    _check_installed(provider, name)
    return Access(provider, model, name, key, address or provider.address, chosen)


def _compatible(rest: str) -> tuple[str, str]:
    match = _COMPATIBLE.fullmatch(rest)
    if match is None:
        raise ModelUnavailableError(
            f"A model at an address is written as {COMPATIBLE}.",
            hint="For example: openai-compatible:qwen3@http://127.0.0.1:8000/v1",
        )
    return match["model"], match["url"].rstrip("/")


def _check_address(address: str, provider: str) -> None:
    """Reject an invalid address, or one that contains a secret, because addresses appear in names and
    events."""
    if not address:
        return
    try:
        url = urlsplit(address)
        wrong = url.scheme not in ("http", "https") or not url.hostname
        secret = bool(url.username or url.password or url.query or url.fragment)
    except ValueError:
        wrong, secret = True, False
    if secret:
        raise ModelUnavailableError(
            f"The address of {provider} holds more than a place: no user, password or parameters, please.",
            hint=f"Put the key into {PROVIDERS[provider].keys[0]}.",
        )
    if wrong:
        raise ModelUnavailableError(f"The address of {provider} is no http or https URL: {address}.")


def is_installed(provider: Provider) -> bool:
    """Return whether the provider's client is installed, without importing it."""
    return all(_found(package) for package in ("pydantic_ai", "genai_prices", provider.package))


def has_price_tables() -> bool:
    """Return whether prices can be looked up; every provider's extra installs the tables of all."""
    return _found("genai_prices")


def _check_installed(provider: Provider, name: str) -> None:
    if not is_installed(provider):
        raise ModelUnavailableError(
            f"The model {name} needs one more package: pip install 'podium[{provider.extra}]'"
        )


def _found(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the parent package is missing too
        return False


PROFILES = ("fast", "balanced", "powerful")
"""The profiles that every provider fills. Agents may name others, which fall back to `balanced`."""

DEFAULTS: dict[str, tuple[str, ...]] = {
    provider.name: provider.defaults for provider in PROVIDERS.values() if provider.defaults
}
"""Default models of each provider, in the order in which providers are preferred."""

Behind = dict[str, str | list[str]]
"""Profile -> its model, or its models in fallback order."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The provider that the environment selects."""

    provider: str = ""
    """Empty: none, so agents without a named model use the rehearsal."""
    key: str = ""
    """Name of the variable that decided it; never its value."""
    lacking: str = ""
    """The extra of the first provider whose key is set but whose client is not installed."""
    unused_key: str = ""
    """The key variable of that provider."""

    @property
    def profiles(self) -> Behind:
        return dict(defaults_of(self.provider)) if self.provider else {}

    @property
    def reason(self) -> str:
        """The reason in one clause; empty if there is none."""
        if self.provider:
            return f"chosen because {self.key} is set"
        if self.lacking:
            return f"{self.unused_key} is set, but its client is not installed: {install(self.lacking)}"
        return ""


def defaults_of(provider: str) -> dict[str, str]:
    """Return profile -> `provider:model`; empty for a provider without defaults."""
    models = DEFAULTS.get(provider, ())
    return {profile: f"{provider}:{model}" for profile, model in zip(PROFILES, models, strict=False)}


def install(extra: str) -> str:
    """Return the command that installs a provider's client."""
    return f"pip install 'podium[{extra}]'"


def key_of(provider: Provider, env: Mapping[str, str] | None = None) -> str:
    """Return the name of the variable that holds this provider's key; empty if none is set."""
    return next((name for name in provider.keys if variable(name, env=env)), "")


def keys_set(env: Mapping[str, str] | None = None) -> list[str]:
    """Return the names of the known keys that are set; never their values."""
    known = dict.fromkeys([key for provider in PROVIDERS.values() for key in provider.keys] + [*OTHER_KEYS])
    return [name for name in known if variable(name, env=env)]


def choose(env: Mapping[str, str] | None = None) -> Choice:
    """Return the provider to use when no model is named."""
    lacking = unused = ""
    for name in DEFAULTS:
        provider = PROVIDERS[name]
        key = key_of(provider, env)
        if key and is_installed(provider):
            return Choice(provider=name, key=key, lacking=lacking, unused_key=unused)
        if key and not lacking:
            lacking, unused = provider.extra, key
    return Choice(lacking=lacking, unused_key=unused)


def behind(settings: Settings, choice: Choice) -> Behind:
    """Return the models of each profile: the settings' own entries override the provider's, one by one."""
    return {**choice.profiles, **settings.profiles}


def resolved(settings: Settings, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the config of a run that names no model. It is written into the log, so the run keeps its models
    when the environment changes."""
    choice = choose(env)
    reason = why(settings, choice)
    return {"profiles": behind(settings, choice), **({"choice": reason} if reason else {})}


def why(settings: Settings, choice: Choice) -> str:
    """Return why the profiles without a setting have their models."""
    open_ones = [profile for profile in PROFILES if profile not in settings.profiles]
    if not choice.provider:
        return choice.reason if "balanced" in open_ones else ""
    which = "" if open_ones == [*PROFILES] else f"{' and '.join(open_ones)} "
    return f"{which}{choice.reason}" if open_ones else ""


def is_profile(name: str, profiles: Mapping[str, Any]) -> bool:
    """Return whether a name is a profile rather than a model."""
    return name in PROFILES or name in profiles


def models_of(profile: str, profiles: Mapping[str, Any]) -> list[str]:
    """Return the models of a profile, in fallback order. A profile without a setting falls back to
    `balanced`; without that the list is empty."""
    models: Any = profiles.get(profile) or profiles.get("balanced") or []
    return [models] if isinstance(models, str) else list(models)
