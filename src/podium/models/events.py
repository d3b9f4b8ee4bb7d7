"""What models write into the log. All of it lies at the path of the step that asks."""

from __future__ import annotations

from typing import ClassVar

from podium.engine.events import ChargedData, EventData, SavedData


class ModelAsked(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """The question as it went out, once per step and before the first call: so it can be read while
    the call is under way, after one that never came back, and as the starting point of a fork.
    Repairs add nothing to it: `model.repaired` holds what they were made of."""

    type: ClassVar[str] = "model.asked"
    system: str = ""
    prompt: str = ""
    blob: str = ""
    """Set instead of `prompt` when that is long: the content hash of its text."""
    model: str = ""


class ModelAttempted(ChargedData, frozen=True, omit_defaults=True, kw_only=True):
    """One call on the wire, with what it cost."""

    type: ClassVar[str] = "model.attempted"
    progress: ClassVar[bool] = True
    attempt: int
    """`call.attempt`: 1, and one more for each repair."""
    model: str
    """The model that answered."""
    ok: bool
    """Whether a reply came back; not whether it fitted its schema."""
    error: str = ""
    finish: str = ""
    """Why the reply ended: `stop`, `length`, …"""
    mode: str = ""
    """How the structured reply was asked for, where a provider has several ways."""
    nth: int = 1
    """Which attempt at this model with this question it was."""
    retry_in_s: float = 0.0
    """How long the ask waits before the next attempt; 0: there is none."""
    latency_ms: float = 0.0
    cache_read_tokens: int = 0
    """Input that the provider had read before: part of the input, and cheaper."""
    cache_write_tokens: int = 0
    """Input that the provider keeps for next time: part of the input, and a little dearer with some."""
    rehearsal: bool = False
    """The answer was made up by the rehearsal model."""
    timeout_s: float = 0.0
    """The time that the reply was given; 0: written by a version that did not record it."""
    max_tokens: int = 0
    """The most tokens that the reply was allowed; 0: not recorded."""


class ModelRepaired(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """A reply did not fit its schema and is sent back with the error."""

    type: ClassVar[str] = "model.repaired"
    progress: ClassVar[bool] = True
    attempt: int
    """The attempt whose reply did not fit."""
    error: str
    raw: str = ""
    """The reply."""
    blob: str = ""
    """Set instead of `raw` when the reply is long: the content hash of its text."""
    cut: bool = False
    """The reply was cut off at its longest."""
    max_tokens: int = 0
    """The limit of the next attempt, after a reply that was cut off."""
    cut_at: int = 0
    """Tokens after which the reply was cut off, if that was before its limit."""


class ModelContinued(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """A text was cut off at its longest, and the model is asked to continue it."""

    type: ClassVar[str] = "model.continued"
    progress: ClassVar[bool] = True
    attempt: int
    """The attempt whose reply was cut off."""
    raw: str = ""
    """The reply."""
    blob: str = ""
    """Set instead of `raw` when the reply is long: the content hash of its text."""


class ModelCached(SavedData, frozen=True, omit_defaults=True, kw_only=True):
    """The reply came from the cache: no call was made."""

    type: ClassVar[str] = "model.cached"
    model: str
    attempt: int = 1
    """`call.attempt`: 1, and one more for each repair."""
    key: str = ""
    """The hash of the question."""
    sample: str = ""
    """Which answer to it."""
    number: int
    """Its place among the answers to this question that the cache holds."""
    age_s: float = 0.0
    """How long ago it was given."""


class ModelKept(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """A reply went into the cache, for other runs. This run has had it, and is not served it again."""

    type: ClassVar[str] = "model.kept"
    model: str
    key: str
    sample: str


class ModelUncached(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """The cache held an answer that is of no use: it is damaged, or fits its type no more. It was removed,
    and the question is asked as if it had not been there. Or the cache could not be read at all."""

    type: ClassVar[str] = "model.uncached"
    model: str
    reason: str


class ModelFellBack(EventData, frozen=True, omit_defaults=True, kw_only=True):
    """A model gave up and the next one of the profile takes over."""

    type: ClassVar[str] = "model.fell_back"
    progress: ClassVar[bool] = True
    from_model: str
    to_model: str
    error: str
