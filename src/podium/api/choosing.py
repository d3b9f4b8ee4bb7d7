"""Which models and ceilings a run gets: what was asked for, over what the settings say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from podium.api.context import Context, ModelChoice
from podium.engine.budget import Budget
from podium.engine.workflow import CEILINGS, Workflow
from podium.errors import UsageError
from podium.models.model import Model
from podium.models.profiles import is_profile, resolved
from podium.settings import Settings
from podium.settings.limits import TIMEOUT_EXPECTED, TOKENS_EXPECTED, ReplyTokens, parse_timeout


def config_of(
    ctx: Context,
    model: ModelChoice | None,
    model_for: Mapping[str, str] | None,
    cache: bool | None,
    gates: list[str],
    concurrency: int | None,
) -> tuple[dict[str, Model], dict[str, Any]]:
    settings = ctx.settings
    config: dict[str, Any] = {"concurrency": settings.concurrency if concurrency is None else concurrency}
    opened = choose_model(ctx, config, model or settings.model or None)
    if "model" not in config:
        config |= resolved(settings)
    if model_for:
        config["model_for"] = named(ctx, model_for)
        if any(is_profile(name, settings.profiles) for name in model_for.values()):
            config.setdefault("profiles", resolved(settings)["profiles"])
    if settings.cache if cache is None else cache:
        config["cache"] = True
    if gates:
        config["approve"] = gates
    return opened, config


def choose_model(ctx: Context, config: dict[str, Any], model: ModelChoice | None) -> dict[str, Model]:
    """Write the model's name into the run's settings; one that is handed in as an object is kept open."""
    if model is None:
        return {}
    config["model"], opened = ctx.chosen(model)
    return opened


def named(ctx: Context, model_for: Mapping[str, str]) -> dict[str, str]:
    """Models by role, under names that hold in any folder; a profile keeps its own."""
    profiles = ctx.settings.profiles
    return {
        role: name if is_profile(name, profiles) else ctx.chosen(name)[0] for role, name in model_for.items()
    }


def reply_config(timeout: float | None, tokens: int | None) -> dict[str, Any]:
    """Return the limits of replies for a run's config, where they hold for all its agents; `UsageError` if
    one cannot be a limit."""
    config: dict[str, Any] = {}
    try:
        if timeout is not None:
            config["reply_timeout"] = parse_timeout(timeout)
    except (TypeError, ValueError) as error:
        raise UsageError(f"The reply's time-out must be {TIMEOUT_EXPECTED}, not {timeout!r}.") from error
    try:
        if tokens is not None:
            config["reply_tokens"] = msgspec.convert(tokens, ReplyTokens)
    except msgspec.ValidationError as error:
        raise UsageError(f"The reply's tokens must be {TOKENS_EXPECTED}, not {tokens!r}.") from error
    return config


def budget_of(settings: Settings) -> Budget:
    return Budget(
        usd=settings.max_usd,
        tokens=settings.max_tokens,
        calls=settings.max_calls,
        seconds=settings.time_limit,
    )


def with_ceilings(workflow: Workflow, options: Mapping[str, Any], budget: Budget) -> dict[str, Any]:
    """The options, and those of the given ceilings that the workflow wants to know and was not told."""
    declared = {option.name for option in workflow.options}
    told = {name: getattr(budget, kind) for name, kind in CEILINGS.items() if name in declared}
    return {**{name: value for name, value in told.items() if value is not None}, **options}


def ceilings_in(workflow: Workflow, options: Mapping[str, Any]) -> dict[str, Any]:
    """The ceilings that a workflow has settled on, its own defaults among them."""
    declared = {option.name for option in workflow.options}
    return {kind: options.get(name) for name, kind in CEILINGS.items() if name in declared}


def lower(ceiling: Budget, others: Mapping[str, Any]) -> Budget:
    """Of two ceilings the lower one holds."""
    both = {kind: (getattr(ceiling, kind), other) for kind, other in others.items() if other is not None}
    return ceiling.merged(
        Budget(**{kind: other if now is None else min(now, other) for kind, (now, other) in both.items()})
    )
