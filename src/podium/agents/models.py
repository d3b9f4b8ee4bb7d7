"""Which model answers for an agent in a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.agents.agent import Agent
from podium.engine.log import Store
from podium.models.model import Model
from podium.models.registry import DEFAULT, open_model
from podium.models.replay import ReplayModel


class Models:
    """The models of one run, each opened once and only when it is needed.

    A run's `config` holds names: `{"model": NAME, "model_for": {ROLE or AGENT: NAME}}`. From strong to
    weak: `model_for`, `model`, the agent's own model, its profile, the rehearsal.
    """

    def __init__(
        self,
        profiles: Mapping[str, str] | None = None,
        store: Store | None = None,
        opened: Mapping[str, Model] | None = None,
    ) -> None:
        self._profiles = dict(profiles or {})
        self._store = store
        self._opened = dict(opened or {})
        """Models by name; those that were handed in as objects are here from the start."""

    def name_for(self, agent: Agent, config: Mapping[str, Any]) -> str:
        """The name of the model that an agent gets; opens nothing, so a replay can ask for it too."""
        chosen: Mapping[str, str] = config.get("model_for") or {}
        return (
            chosen.get(agent.name)
            or chosen.get(agent.role)
            or config.get("model")
            or agent.model
            or self._profiles.get(agent.profile)
            or DEFAULT
        )

    def for_agent(self, agent: Agent, config: Mapping[str, Any]) -> Model:
        return self.open(self.name_for(agent, config))

    def main(self, config: Mapping[str, Any]) -> Model:
        """The model that stands for the whole run in lists and results."""
        return self.open(config.get("model") or self._profiles.get("balanced") or DEFAULT)

    def open(self, name: str) -> Model:
        """The model of a name; `ModelUnavailableError` if there is none."""
        found = self._opened.get(name)
        if found is None:
            found = open_model(name, store=self._store)
            self._opened[name] = self._opened[found.name] = found
        return found

    async def prepare(self, config: Mapping[str, Any]) -> list[Model]:
        """Open the models that a run names before it starts, so that a wrong name starts nothing.
        Their `name` is what belongs into the log: it holds no relative path."""
        chosen: Mapping[str, str] = config.get("model_for") or {}
        models = [self.main(config), *(self.open(name) for name in chosen.values())]
        for model in models:
            if isinstance(model, ReplayModel):
                await model.prepare()
        return models
