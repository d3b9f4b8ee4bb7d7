"""What every call of the Python interface begins with: settings, a store, and how runs are made."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from podium.agents.ask import Run
from podium.agents.models import Models
from podium.agents.overrides import Overrides
from podium.engine.budget import Budget
from podium.engine.core import Core
from podium.engine.log import Store
from podium.engine.redact import Redact, redactor
from podium.engine.runner import MakeRun
from podium.engine.workflow import Workflow
from podium.errors import UsageError
from podium.models.function import FunctionModel, ModelFunction
from podium.models.model import Model
from podium.models.registry import is_hosted, open_model
from podium.settings import Settings
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
