"""The sequence of calls of one ask, after replies that did not fit or were cut off.

Every reply that was paid for is logged in full before the next call is made, so a resumed run continues after
the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from podium.agents.caller import redacted
from podium.engine.effect import BLOB_BYTES, DecodedResult, Effect
from podium.engine.events import EventData
from podium.errors import InvalidReplyError
from podium.models.events import ModelContinued, ModelRepaired
from podium.models.model import Call, Reply
from podium.models.repair import (
    MAX_REPAIRS,
    Mismatch,
    continue_prompt,
    cut_prompt,
    find,
    join,
    repair_prompt,
    shorter_prompt,
)

Check = Callable[[Any], str]
"""Checks a reply that fits its type: returns an error message, or an empty string."""

AGAIN = object()
"""Returned when there is no result yet: `Exchange.call` is the next call."""

MAX_CONTINUATIONS = 1
"""Maximum continuations of a text that was cut off."""

_RAW_IN_ERROR = 1_000_000
"""Maximum characters of a reply in an error; longer ones are truncated."""

_EARLY = 0.9
"""A reply that was cut off below this share of its limit was ended by something other than the limit."""

LIMIT_REACHED = (
    "Replies reach their limit: set a larger reply_tokens for the agent or the model, in podium.toml or with "
    "--reply-tokens."
)
ENDED_EARLY = (
    "Replies end before their limit, so the model's server or context window allows no more: raise that, or "
    "use another model."
)
"""Advice for replies that are cut off. A run shows each once."""


class Cut(NamedTuple):
    """The point where a reply was cut off."""

    limit: int
    """Token limit of the call."""
    early: int = 0
    """Tokens after which the server ended the reply, if that was before the limit; else 0."""

    @classmethod
    def of(cls, reply: Reply, limit: int) -> Cut | None:
        """Return where a reply was cut off, or None if it is complete."""
        if reply.finish != "length":
            return None
        used = reply.usage.output_tokens if reply.usage is not None else 0
        return cls(limit, used if 0 < used < limit * _EARLY else 0)

    @property
    def where(self) -> str:
        if self.early:
            return f"after {self.early:,} tokens, before its limit of {self.limit:,} tokens"
        return f"at its limit of {self.limit:,} tokens"

    @property
    def advice(self) -> str:
        """Advice for the user."""
        return ENDED_EARLY if self.early else LIMIT_REACHED


class Exchange:
    """One ask, from its first call to its result."""

    def __init__(self, effect: Effect, first: Call, returns: Any, check: Check | None) -> None:
        self.call = first
        """The next call."""
        self._effect = effect
        self._first = first
        self._returns = returns
        self._check = check
        self._text = ""
        """The beginning of a text that was cut off."""
        self._continued = 0
        self._cut: Cut | None = None
        """The last cut of the text."""

    async def restore(self, progress: Sequence[EventData]) -> None:
        """Continue after the last reply that was logged before a resume."""
        for event in progress:
            if isinstance(event, ModelRepaired):
                raw = await self._read(event.raw, event.blob)
                cut = Cut(self.call.max_tokens, event.cut_at) if event.cut else None
                self._repair(raw, event.error, cut, event.max_tokens)
            elif isinstance(event, ModelContinued):
                self._cut = Cut(self.call.max_tokens)
                self._continue(await self._read(event.raw, event.blob))

    def take(self, reply: Reply, model: str) -> Any:
        """Return the result in a reply; or log why there is none, prepare the next call and return `AGAIN`.
        Raises `InvalidReplyError` when no call is left."""
        cut = Cut.of(reply, self.call.max_tokens)
        if self._returns is str:
            return self._take_text(reply.text, cut, model)
        found = find(reply.text, self._returns, whole=cut is None, check=self._check)
        if not isinstance(found, Mismatch):
            return DecodedResult(found.data, found.value)
        return self._again(reply.text, found.error, cut, model)

    def lower_limit(self) -> bool:
        """Return to the agent's own limit, if a larger one was refused; return whether it was changed."""
        if self.call.max_tokens <= self._first.max_tokens:
            return False
        self.call = replace(self.call, max_tokens=self._first.max_tokens)
        return True

    def _take_text(self, text: str, cut: Cut | None, model: str) -> Any:
        if cut is None:
            return join(self._text, text)
        if not text.strip() and not self._text:  # all tokens were spent on thinking
            return self._again(text, "", cut, model)
        self._cut = cut
        if self._continued < MAX_CONTINUATIONS:
            raw, blob = self._kept(text)
            self._effect.emit(ModelContinued(attempt=self.call.attempt, raw=raw, blob=blob))
            self._continue(text)
            return AGAIN
        return self._end_cut(join(self._text, text), cut)

    def close(self) -> str | None:
        """Return an incomplete text, if the budget allows no continuation and the step is a closing step,
        where a part is better than nothing. Otherwise return None."""
        if self._cut is None or not self._text or not self._effect.branch.closing:
            return None
        return self._end_cut(self._text, self._cut)

    def _end_cut(self, text: str, cut: Cut) -> str:
        self._effect.cut = True
        agent, path, note = self.call.agent, self._effect.path, self._effect.core.note
        note(f"The reply of {agent} at {path} was cut off {cut.where}. It is not complete.")
        note(cut.advice)
        return text

    def _again(self, raw: str, error: str, cut: Cut | None, model: str) -> Any:
        if cut is not None:
            error = f"the reply was cut off {cut.where}"
        if self.call.attempt > MAX_REPAIRS:
            raise self._invalid(raw, error, cut, model)
        limit = self.call.max_tokens
        allowed = 0 if cut is None else limit if cut.early else limit * 2
        kept, blob = self._kept(raw)
        self._effect.emit(
            ModelRepaired(
                attempt=self.call.attempt,
                error=error,
                raw=kept,
                blob=blob,
                cut=cut is not None,
                max_tokens=allowed,
                cut_at=cut.early if cut is not None else 0,
            )
        )
        self._repair(raw, error, cut, allowed)
        return AGAIN

    def _repair(self, raw: str, error: str, cut: Cut | None, allowed: int) -> None:
        """Ask again and say what is wrong. After a reply that was cut off, ask with a larger limit; or for
        fewer tokens, if the limit is not what cut it off."""
        if cut is None:
            prompt = repair_prompt(self._first.prompt, raw, error)
        elif cut.early:
            prompt = shorter_prompt(self._first.prompt, cut.early)
        else:
            prompt = cut_prompt(self._first.prompt, cut.limit, allowed)
        self._next(prompt, allowed or self.call.max_tokens)

    def _continue(self, text: str) -> None:
        self._text = join(self._text, text)
        self._continued += 1
        self._next(continue_prompt(self._first.prompt, self._text), self.call.max_tokens)

    def _next(self, prompt: str, max_tokens: int) -> None:
        prompt = redacted(self._effect, prompt)
        self.call = replace(self.call, prompt=prompt, attempt=self.call.attempt + 1, max_tokens=max_tokens)

    def _kept(self, raw: str) -> tuple[str, str]:
        """Return a reply as the log keeps it: its text, or the hash of a blob if it is long."""
        data = redacted(self._effect, raw).encode("utf-8", "replace")
        if len(data) <= BLOB_BYTES:
            return raw, ""
        return "", self._effect.core.journal.put_blob(data)

    async def _read(self, raw: str, blob: str) -> str:
        if not blob:
            return raw
        return (await self._effect.core.journal.store.get_blob(blob)).decode("utf-8", "replace")

    def _invalid(self, raw: str, error: str, cut: Cut | None, model: str) -> InvalidReplyError:
        said = f"the reply did not fit after {MAX_REPAIRS} repairs: {error}"
        if cut is not None:
            how = "in fewer tokens" if cut.early else "with a larger limit"
            said = f"{error}, also when it was asked for {how}"
            self._effect.core.note(cut.advice)
        return InvalidReplyError(
            self.call.path,
            "InvalidReplyError",
            said,
            raw=raw[:_RAW_IN_ERROR],
            model=model,
            attempts=self.call.attempt,
            **({"cut": True, "hint": cut.advice} if cut is not None else {}),
        )
