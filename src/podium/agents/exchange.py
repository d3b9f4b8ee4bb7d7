"""The attempts of one ask: which call comes next, after replies that did not fit or were cut off.

Every reply that was paid for is logged whole before the next call is made, so a resumed run continues after
the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from podium.agents.wire import redacted
from podium.engine.effect import BLOB_BYTES, Effect, Prepared
from podium.engine.events import EventData
from podium.errors import InvalidReplyError
from podium.models.events import ModelContinued, ModelRepaired
from podium.models.model import Call, Reply
from podium.models.repair import MAX_REPAIRS, Mismatch, continue_prompt, cut_prompt, find, join, repair_prompt

Check = Callable[[Any], str]
"""Looks at an answer that fits its type: what is still wrong with it, or nothing."""

AGAIN = object()
"""There is no answer yet: `Exchange.call` is the next call."""

MAX_CONTINUATIONS = 1
"""How often a text that was cut off is continued."""

_RAW_IN_ERROR = 1_000_000
"""Longer replies are cut in an error."""


class Exchange:
    """One ask from its first call to its answer."""

    def __init__(self, effect: Effect, first: Call, returns: Any, check: Check | None) -> None:
        self.call = first
        """The call that comes next."""
        self._effect = effect
        self._first = first
        self._returns = returns
        self._check = check
        self._text = ""
        """The beginning of a text that was cut off."""
        self._continued = 0

    async def restore(self, progress: Sequence[EventData]) -> None:
        """Continue after the last reply that an earlier life of the run has logged."""
        for event in progress:
            if isinstance(event, ModelRepaired):
                raw = await self._read(event.raw, event.blob)
                self._repair(raw, event.error, event.max_tokens if event.cut else 0)
            elif isinstance(event, ModelContinued):
                self._continue(await self._read(event.raw, event.blob))

    def take(self, reply: Reply, model: str) -> Any:
        """Return the answer in a reply; or log why it is none, prepare the next call and return `AGAIN`.
        Raise `InvalidReplyError` when there is no call left."""
        cut = reply.finish == "length"
        if self._returns is str:
            return self._take_text(reply.text, cut, model)
        found = find(reply.text, self._returns, whole=not cut, check=self._check)
        if not isinstance(found, Mismatch):
            return Prepared(found.data, found.value)
        return self._again(reply.text, found.error, cut, model)

    def lower_limit(self) -> bool:
        """Go back to the agent's own limit, if a larger one was refused."""
        if self.call.max_tokens <= self._first.max_tokens:
            return False
        self.call = replace(self.call, max_tokens=self._first.max_tokens)
        return True

    def _take_text(self, text: str, cut: bool, model: str) -> Any:
        if not cut:
            return join(self._text, text)
        if not text.strip() and not self._text:  # all of it went into thinking
            return self._again(text, "", cut, model)
        if self._continued < MAX_CONTINUATIONS:
            raw, blob = self._kept(text)
            self._effect.emit(ModelContinued(attempt=self.call.attempt, raw=raw, blob=blob))
            self._continue(text)
            return AGAIN
        self._effect.cut = True
        self._effect.core.note(
            f"The reply of {self.call.agent} at {self._effect.path} was cut off at its limit of "
            f"{self.call.max_tokens:,} tokens and is not complete."
        )
        return join(self._text, text)

    def _again(self, raw: str, error: str, cut: bool, model: str) -> Any:
        limit = self.call.max_tokens
        if cut:
            error = f"the reply was cut off at its limit of {limit:,} tokens before it was complete"
        if self.call.attempt > MAX_REPAIRS:
            raise self._invalid(raw, error, cut, model)
        larger = limit * 2 if cut else 0
        kept, blob = self._kept(raw)
        self._effect.emit(
            ModelRepaired(
                attempt=self.call.attempt, error=error, raw=kept, blob=blob, cut=cut, max_tokens=larger
            )
        )
        self._repair(raw, error, larger)
        return AGAIN

    def _repair(self, raw: str, error: str, larger: int) -> None:
        """Ask again, saying what is wrong; after a reply that was cut off, with a larger limit."""
        if larger:
            prompt = cut_prompt(self._first.prompt, self.call.max_tokens, larger)
        else:
            prompt = repair_prompt(self._first.prompt, raw, error)
        self._next(prompt, larger or self.call.max_tokens)

    def _continue(self, text: str) -> None:
        self._text = join(self._text, text)
        self._continued += 1
        self._next(continue_prompt(self._first.prompt, self._text), self.call.max_tokens)

    def _next(self, prompt: str, max_tokens: int) -> None:
        prompt = redacted(self._effect, prompt)
        self.call = replace(self.call, prompt=prompt, attempt=self.call.attempt + 1, max_tokens=max_tokens)

    def _kept(self, raw: str) -> tuple[str, str]:
        """Return a reply as the log keeps it: its text, or the hash of a blob when it is long."""
        data = redacted(self._effect, raw).encode("utf-8", "replace")
        if len(data) <= BLOB_BYTES:
            return raw, ""
        return "", self._effect.core.journal.put_blob(data)

    async def _read(self, raw: str, blob: str) -> str:
        if not blob:
            return raw
        return (await self._effect.core.journal.store.get_blob(blob)).decode("utf-8", "replace")

    def _invalid(self, raw: str, error: str, cut: bool, model: str) -> InvalidReplyError:
        said = f"the reply did not fit after {MAX_REPAIRS} repairs: {error}"
        if cut:
            said = f"{error}, also when it was asked again with a larger limit"
        return InvalidReplyError(
            self.call.path,
            "InvalidReplyError",
            said,
            raw=raw[:_RAW_IN_ERROR],
            model=model,
            attempts=self.call.attempt,
        )
