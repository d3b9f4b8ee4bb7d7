"""One call of a model, whatever kind of object it is: a proper reply, or an ordinary exception."""

from __future__ import annotations

import asyncio
from typing import Any

from podium.engine.failure import describe, is_close, running_task, unawaited
from podium.errors import ModelFailedError, RunInterrupted
from podium.models.model import Call, Model, OnDelta, Reply, Usage

MOST_TEXT = 100_000_000
"""Characters of one reply. A longer one does not fit into a store."""


async def complete(model: Model, call: Call, on_delta: OnDelta | None) -> Reply:
    """Call a model once. What must not leave a call (an exit, a stray cancellation, something else than a
    reply) becomes `ModelFailedError`; a cancellation from outside and Ctrl-C pass."""
    task = running_task()
    try:
        reply = await model.complete(call, on_delta)
    except (Exception, KeyboardInterrupt, RunInterrupted):
        raise
    except BaseException as error:
        cancelled = isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling())
        if cancelled or is_close(error, task):
            raise
        kind = type(error).__name__
        raise ModelFailedError(call.path, kind, describe(error), model=model.name) from error
    if wrong := _wrong_with(reply):
        raise ModelFailedError(call.path, "TypeError", f"the model returned {wrong}", model=model.name)
    return reply


def _wrong_with(reply: Any) -> str:
    """Return what is wrong with the object that a model returned; empty: it is a reply."""
    if not isinstance(reply, Reply):
        name, hint = type(reply).__name__, unawaited(reply)
        return f"{name}, not a Reply: {hint}" if hint else f"{name}, not a Reply"
    text: Any = reply.text
    if type(text) is not str:
        return f"a Reply whose text is {type(text).__name__}, not a string"
    if len(text) > MOST_TEXT:
        return f"{len(text):,} characters; at most {MOST_TEXT:,} are accepted"
    for name in ("model", "finish", "mode"):
        if not isinstance(getattr(reply, name), str):
            return f"a Reply whose `{name}` is not a string"
    usage: Any = reply.usage
    if usage is not None and not isinstance(usage, Usage):
        return f"a Reply whose usage is {type(usage).__name__}, not a Usage"
    return ""
