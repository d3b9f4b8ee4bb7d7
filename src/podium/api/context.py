"""Settings, store, models and budget of an API call."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import msgspec

from podium.agents.ask import Run
from podium.agents.models import Models
from podium.agents.overrides import Overrides
from podium.dimensions import SETTABLE
from podium.engine.budget import Budget
from podium.engine.core import Core
from podium.engine.log import Store
from podium.engine.redaction import Redact, redactor
from podium.engine.runner import MakeRun
from podium.engine.workflow import Workflow
from podium.errors import UsageError
from podium.models.catalogue import is_profile, resolved
from podium.models.local import FunctionModel, ModelFunction
from podium.models.model import Model
from podium.models.registry import is_hosted, open_model
from podium.settings import Settings
from podium.settings.options import TIMEOUT_EXPECTED, TOKENS_EXPECTED, ReplyTokens, parse_timeout
from podium.settings.places import current_folder, settings_files
from podium.stores.shared import SharedStore, join
from podium.tracing.destination import Destination, destination_of
from podium.workflows.prompt_sets import overrides_for

ModelChoice = str | Model | ModelFunction
"""A model by name, an open model, or an async function `(call) -> str | dict`."""


class Context:
    """Settings and an open store for one API call."""

    def __init__(self, settings: Settings, store: Store, shared: SharedStore | None = None) -> None:
        self.settings = settings
        self.store = store
        self.shared = shared
        """Handle that releases the shared store. None: the store belongs to the caller."""
        self.redact = _redactor(settings)
        self.overrides = Overrides()
        """Prompts of the project or user for this run, read by `read_prompts`."""
        self.traces: Destination | None = None
        """Destination of the run's trace while it is driven. None: no tracing."""

    async def leave(self) -> None:
        """Release the store if it is shared."""
        if self.shared is not None:
            await self.shared.leave()

    def models(self, opened: Mapping[str, Model]) -> Models:
        return Models(store=self.store, opened=opened, settings=self.settings)

    def chosen(self, choice: ModelChoice) -> tuple[str, dict[str, Model]]:
        """Return a model's name in a form that is valid in any folder, and the open model if opening is free.
        Hosted models are opened and closed by the run that uses them."""
        if isinstance(choice, str) and is_hosted(choice):
            return choice, {}
        model = self._opened(choice)
        return model.name, {model.name: model}

    def _opened(self, choice: ModelChoice) -> Model:
        if isinstance(choice, str):
            return open_model(choice, store=self.store, settings=self.settings)
        if hasattr(choice, "complete"):
            return cast("Model", choice)
        return FunctionModel(cast("ModelFunction", choice))

    async def prepare(self, config: dict[str, Any], budget: Budget, opened: Mapping[str, Model]) -> Models:
        """Open the models that a run names before it starts, so that a mistake starts nothing."""
        self.traces = destination_of(self.settings)
        models = self.models(opened)
        used = await models.prepare(config)
        config["models"] = [model.name for model in used]
        config["rehearsal"] = any(model.rehearsal for model in used)
        unpriced = [model.name for model in used if model.price.kind == "unknown"]
        if unpriced and budget.limits_only_money:
            raise UsageError(
                f"A money budget cannot hold for {unpriced[0]}: its price is not known.",
                hint="Give its price in podium.toml, or cap --max-tokens or --max-calls too.",
            )
        return models

    def read_prompts(self, workflow: Workflow) -> dict[str, str]:
        """Read the prompts that override those of a workflow. Returns their hashes by SET/TASK. A mistake in
        one raises, and starts nothing."""
        self.overrides = overrides_for(workflow.ref, self.settings)
        return self.overrides.hashes

    def make_run(self, models: Models) -> MakeRun:
        def make(
            run_id: str,
            workflow: str,
            request: Any,
            options: Mapping[str, Any],
            config: Mapping[str, Any],
            core: Core,
        ) -> Run:
            return Run(
                run_id, workflow, request, options, config, core, models=models, overrides=self.overrides
            )

        return make


