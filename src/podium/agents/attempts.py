"""The sequence of calls of one ask or of one turn, after replies that did not fit or were cut off.

Every reply that was paid for is logged in full before the next call is made, so a resumed run continues after
the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from podium.agents.caller import redacted
from podium.engine.codec import encode
from podium.engine.effect import BLOB_BYTES, DecodedResult, Effect
from podium.engine.events import EventData
from podium.errors import InvalidReplyError
from podium.models.events import ModelContinued, ModelRepaired
from podium.models.messages import Turn, user
from podium.models.model import Call, Reply
from podium.models.prompted_tools import NO_MORE_TOOLS
from podium.models.repair import (
    MAX_REPAIRS,
    Mismatch,
    continue_note,
    cut_note,
    find,
    join,
    repair_note,
    shorter_note,
    with_correction,
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


MALFORMED = "Your last reply held a tool call that could not be read. Call the tool again, in the right form."
EMPTY = "Your last reply was empty. Call a tool, or give your answer."
"""Corrections that are sent as they are."""
UNFINISHED = frozenset({"length", "error", "content_filter", "refusal"})
"""Ends of replies whose calls are not executed."""


class Cut(NamedTuple):
    """The point where a reply was cut off."""

    limit: int
    """Token limit of the call."""
    early: int = 0
    """Tokens after which the server ended the reply, if that was before the limit; else 0."""

    @classmethod
    def of(cls, reply: Reply, limit: int) -> Cut:
        """Return where a reply was cut off."""
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
        cut = Cut.of(reply, self.call.max_tokens) if reply.finish == "length" else None
        if self._returns is str:
            return self._take_text(reply.text, cut, model)
        parsed = find(reply.text, self._returns, whole=cut is None, check=self._check)
        if not isinstance(parsed, Mismatch):
            return DecodedResult(parsed.data, parsed.value)
        return self._again(reply.text, parsed.error, cut, model)

    def lower_limit(self) -> bool:
        """Return to the agent's own limit, if a larger one was refused; return whether it was changed."""
        if self.call.max_tokens <= self._first.max_tokens:
            return False
        self.call = replace(self.call, max_tokens=self._first.max_tokens)
        return True

    def _take_text(self, text: str, cut: Cut | None, model: str) -> Any:
        if cut is None:
            return join(self._text, text) if self._text else text
        if not text.strip() and not self._text:  # all tokens were spent on thinking
            return self._again(text, "", cut, model)
        self._cut = cut
        if self._continued < MAX_CONTINUATIONS:
            raw, blob = self._text_or_blob(text)
            self._effect.emit(ModelContinued(attempt=self.call.attempt, raw=raw, blob=blob))
            self._continue(text)
            return AGAIN
        return self._end_cut(join(self._text, text), cut)

    def close(self) -> Any:
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
        text, blob = self._text_or_blob(raw)
        self._effect.emit(
            ModelRepaired(
                attempt=self.call.attempt,
                error=error,
                raw=text,
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
            correction = self._correction(raw, error)
        elif cut.early:
            correction = shorter_note(cut.early)
        else:
            correction = cut_note(cut.limit, allowed)
        self._next(correction, allowed or self.call.max_tokens)

    def _correction(self, raw: str, error: str) -> str:
        return repair_note(raw, error)

    def _continue(self, text: str) -> None:
        self._text = join(self._text, text)
        self._continued += 1
        self._next(continue_note(self._text), self.call.max_tokens)

    def _next(self, correction: str, max_tokens: int) -> None:
        """Prepare the next call: the first prompt with a correction, or the conversation with one more
        message."""
        first, correction = self._first, redacted(self._effect, correction)
        changes: dict[str, Any] = {"attempt": self.call.attempt + 1, "max_tokens": max_tokens}
        if first.messages:
            changes["messages"], changes["size"] = (*first.messages, user(correction)), 0
        else:
            changes["prompt"] = with_correction(first.prompt, correction)
        self.call = replace(self.call, **changes)

    def _text_or_blob(self, raw: str) -> tuple[str, str]:
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
        reason = f"the reply did not fit after {MAX_REPAIRS} repairs: {error}"
        if cut is not None:
            how = "in fewer tokens" if cut.early else "with a larger limit"
            reason = f"{error}, also when it was asked for {how}"
            self._effect.core.note(cut.advice)
        return InvalidReplyError(
            self.call.path,
            "InvalidReplyError",
            reason,
            raw=raw[:_RAW_IN_ERROR],
            model=model,
            attempts=self.call.attempt,
            **({"cut": True, "hint": cut.advice} if cut is not None else {}),
        )


class TurnExchange(Exchange):
    """The calls of one turn. A reply with tool calls ends it; any other is an answer like that of an ask
    without tools."""

    def take(self, reply: Reply, model: str) -> Any:
        calls = reply.tool_calls
        if calls and reply.finish not in UNFINISHED and not self.call.must_answer:
            turn = Turn(text=reply.text, calls=calls, native=reply.native, **_said(reply, model))
            return DecodedResult(encode(turn), turn)
        if calls and reply.finish == "length":  # a call may be incomplete, so none is executed
            reply = replace(reply, tool_calls=(), text="")
        elif reply.finish == "error" and self.call.tools:
            return self._again(reply.text, MALFORMED, None, model)
        elif calls and reply.finish in UNFINISHED and not reply.text.strip():
            return self._again(encode(calls).decode(), EMPTY, None, model)
        elif calls and not reply.text.strip():
            return self._again(encode(calls).decode(), NO_MORE_TOOLS, None, model)
        elif self.call.tools and not reply.text.strip() and reply.finish != "length":
            return self._again("", NO_MORE_TOOLS if self.call.must_answer else EMPTY, None, model)
        answer = super().take(reply, model)
        if answer is AGAIN:
            return AGAIN
        data = answer.data if isinstance(answer, DecodedResult) else encode(answer)
        turn = Turn(answer=msgspec.Raw(data), **_said(reply, model))
        return DecodedResult(encode(turn), turn)

    def _correction(self, raw: str, error: str) -> str:
        return error if error in (NO_MORE_TOOLS, MALFORMED, EMPTY) else super()._correction(raw, error)

    def close(self) -> Any:
        text = super().close()
        if text is None:
            return None
        turn = Turn(answer=msgspec.Raw(encode(text)))
        return DecodedResult(encode(turn), turn)


def _said(reply: Reply, model: str) -> dict[str, Any]:
    used = reply.usage
    return {"model": model, "tokens": used.input_tokens + used.output_tokens if used else 0}
