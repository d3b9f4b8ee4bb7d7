"""Settings, store, models and ceilings of a call."""

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
from podium.engine.budget import Budget
from podium.engine.core import Core
from podium.engine.log import Store
from podium.engine.redaction import Redact, redactor
from podium.engine.runner import MakeRun
from podium.engine.workflow import CEILINGS, Workflow
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
"""A model by name, an open one, or an async function `(call) -> str | dict`."""


class Context:
    """Settings and an open store."""

    def __init__(self, settings: Settings, store: Store, shared: SharedStore | None = None) -> None:
        self.settings = settings
        self.store = store
        self.shared = shared
        """Where the store is to be given back; `None`: it belongs to the caller."""
        self.redact = _redactor(settings)
        self.overrides = Overrides()
        """Prompts of the project or user for the run at hand; `read_prompts` reads them."""
        self.traces: Destination | None = None
        """Where the trace of a run goes while it is driven; `None`: nowhere."""

    async def leave(self) -> None:
        """Give back a store that is shared."""
        if self.shared is not None:
            await self.shared.leave()

    def models(self, opened: Mapping[str, Model]) -> Models:
        return Models(store=self.store, opened=opened, settings=self.settings)

    def chosen(self, choice: ModelChoice) -> tuple[str, dict[str, Model]]:
        """The name of a model under which it holds in any folder, and the open model if that costs nothing.
        Hosted ones are opened, and closed again, by the run that uses them."""
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
        if unpriced and budget.usd is not None and budget.tokens is None and budget.calls is None:
            raise UsageError(
                f"A money budget cannot hold for {unpriced[0]}: its price is not known.",
                hint="Give its price in podium.toml, or cap --max-tokens or --max-calls too.",
            )
        return models

    def read_prompts(self, workflow: Workflow) -> dict[str, str]:
        """Read the prompts that replace those of a workflow; return their hashes, by SET/TASK. A mistake in
        one starts nothing."""
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
    """Looking through the environment takes as long as ten steps: once for each settings object."""
    known = _redactors.get(id(settings))
    if known is None or known[0] is not settings:
        if len(_redactors) > 8:
            _redactors.clear()
        known = _redactors[id(settings)] = (settings, redactor(settings.secrets()))
    return known[1]


_Origin = tuple[str, dict[str, str], list[tuple[Path, int, int]]]
"""What settings are made of: the current folder, the environment, and the files with time and size."""
_loaded: tuple[_Origin, Settings] | None = None


def _current_settings() -> Settings:
    """Return the settings that hold here and now. They are read again only when the current folder, the
    environment or a file has changed: reading them takes longer than a durable step."""
    global _loaded
    here, env = current_folder(), dict(os.environ)
    states = [(file, file.stat()) for file in settings_files(here, env)]
    origin = str(here), env, [(file, state.st_mtime_ns, state.st_size) for file, state in states]
    if _loaded is None or _loaded[0] != origin:
        _loaded = origin, Settings.load(here, env)
    return _loaded[1]


async def open_context(store: Store | str | Path | None, settings: Settings | None) -> Context:
    """A store that is handed in stays its owner's; one that is named is shared with the other runs of this
    event loop."""
    chosen = settings or _current_settings()
    if store is None or isinstance(store, str | Path):
        shared, opened = await join(store or chosen.store)
        return Context(chosen, opened, shared)
    if not hasattr(store, "create_driven"):
        raise UsageError(
            "The store is neither a path, nor a URL, nor a store that is open.",
            hint='Write it as store="podium.sqlite".',
        )
    return Context(chosen, store)


@asynccontextmanager
async def context(store: Store | str | Path | None, settings: Settings | None) -> AsyncGenerator[Context]:
    """The same, for as long as a block lasts."""
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
