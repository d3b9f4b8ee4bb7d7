"""Which models stand behind `fast`, `balanced` and `powerful` when the settings do not say.

The first provider below whose key is set, and whose client is installed, answers with the models of its row.
Its models and the order are part of what users rely on: a change belongs into the changelog.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from podium.models.catalogue import PROVIDERS, Provider, is_installed
from podium.settings import Settings, variable

PROFILES = ("fast", "balanced", "powerful")
"""The profiles that every provider's row fills. Agents may name others; `balanced` stands in for those."""

DEFAULTS: dict[str, tuple[str, str, str]] = {
    "openai": ("gpt-6-luna", "gpt-6.1-terra", "gpt-6.1-sol"),
    "anthropic": ("claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5"),
    "google": ("gemini-3.5-flash-lite", "gemini-3.8-flash", "gemini-4-argon"),
    "mistral": ("mistral-small-2603", "mistral-large-2512", "mistral-large-4"),
    "groq": ("openai/gpt-oss-20b", "openai/gpt-oss-120b", "openai/gpt-oss-120b"),
    "openrouter": (
        "anthropic/claude-haiku-5.5", "anthropic/claude-sonnet-5.5", "anthropic/claude-opus-5.5",
    ),
    "bedrock": (
        "global.anthropic.claude-haiku-5-5",
        "global.anthropic.claude-sonnet-5-5",
        "global.anthropic.claude-opus-5-5",
    ),
}  # fmt: skip
"""Each provider's own choice, in the order in which providers are preferred."""

Behind = dict[str, str | list[str]]
"""Profile -> its model, or its models in the order in which they take over."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What an environment chooses."""

    provider: str = ""
    """Empty: none, so whatever nobody named is rehearsed."""
    key: str = ""
    """The variable that decided it; never its value."""
    lacking: str = ""
    """The extra of the first provider whose key is set in vain: its client is not installed."""
    unused_key: str = ""
    """The variable of that provider."""

    @property
    def profiles(self) -> Behind:
        return dict(defaults_of(self.provider)) if self.provider else {}

    @property
    def told(self) -> str:
        """Why, in one clause; empty when there is nothing to say."""
        if self.provider:
            return f"chosen because {self.key} is set"
        if self.lacking:
            return f"{self.unused_key} is set, but its client is not installed: {install(self.lacking)}"
        return ""


def defaults_of(provider: str) -> dict[str, str]:
    """Profile -> `provider:model`; empty for a provider without a choice of its own."""
    models = DEFAULTS.get(provider, ())
    return {profile: f"{provider}:{model}" for profile, model in zip(PROFILES, models, strict=False)}


def install(extra: str) -> str:
    """The command that brings a provider's client."""
    return f"pip install 'podium[{extra}]'"


def key_of(provider: Provider, env: Mapping[str, str] | None = None) -> str:
    """The name of the variable that holds this provider's key; empty when none is set."""
    return next((name for name in provider.keys if variable(name, env=env)), "")


def choose(env: Mapping[str, str] | None = None) -> Choice:
    """The provider that answers when nobody named a model."""
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
    """What stands behind each profile: the settings' own entries, one by one, over the provider's."""
    return {**choice.profiles, **settings.profiles}


def resolved(settings: Settings, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What a run that names no model is started with. It is written into the log, so the run keeps its models
    whatever becomes of the environment."""
    choice = choose(env)
    told = why(settings, choice)
    return {"profiles": behind(settings, choice), **({"choice": told} if told else {})}


def why(settings: Settings, choice: Choice) -> str:
    """Why which profiles have the models that nobody named."""
    open_ones = [profile for profile in PROFILES if profile not in settings.profiles]
    if not choice.provider:
        return choice.told if "balanced" in open_ones else ""
    which = "" if open_ones == [*PROFILES] else f"{' and '.join(open_ones)} "
    return f"{which}{choice.told}" if open_ones else ""


def is_profile(name: str, profiles: Mapping[str, Any]) -> bool:
    """Whether a name stands for a kind of model rather than for one model."""
    return name in PROFILES or name in profiles


def models_of(profile: str, profiles: Mapping[str, Any]) -> list[str]:
    """The models of a profile, the first of them first. One that nobody has set is as `balanced`; without
    that there are none."""
    found: Any = profiles.get(profile) or profiles.get("balanced") or []
    return [found] if isinstance(found, str) else list(found)
