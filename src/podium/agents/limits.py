"""Limits of one reply: how long it may take and how long it may be, for an agent and a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from podium.agents.agent import Agent
from podium.models.catalogue import PROVIDERS
from podium.models.model import Call, Model
from podium.settings import ReplyLimits, Settings
from podium.settings.limits import for_model
from podium.settings.options import ProviderOptions


class Limits(NamedTuple):
    """The limits of one reply that are in force."""

    timeout: float
    """Seconds."""
    max_tokens: int


def limits_for(
    agent: Agent,
    model: str,
    settings: Settings,
    *,
    workflow: str = "",
    config: Mapping[str, Any] | None = None,
) -> Limits:
    """Return the limits of a reply of `model` to `agent`.

    Each limit is taken from the first place that sets it: the run's own config (`--reply-timeout`), the
    agent's table, the model's, the provider's, the settings for all agents, the agent's code.
    """
    given = config or {}
    timeout, tokens = given.get("reply_timeout"), given.get("reply_tokens")
    for entry in _entries(agent, model, settings, workflow):
        timeout = entry.reply_timeout if timeout is None else timeout
        tokens = entry.reply_tokens if tokens is None else tokens
    return Limits(
        agent.timeout if timeout is None else timeout, agent.max_tokens if tokens is None else tokens
    )


def limited(call: Call, agent: Agent, model: Model, settings: Settings, config: Mapping[str, Any]) -> Call:
    """Return the call with the limits that hold for it."""
    limits = limits_for(agent, model.name, settings, workflow=call.workflow, config=config)
    if (call.timeout, call.max_tokens) != limits:
        call = msgspec.structs.replace(call, timeout=limits.timeout, max_tokens=limits.max_tokens)
    return within(call, model)


def within(call: Call, model: Model) -> Call:
    """Return the call with no longer a reply than the model can give: its provider would refuse the call."""
    longest: int | None = getattr(model, "longest_reply", None)
    if longest is None or call.max_tokens <= longest:
        return call
    return msgspec.structs.replace(call, max_tokens=longest)


def _entries(
    agent: Agent, model: str, settings: Settings, workflow: str
) -> list[ReplyLimits | ProviderOptions | Settings]:
    """Return the parts of the settings that apply, the most specific first."""
    found: list[ReplyLimits | ProviderOptions | Settings | None] = []
    if settings.agents:
        names = (f"{workflow}/{agent.name}", f"{workflow}/{agent.role}", agent.name, agent.role)
        found += [settings.agents.get(name) for name in names]
    found += for_model(model, settings.models)
    found += [settings.providers.get(model.partition(":")[0]), settings]
    return [entry for entry in found if entry is not None]


class Rule(NamedTuple):
    """One place that sets limits of replies."""

    table: str
    """`agents`, `models`, `providers`, `settings` (for all agents) or `code`."""
    name: str
    timeout: float | None
    max_tokens: int | None


def rules(settings: Settings) -> list[Rule]:
    """Return every place that sets limits, the strongest first. The last is what an agent has whose code says
    nothing."""
    found = [
        Rule(table, name, entry.reply_timeout, entry.reply_tokens)
        for table, entries in _tables(settings).items()
        for name, entry in entries.items()
    ]
    found.append(Rule("settings", "", settings.reply_timeout, settings.reply_tokens))
    plain = Agent("")
    set_here = [rule for rule in found if rule.timeout is not None or rule.max_tokens is not None]
    return [*set_here, Rule("code", "", plain.timeout, plain.max_tokens)]


def _tables(settings: Settings) -> dict[str, Mapping[str, ReplyLimits | ProviderOptions]]:
    return {"agents": settings.agents, "models": settings.models, "providers": settings.providers}


def without_effect(settings: Settings) -> list[str]:
    """Return the tables with limits that match no model because their provider does not exist."""
    known = ("rehearsal", "python", "replay", *PROVIDERS)
    return [
        f"[{table}.{name}]" if name.isidentifier() else f'[{table}."{name}"]'
        for table, name, *_ in rules(settings)
        if table in ("models", "providers") and not _may_match(name.partition(":")[0], known)
    ]


def _may_match(provider: str, known: tuple[str, ...]) -> bool:
    return "*" in provider or provider in known
