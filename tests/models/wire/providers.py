"""One model of each provider, at a server on loopback."""

from __future__ import annotations

from typing import Any

import pytest

from podium.models.catalogue import PROVIDERS
from podium.settings import OwnPrice, ProviderOptions, Settings
from tests.models.wire.server import Wire

NAMES = {
    "openai": "openai:gpt-5",
    "openai-chat": "openai-chat:gpt-4o",
    "anthropic": "anthropic:claude-haiku-4-5",
    "google": "google:gemini-2.5-pro",
    "mistral": "mistral:mistral-large-latest",
    "groq": "groq:llama-3.3-70b-versatile",
    "openrouter": "openrouter:anthropic/claude-sonnet-4.5",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "ollama": "ollama:llama3",
    "openai-compatible": "openai-compatible:local",
}
INPUT, OUTPUT = 10.0, 40.0
"""Prices in US dollars per million tokens."""
_VERSIONED = ("openai", "openai-chat", "openrouter", "ollama", "openai-compatible")
"""Providers whose address ends in the version of the API."""


def name_at(provider: str, wire: Wire) -> str:
    """The name of a provider's model at this server."""
    name = NAMES[provider]
    return f"{name}@{wire.url}/v1" if provider == "openai-compatible" else name


def settings_at(wire: Wire, *, options: dict[str, Any] | None = None, **more: Any) -> Settings:
    """Settings that send every provider to this server, and try again almost at once."""
    addresses = {name: f"{wire.url}/v1" if name in _VERSIONED else wire.url for name in NAMES}
    return Settings(
        providers={name: ProviderOptions(base_url=url, **(options or {})) for name, url in addresses.items()},
        prices={name_at(provider, wire): OwnPrice(input=INPUT, output=OUTPUT) for provider in NAMES},
        retry_wait=0.001,
        **more,
    )


def set_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a key for each provider. AWS's client reads its own variables, and sends a bearer token only over
    an encrypted connection."""
    for provider in NAMES:
        aws = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
        for key in aws if provider == "bedrock" else PROVIDERS[provider].keys:
            monkeypatch.setenv(key, "some-key-of-a-test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
