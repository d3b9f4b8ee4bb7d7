"""Models and reply limits per agent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from podium.agents.agent import Agent
from podium.engine.budget import problem_with
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.errors import ModelFailedError, ModelUnavailableError
from podium.models.catalogue import PROVIDERS, is_profile, models_of
from podium.models.local import ReplayModel
from podium.models.model import Call, Model
from podium.models.registry import DEFAULT, open_model
from podium.settings import ReplyLimits, Settings
from podium.settings.options import ProviderOptions, for_model


class Models:
    """The models of one run, each opened once and only when needed.

    A run's `config` holds names: `{"model": NAME, "model_for": {ROLE or AGENT: NAME}, "profiles": {…}}`.
    Precedence, highest first: `model_for`, `model`, the agent's own model, its profile, the rehearsal.
    Profiles are those that the run was started with; only a run without any uses the settings' own.
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
        """Models by name; those that were passed in as objects are here from the start."""
        self._factors: dict[str, float] = {}
        """Factor by which a model exceeded the worst case of a call, by model name."""
        self._limits: dict[tuple[int, str], tuple[Agent, CallLimits]] = {}
        """Reply limits by agent and model name."""
        self._ours: list[Model] = []
        """Models that were opened here and must be closed here."""

    def name_for(self, agent: Agent, config: Mapping[str, Any]) -> str:
        """Return the name of an agent's model; opens nothing, so a replay can use it too."""
        return self.names_for(agent, config)[0]

    def names_for(self, agent: Agent, config: Mapping[str, Any]) -> list[str]:
        """Return the model names of an agent: the first one, then its fallbacks, which only a profile has."""
        chosen: Mapping[str, str] = config.get("model_for") or {}
        named = chosen.get(agent.name) or chosen.get(agent.role) or config.get("model") or agent.model
        return self._models_of(named, config) if named else self._profile(agent.profile, config)

    def for_agent(self, agent: Agent, config: Mapping[str, Any]) -> Model:
        return self.open(self.name_for(agent, config))

    def main(self, config: Mapping[str, Any]) -> Model:
        """Return the model shown for the whole run in lists and results: of a profile, the first that can be
        opened now."""
        names = [config["model"]] if config.get("model") else self._profile("balanced", config)
        return self._first(names)

    def _first(self, names: Sequence[str]) -> Model:
        for name in names[:-1]:
            try:
                return self.open(name)
            except ModelUnavailableError:
                continue  # the next one is used, as it will be for real calls
        return self.open(names[-1])

    def open(self, name: str) -> Model:
        """Return the model of a name; raise `ModelUnavailableError` if there is none."""
        model = self._opened.get(name)
        if model is None:
            model = open_model(name, store=self._store, settings=self.settings, env=self._env)
            self._opened[name] = self._opened[model.name] = model
            self._ours.append(model)
        return model

    async def prepare(self, config: Mapping[str, Any]) -> list[Model]:
        """Open the models that a run names before it starts, so that a wrong name starts nothing. Their
        `name` belongs into the log: it contains no relative path."""
        chosen: Mapping[str, str] = config.get("model_for") or {}
        others = [self._first(self._models_of(name, config)) for name in chosen.values()]
        models = [self.main(config), *others]
        for model in models:
            if isinstance(model, ReplayModel):
                await model.prepare()
        return models

    def limited(self, call: Call, agent: Agent, model: Model, config: Mapping[str, Any]) -> Call:
        """Return the call with the limits of its agent and model. They are looked up once for each pair."""
        key = id(agent), model.name
        known = self._limits.get(key)
        if known is None or known[0] is not agent:
            limits = limits_for(agent, model.name, self.settings, workflow=call.workflow, config=config)
            known = self._limits[key] = agent, limits
        timeout, max_tokens = known[1]
        if call.timeout != timeout or call.max_tokens != max_tokens:
            call = replace(call, timeout=timeout, max_tokens=max_tokens)
        return within(call, model)

    def worst_case(self, model: Model, call: Call) -> Charge:
        """Return the worst-case cost of a call; scaled up for a model that has exceeded it before in this
        run. Raises if the model gives an impossible figure."""
        worst, factor = model.worst_case(call), self._factors.get(model.name)
        if factor is not None:
            worst = replace(
                worst,
                usd=worst.usd * factor,
                input_tokens=math.ceil(worst.input_tokens * factor),
                output_tokens=math.ceil(worst.output_tokens * factor),
            )
        if problem := problem_with(worst):
            reason = f"{model.name} names an impossible worst case: {problem}"
            raise ModelFailedError(call.path, "UsageError", reason, model=model.name, attempt=call.attempt)
        return worst

    def note_overrun(self, model: Model, call: Call, actual: Charge) -> None:
        """Record by how much a model exceeded the worst case of a call."""
        worst = model.worst_case(call)
        factor = actual.tokens / worst.tokens if worst.tokens else 1.0
        if worst.usd:
            factor = max(factor, actual.usd / worst.usd)
        if factor > self._factors.get(model.name, 1.0):
            self._factors[model.name] = factor

    def overran(self, model: Model) -> bool:
        """Return whether a model has exceeded the worst case of a call."""
        return model.name in self._factors

    async def close(self) -> None:
        """Close all models that were opened here; they can be opened again."""
        closing, self._ours = self._ours, []
        for model in closing:
            self._opened = {name: opened for name, opened in self._opened.items() if opened is not model}
            close = getattr(model, "close", None)
            if close is not None:
                await close()

    def _models_of(self, name: str, config: Mapping[str, Any]) -> list[str]:
        """Return the models for a name, which may be a profile."""
        known = is_profile(name, config.get("profiles", self._profiles))
        return self._profile(name, config) if known else [name]

    def _profile(self, profile: str, config: Mapping[str, Any]) -> list[str]:
        return models_of(profile, config.get("profiles", self._profiles)) or [DEFAULT]


