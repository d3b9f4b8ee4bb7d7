"""How much a model can read at once, as far as the public tables know."""

from __future__ import annotations

WITHOUT_TABLES = ("rehearsal", "replay", "python", "ollama", "openai-compatible")
"""Models that no table knows."""


def context_window(name: str) -> int | None:
    """Tokens of the window of `provider:model`; `None`: nobody knows. Nothing is asked over the network."""
    provider, colon, model = name.partition(":")
    if not colon or provider in WITHOUT_TABLES:
        return None
    try:
        from podium.models.prices import TABLES, get_snapshot  # noqa: PLC0415 - the tables take a while to load
    except ModuleNotFoundError:  # the extra is not installed, so the model cannot be asked either
        return None
    try:
        return get_snapshot().find_provider_model(model, None, TABLES[provider], None)[1].context_window
    except LookupError:  # no such provider, or no such model
        return None
