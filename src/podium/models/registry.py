"""From a model's name to the model.

Offline models are opened here. Hosted ones (`openai:…`, `anthropic:…`) belong into a module of their
own, `podium.models.providers`, imported on the first use of such a name and never before.
"""

from __future__ import annotations

from podium.engine.log import Store
from podium.errors import ModelUnavailableError
from podium.models.function import load_function
from podium.models.model import Model
from podium.models.rehearsal import Rehearsal
from podium.models.replay import ReplayModel
from podium.settings import nearest

DEFAULT = "rehearsal"
"""What answers when nobody names a model: it needs no key and costs nothing."""

OFFLINE = ("rehearsal", "python:FILE.py:function", "replay:RUN_ID")
"""The forms of the names that work."""

HOSTED = (
    "anthropic", "azure", "bedrock", "cohere", "deepseek", "google", "groq", "mistral", "ollama", "openai",
    "openai-compatible", "openrouter", "xai",
)  # fmt: skip
"""Providers that are understood but not part of this version."""

_WORKS = f"These work: {', '.join(OFFLINE)}."


def open_model(name: str, *, store: Store | None = None) -> Model:
    """The model of a name, or `ModelUnavailableError`. `store` is where `replay:` finds its run."""
    kind, _, rest = name.partition(":")
    match kind:
        case "rehearsal" if not rest:
            return Rehearsal()
        case "python":
            return load_function(name)
        case "replay":
            return _open_replay(name, rest, store)
        case _ if kind in HOSTED:
            raise ModelUnavailableError(
                f"The model {name} cannot be used: hosted providers are not part of this version yet.",
                hint=_WORKS,
            )
        case _:
            raise _unknown(name, kind, rest)


def _open_replay(name: str, run_id: str, store: Store | None) -> Model:
    if not run_id:
        raise ModelUnavailableError(f"The model {name} names no run.", hint="Write it as replay:RUN_ID.")
    if store is None:
        raise ModelUnavailableError(f"The model {name} needs a store to read that run from.")
    return ReplayModel(run_id, store)


def _unknown(name: str, kind: str, rest: str) -> ModelUnavailableError:
    meant = nearest(kind.lower(), ("rehearsal", "python", "replay", *HOSTED))
    if kind.endswith(".py"):
        return ModelUnavailableError(f"There is no model {name}.", hint=f"Did you mean python:{name}?")
    full = f"{meant}:{rest}" if rest and meant != DEFAULT else meant
    hint = f"Did you mean {full}? {_WORKS}" if meant else _WORKS
    return ModelUnavailableError(
        f"There is no model {name or '(empty name)'}; hosted providers are not part of this version yet.",
        hint=hint,
    )
