"""From a model's name to the model.

Offline models are opened here. Hosted ones (`openai:…`, `anthropic:…`) live in `podium.models.providers`,
imported on the first use of such a name and never before.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from podium.engine.log import Store
from podium.errors import ModelUnavailableError
from podium.models.catalogue import COMPATIBLE, PROVIDERS, access_to
from podium.models.function import load_function
from podium.models.model import Model
from podium.models.profiles import PROFILES
from podium.models.rehearsal import Rehearsal
from podium.models.replay import ReplayModel
from podium.settings import Settings, nearest
from podium.settings.limits import longest_timeout

DEFAULT = "rehearsal"
"""What answers when nobody names a model and no provider has a key here: it needs none and costs nothing."""

OFFLINE = ("rehearsal", "python:FILE.py:function", "replay:RUN_ID")
"""The forms of the names that need nothing."""

_HOSTED = ", ".join(f"{name}:MODEL" for name in PROVIDERS if name != "openai-compatible")
_WORKS = f"These work: {', '.join(OFFLINE)}, {_HOSTED}, {COMPATIBLE}."


def is_hosted(name: str) -> bool:
    """Whether a name stands for a provider's model."""
    kind, _, rest = name.partition(":")
    return kind in PROVIDERS and bool(rest)


def open_model(
    name: str,
    *,
    store: Store | None = None,
    settings: Settings | None = None,
    env: Mapping[str, str] | None = None,
) -> Model:
    """The model of a name, or `ModelUnavailableError`. `store` is where `replay:` finds its run, and
    a fleet keeps its pace; `env`
    replaces the environment in which keys are looked for."""
    kind, _, rest = name.partition(":")
    match kind:
        case "rehearsal" if not rest:
            return Rehearsal()
        case "python":
            return load_function(name)
        case "replay":
            return _open_replay(name, rest, store)
        case _ if is_hosted(name):
            return _open_hosted(name, settings or Settings(), env, store)
        case _:
            raise _unknown(name, kind, rest)


def _open_hosted(name: str, settings: Settings, env: Mapping[str, str] | None, store: Store | None) -> Model:
    access = access_to(name, settings.providers, env)
    access = msgspec.structs.replace(access, read_s=longest_timeout(settings))
    from podium.models.providers.opening import open_hosted  # noqa: PLC0415 - takes a second to import

    return open_hosted(access, settings.prices, store.limits if store is not None else None)


def _open_replay(name: str, run_id: str, store: Store | None) -> Model:
    if not run_id:
        raise ModelUnavailableError(f"The model {name} names no run.", hint="Write it as replay:RUN_ID.")
    if store is None:
        raise ModelUnavailableError(f"The model {name} needs a store to read that run from.")
    return ReplayModel(run_id, store)


def _unknown(name: str, kind: str, rest: str) -> ModelUnavailableError:
    if kind.endswith(".py"):
        return ModelUnavailableError(f"There is no model {name}.", hint=f"Did you mean python:{name}?")
    if name in PROFILES:
        return ModelUnavailableError(
            f"{name} is a profile, not a model.",
            hint=f"Agents ask for profiles; [profiles] in podium.toml says which model {name} is.",
        )
    if kind in PROVIDERS:
        form = COMPATIBLE if kind == "openai-compatible" else f"{kind}:MODEL"
        return ModelUnavailableError(f"The name {name} names no model.", hint=f"Write it as {form}.")
    meant = nearest(kind.lower(), ("rehearsal", "python", "replay", *PROVIDERS))
    full = f"{meant}:{rest}" if rest and meant != DEFAULT else meant
    hint = f"Did you mean {full}? {_WORKS}" if meant else _WORKS
    return ModelUnavailableError(f"There is no model {name or '(empty name)'}.", hint=hint)
