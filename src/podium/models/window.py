"""How much a model can read at once, as far as the public tables know."""

from __future__ import annotations

from podium.models.catalogue import has_price_tables
from podium.models.registry import is_hosted


def context_window(name: str) -> int | None:
    """Tokens of the window of `provider:model`; `None`: nobody knows. Nothing is asked over the network."""
    provider, _, model = name.partition(":")
    if not is_hosted(name) or not has_price_tables():
        return None
    from podium.models.prices import window_of  # noqa: PLC0415 - the tables take a while to load

    return window_of(provider, model)
