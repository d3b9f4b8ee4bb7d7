"""Settings of one reply: how long it may take, and how long it may be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import msgspec

from podium.settings.words import parse_duration

if TYPE_CHECKING:
    from podium.settings import Settings

LONGEST_TIMEOUT = 7 * 86_400.0
"""Seconds. A longer time-out is a mistake of units."""
MOST_TOKENS = 10_000_000
"""Tokens of one reply. No model writes as much."""

ReplyTokens = Annotated[int, msgspec.Meta(ge=1, le=MOST_TOKENS)]

TIMEOUT_EXPECTED = "a duration such as 90s or 20m, more than 0 and at most 7 days"
TOKENS_EXPECTED = f"a whole number from 1 to {MOST_TOKENS:,}"


class ReplyLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits for the replies of one agent (`[agents.NAME]`) or of one model (`[models."NAME"]`)."""

    reply_timeout: float | None = None
    """Seconds that one reply may take; written like `time_limit`."""
    reply_tokens: ReplyTokens | None = None
    """Most tokens of one reply."""


def parse_timeout(value: str | float) -> float:
    """Return the seconds of a reply's time-out; `ValueError` for anything that is not one."""
    seconds = parse_duration(value)
    if seconds > LONGEST_TIMEOUT:
        raise ValueError("a reply's time-out must be at most 7 days")
    return seconds


def for_model(name: str, models: Mapping[str, ReplyLimits]) -> list[ReplyLimits]:
    """Return the entries of `[models]` that match a model's name, the most specific first.

    An entry is a whole name, or a pattern in which `*` stands for any text, such as
    `openai-compatible:*@http://10.0.0.7:8000/v1`. A longer pattern is more specific.
    """
    if not models:
        return []
    wanted = name.rstrip("/")
    matching = [pattern for pattern in models if _matches(wanted, pattern.rstrip("/"))]
    return [models[pattern] for pattern in sorted(matching, key=lambda one: ("*" in one, -len(one)))]


def longest_timeout(settings: Settings) -> float:
    """Return the longest time-out of a reply that the settings hold; 0 if they hold none."""
    tables = (settings.providers, settings.models, settings.agents)
    entries = [settings, *(entry for table in tables for entry in table.values())]
    return max(entry.reply_timeout or 0.0 for entry in entries)


def _matches(name: str, pattern: str) -> bool:
    if "*" not in pattern:
        return name == pattern
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None