class CallLimits(NamedTuple):
    """The effective limits of one reply."""

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
    """Return the limits for a reply of `model` to `agent`.

    Each limit is taken from the first place that sets it: the run's own config (`--reply-timeout`), the
    agent's table, the model's, the provider's, the settings for all agents, the agent's code.
    """
    run_limits = config or {}
    timeout, tokens = run_limits.get("reply_timeout"), run_limits.get("reply_tokens")
    for entry in _entries(agent, model, settings, workflow):
        timeout = entry.reply_timeout if timeout is None else timeout
        tokens = entry.reply_tokens if tokens is None else tokens
    return CallLimits(
        agent.timeout if timeout is None else timeout, agent.max_tokens if tokens is None else tokens
    )


def within(call: Call, model: Model) -> Call:
    """Return the call with `max_tokens` capped to what the model supports: its provider would refuse more."""
    longest: int | None = getattr(model, "longest_reply", None)
    if longest is None or call.max_tokens <= longest:
        return call
    return replace(call, max_tokens=longest)


def _entries(
    agent: Agent, model: str, settings: Settings, workflow: str
) -> list[ReplyLimits | ProviderOptions | Settings]:
    """Return the applicable parts of the settings, the most specific first."""
    entries: list[ReplyLimits | ProviderOptions | Settings | None] = []
    if settings.agents:
        names = (f"{workflow}/{agent.name}", f"{workflow}/{agent.role}", agent.name, agent.role)
        entries += [settings.agents.get(name) for name in names]
    entries += for_model(model, settings.models)
    entries += [settings.providers.get(model.partition(":")[0]), settings]
    return [entry for entry in entries if entry is not None]


class Rule(NamedTuple):
    """One place that sets reply limits."""

    table: str
    """`agents`, `models`, `providers`, `settings` (for all agents) or `code`."""
    name: str
    timeout: float | None
    max_tokens: int | None


def rules(settings: Settings) -> list[Rule]:
    """Return every place that sets limits, highest precedence first. The last one is the default of an
    agent."""
    rules_set = [
        Rule(table, name, entry.reply_timeout, entry.reply_tokens)
        for table, entries in _tables(settings).items()
        for name, entry in entries.items()
    ]
    rules_set.append(Rule("settings", "", settings.reply_timeout, settings.reply_tokens))
    plain = Agent("")
    set_here = [rule for rule in rules_set if rule.timeout is not None or rule.max_tokens is not None]
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
