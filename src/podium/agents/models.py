"""Model and reply limits per agent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from podium.agents.agent import Agent
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.errors import ModelUnavailableError
from podium.models.catalogue import PROVIDERS, is_profile, models_of
from podium.models.local import ReplayModel
from podium.models.model import Call, Model
from podium.models.registry import DEFAULT, open_model
from podium.settings import ReplyLimits, Settings
from podium.settings.options import ProviderOptions, for_model


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


class CallLimits(NamedTuple):
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
) -> CallLimits:
    """Return the limits of a reply of `model` to `agent`.

    Each limit is taken from the first place that sets it: the run's own config (`--reply-timeout`), the
    agent's table, the model's, the provider's, the settings for all agents, the agent's code.
    """
    given = config or {}
    timeout, tokens = given.get("reply_timeout"), given.get("reply_tokens")
    for entry in _entries(agent, model, settings, workflow):
        timeout = entry.reply_timeout if timeout is None else timeout
        tokens = entry.reply_tokens if tokens is None else tokens
    return CallLimits(
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
