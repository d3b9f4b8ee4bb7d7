"""Events that model calls write into the log, all at the path of the step that asks."""

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
    turn: int = 0
    """Number of a later turn of an agent with tools. System prompt and prompt are those of its first turn;
    the rest of the conversation is in the results of its turns and calls."""


class ModelAttempted(ChargedData, frozen=True, omit_defaults=True, kw_only=True):
    """One call on the wire, with what it cost."""

    type: ClassVar[str] = "model.attempted"
    progress: ClassVar[bool] = True
    attempt: int
    """`call.attempt`: 1, plus 1 for each repair."""
    model: str
    """The model that answered."""
    ok: bool
    """A reply was received; it need not fit its schema."""
    error: str = ""
    finish: str = ""
    """Finish reason: `stop`, `length`, …"""
    mode: str = ""
    """Structured-output mode of the request, for providers with several modes."""
    nth: int = 1
    """Number of the attempt at this model with this request."""
    retry_in_s: float = 0.0
    """Seconds before the next attempt; 0 if there is none."""
    latency_ms: float = 0.0
    cache_read_tokens: int = 0
    """Input tokens read from the provider's cache: part of the input, and cheaper."""
    cache_write_tokens: int = 0
    """Input tokens written to the provider's cache: part of the input, and slightly more expensive with
    some."""
    rehearsal: bool = False
    """The rehearsal model invented the reply."""
    timeout_s: float = 0.0
    """Timeout of the reply in seconds; 0: written by a version that did not record it."""
    max_tokens: int = 0
    """Token limit of the reply; 0: not recorded."""
    tools: str = ""
    """Form of the tools in the request: `native`, or `prompted` for models without tool calling."""


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
    """The reply was cut off at its token limit."""
    max_tokens: int = 0
    """Token limit of the next attempt, after a reply that was cut off."""
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
    """`call.attempt`: 1, plus 1 for each repair."""
    key: str = ""
    """Hash of the request."""
    sample: str = ""
    """Id of the cached reply."""
    number: int
    """Its position among the cached replies to this request."""
    age_s: float = 0.0
    """Age of the cached reply in seconds."""


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
