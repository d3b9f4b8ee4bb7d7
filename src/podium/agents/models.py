"""Which models answer for an agent in a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from podium.agents.agent import Agent
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.errors import ModelUnavailableError
from podium.models.model import Call, Model
from podium.models.profiles import is_profile, models_of
from podium.models.registry import DEFAULT, open_model
from podium.models.replay import ReplayModel
from podium.settings import Settings


class Models:
    """The models of one run, each opened once and only when it is needed.

    A run's `config` holds names: `{"model": NAME, "model_for": {ROLE or AGENT: NAME}, "profiles": {…}}`.
    From strong to weak: `model_for`, `model`, the agent's own model, its profile, the rehearsal. Profiles are
    those that the run was started with; only a run without any takes the settings' own.
    """

    def __init__(
        self,
        profiles: Mapping[str, str | Sequence[str]] | None = None,
        store: Store | None = None,
        opened: Mapping[str, Model] | None = None,
        *,
        settings: Settings | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self._profiles = dict(self.settings.profiles if profiles is None else profiles)
        self._store = store
        self._env = env
        self._opened = dict(opened or {})
        """Models by name; those that were handed in as objects are here from the start."""
        self._factors: dict[str, float] = {}
        """By how much models have passed the worst case of a call."""
        self._ours: list[Model] = []
        """Models that were opened here and have to be closed here."""

    def name_for(self, agent: Agent, config: Mapping[str, Any]) -> str:
        """The name of the model that an agent gets; opens nothing, so a replay can ask for it too."""
        return self.names_for(agent, config)[0]

    def names_for(self, agent: Agent, config: Mapping[str, Any]) -> list[str]:
        """The same, followed by those that take over when it gives up: only a profile has such."""
        chosen: Mapping[str, str] = config.get("model_for") or {}
        named = chosen.get(agent.name) or chosen.get(agent.role) or config.get("model") or agent.model
        return self._models_of(named, config) if named else self._profile(agent.profile, config)

    def for_agent(self, agent: Agent, config: Mapping[str, Any]) -> Model:
        return self.open(self.name_for(agent, config))

    def main(self, config: Mapping[str, Any]) -> Model:
        """The model that stands for the whole run in lists and results: of a profile, the first that can be
        opened now."""
        names = [config["model"]] if config.get("model") else self._profile("balanced", config)
        return self._first(names)

    def _first(self, names: Sequence[str]) -> Model:
        for name in names[:-1]:
            try:
                return self.open(name)
            except ModelUnavailableError:
                continue  # the next one takes over, also when it is really asked
        return self.open(names[-1])

    def open(self, name: str) -> Model:
        """The model of a name; `ModelUnavailableError` if there is none."""
        found = self._opened.get(name)
        if found is None:
            found = open_model(name, store=self._store, settings=self.settings, env=self._env)
            self._opened[name] = self._opened[found.name] = found
            self._ours.append(found)
        return found

    async def prepare(self, config: Mapping[str, Any]) -> list[Model]:
        """Open the models that a run names before it starts, so that a wrong name starts nothing.
        Their `name` is what belongs into the log: it holds no relative path."""
        chosen: Mapping[str, str] = config.get("model_for") or {}
        others = [self._first(self._models_of(name, config)) for name in chosen.values()]
        models = [self.main(config), *others]
        for model in models:
            if isinstance(model, ReplayModel):
                await model.prepare()
        return models

    def worst_case(self, model: Model, call: Call) -> Charge:
        """The most that a call can cost; more for a model that has used more than that before in this run."""
        worst, factor = model.worst_case(call), self._factors.get(model.name)
        if factor is None:
            return worst
        return replace(
            worst,
            usd=worst.usd * factor,
            input_tokens=math.ceil(worst.input_tokens * factor),
            output_tokens=math.ceil(worst.output_tokens * factor),
        )

    def note_overrun(self, model: Model, call: Call, actual: Charge) -> None:
        """Remember by how much a model has passed the worst case of a call."""
        worst = model.worst_case(call)
        factor = actual.tokens / worst.tokens if worst.tokens else 1.0
        if worst.usd:
            factor = max(factor, actual.usd / worst.usd)
        if factor > self._factors.get(model.name, 1.0):
            self._factors[model.name] = factor

    async def close(self) -> None:
        """Give back the connections of all models that were opened here; they can be opened again."""
        closing, self._ours = self._ours, []
        for model in closing:
            self._opened = {name: one for name, one in self._opened.items() if one is not model}
            close = getattr(model, "close", None)
            if close is not None:
                await close()

    def _models_of(self, name: str, config: Mapping[str, Any]) -> list[str]:
        """A role may be given a profile instead of a model."""
        known = is_profile(name, config.get("profiles", self._profiles))
        return self._profile(name, config) if known else [name]

    def _profile(self, profile: str, config: Mapping[str, Any]) -> list[str]:
        return models_of(profile, config.get("profiles", self._profiles)) or [DEFAULT]