_redactors: dict[int, tuple[Settings, Redact]] = {}


def _redactor(settings: Settings) -> Redact:
    """Return the redactor, cached per settings object: searching the environment takes as long
    as ten steps."""
    known = _redactors.get(id(settings))
    if known is None or known[0] is not settings:
        if len(_redactors) > 8:
            _redactors.clear()
        known = _redactors[id(settings)] = (settings, redactor(settings.secrets()))
    return known[1]


_Origin = tuple[str, dict[str, str], list[tuple[Path, int, int]]]
"""Inputs of the settings: current folder, environment, and the files with modification time and size."""
_loaded: tuple[_Origin, Settings] | None = None


def _current_settings() -> Settings:
    """Return the current settings. They are read again only when the current folder, the environment or a
    file has changed: reading them takes longer than a durable step."""
    global _loaded
    here, env = current_folder(), dict(os.environ)
    states = [(file, file.stat()) for file in settings_files(here, env)]
    origin = str(here), env, [(file, state.st_mtime_ns, state.st_size) for file, state in states]
    if _loaded is None or _loaded[0] != origin:
        _loaded = origin, Settings.load(here, env)
    return _loaded[1]


async def open_context(store: Store | str | Path | None, settings: Settings | None) -> Context:
    """Return a context. A store object stays its owner's; a store given by path or URL is shared with the
    other runs of this event loop."""
    chosen = settings or _current_settings()
    if store is None or isinstance(store, str | Path):
        shared, opened = await join(store or chosen.store, lock_timeout=chosen.lock_timeout)
        return Context(chosen, opened, shared)
    if not hasattr(store, "create_driven"):
        raise UsageError(
            "The store is neither a path, nor a URL, nor a store that is open.",
            hint='Write it as store="podium.sqlite".',
        )
    return Context(chosen, store)


@asynccontextmanager
async def context(store: Store | str | Path | None, settings: Settings | None) -> AsyncGenerator[Context]:
    """Open a context for the duration of a block."""
    opened = await open_context(store, settings)
    try:
        yield opened
    finally:
        await opened.leave()


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
    """Write the model's name into the run's config. Returns the open model if there is one."""
    if model is None:
        return {}
    config["model"], opened = ctx.chosen(model)
    return opened


def named(ctx: Context, model_for: Mapping[str, str]) -> dict[str, str]:
    """Return models by role, with names that are valid in any folder; profiles keep their names."""
    profiles = ctx.settings.profiles
    return {
        role: name if is_profile(name, profiles) else ctx.chosen(name)[0] for role, name in model_for.items()
    }


def reply_config(timeout: float | None, tokens: int | None) -> dict[str, Any]:
    """Return the reply limits for a run's config, where they apply to all its agents. Raises `UsageError` for
    an invalid limit."""
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


def with_ceilings(workflow: Workflow, options: Mapping[str, Any], budget: Budget) -> dict[str, Any]:
    """Return the options, plus the budget limits that the workflow declares as options and was not given."""
    declared = {option.name for option in workflow.options}
    limits = {
        name: getattr(budget, dimension.name) for name, dimension in SETTABLE.items() if name in declared
    }
    return {**{name: value for name, value in limits.items() if value is not None}, **options}


def ceilings_in(workflow: Workflow, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the budget limits in a workflow's options, including its defaults."""
    declared = {option.name for option in workflow.options}
    return {dimension.name: options.get(name) for name, dimension in SETTABLE.items() if name in declared}


def lower(ceiling: Budget, others: Mapping[str, Any]) -> Budget:
    """Return the budget with the lower of both limits for each kind."""
    both = {kind: (getattr(ceiling, kind), other) for kind, other in others.items() if other is not None}
    return ceiling.merged(
        Budget(**{kind: other if now is None else min(now, other) for kind, (now, other) in both.items()})
    )
