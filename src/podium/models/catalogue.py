"""The providers by name: what each needs before it can be asked. Imports nothing of theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

import msgspec

from podium.errors import ModelUnavailableError
from podium.settings import ProviderOptions, variable


class Provider(msgspec.Struct, frozen=True):
    """One provider."""

    name: str
    extra: str
    """The extra of Podium that brings its client."""
    package: str
    """What must be importable."""
    keys: tuple[str, ...] = ()
    """Variables that hold its key; the first that is set counts."""
    addresses: tuple[str, ...] = ()
    """Variables that hold another base URL."""
    address: str = ""
    """Its own base URL, where its client does not know it."""
    keyless: bool = False
    """It can be asked without a key."""


PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider("openai", "openai", "openai", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",)),
        Provider("openai-chat", "openai", "openai", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",)),
        Provider("anthropic", "anthropic", "anthropic", ("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",)),
        Provider(
            "google", "google", "google.genai", ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
            ("GOOGLE_GEMINI_BASE_URL",),
        ),
        Provider("mistral", "mistral", "mistralai", ("MISTRAL_API_KEY",), ("MISTRAL_BASE_URL",)),
        Provider("groq", "groq", "groq", ("GROQ_API_KEY",), ("GROQ_BASE_URL",)),
        Provider(
            "openrouter", "openai", "openai", ("OPENROUTER_API_KEY",), ("OPENROUTER_BASE_URL",),
            "https://openrouter.ai/api/v1",
        ),
        Provider(
            "bedrock", "bedrock", "boto3", ("AWS_BEARER_TOKEN_BEDROCK",),
            ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",), keyless=True,
        ),
        Provider(
            "ollama", "openai", "openai", ("OLLAMA_API_KEY",), ("OLLAMA_BASE_URL",),
            "http://127.0.0.1:11434/v1", keyless=True,
        ),
        Provider(
            "openai-compatible", "openai", "openai", ("OPENAI_COMPATIBLE_API_KEY",), keyless=True,
        ),
    )
}  # fmt: skip

COMPATIBLE = "openai-compatible:MODEL@URL"
_COMPATIBLE = re.compile(r"(?P<model>.+?)@(?P<url>https?://.+)", re.DOTALL)


class Access(msgspec.Struct, frozen=True):
    """Everything that is needed to ask one model. Holds a key: never shown, never logged."""

    provider: Provider
    model: str
    """The provider's name of the model."""
    name: str
    """Podium's name of it."""
    key: str = ""
    address: str = ""
    """Base URL; empty: the client's own."""
    options: ProviderOptions = ProviderOptions()
    read_s: float = 0.0
    """The longest time-out that the settings give a reply; 0: none is set."""

    def __repr__(self) -> str:
        return f"Access({self.name!r})"


def access_to(
    name: str, options: Mapping[str, ProviderOptions], env: Mapping[str, str] | None = None
) -> Access:
    """What it takes to ask a hosted model; `ModelUnavailableError` says in one sentence what is missing."""
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
    found = _COMPATIBLE.fullmatch(rest)
    if found is None:
        raise ModelUnavailableError(
            f"A model at an address is written as {COMPATIBLE}.",
            hint="For example: openai-compatible:qwen3@http://127.0.0.1:8000/v1",
        )
    return found["model"], found["url"].rstrip("/")


def _check_address(address: str, provider: str) -> None:
    """An address ends up in names and events: it must hold no secret."""
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
    """Whether its client is there; imports nothing of it."""
    return all(_found(package) for package in ("pydantic_ai", "genai_prices", provider.package))


def has_price_tables() -> bool:
    """Whether prices can be looked up; every provider's extra brings the tables of all."""
    return _found("genai_prices")


def _check_installed(provider: Provider, name: str) -> None:
    if not is_installed(provider):
        raise ModelUnavailableError(
            f"The model {name} needs one more package: pip install 'podium[{provider.extra}]'"
        )


def _found(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package around it is missing too
        return False
