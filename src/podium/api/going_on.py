"""Letting a run go on that somebody else drives: what was asked of it lies in its inbox until its turn comes.

A server's conductor and the workers of a fleet take runs up in the same way; this is that way.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from podium.api.handle import RunHandle
from podium.api.launch import resume
from podium.engine.budget import Budget
from podium.engine.events import RunFailed
from podium.engine.history import HISTORY, OVER, history_of
from podium.engine.journal import Journal
from podium.engine.log import RunRow, Store
from podium.engine.redact import redactor
from podium.errors import NotResumableError, PodiumError, StoreError
from podium.settings import Settings

MARKS: dict[str, Any] = {"served": True}
"""What the log of a run says that a server, or a fleet, drives."""
RESUME = "resume"
"""The kind of message that lets a run go on."""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run goes on with."""

    budget: Budget = Budget()
    model: str | None = None
    model_for: dict[str, str] = {}
    reply_timeout: float | None = None
    reply_tokens: int | None = None


async def put_in_line(
    store: Store, settings: Settings, run_id: str, change: Change | None = None, *, take_over: bool = False
) -> None:
    """Make a run `queued` again, with what it is to go on with. Durable when this returns."""
    lease = await store.acquire(run_id, take_over=take_over)
    try:
        await store.post(run_id, RESUME, msgspec.to_builtins(change or Change()))
        journal = Journal(store, lease, redactor(settings.secrets()))
        journal.update(status="queued", stop_reason="", budget=change.budget if change else None)
        await journal.committed()
    finally:
        await store.release(lease)


async def go_on(store: Store, settings: Settings, run_id: str, *, nap_s: float | None = None) -> RunHandle:
    """Drive a run with what has been asked of it while it waited; the newest counts. One that sleeps for
    longer than `nap_s` is paused until it wakes."""
    asked = [message for message in await store.inbox(run_id) if message.kind == RESUME]
    changes = [msgspec.convert(message.data, Change) for message in asked]
    await store.discard([message.id for message in asked[:-1]])
    change = changes[-1] if changes else Change()
    return await resume(
        run_id, store=store, settings=settings, budget=change.budget, model=change.model,
        model_for=change.model_for or None, reply_timeout=change.reply_timeout,
        reply_tokens=change.reply_tokens, marks=MARKS, nap_s=nap_s,
    )  # fmt: skip


async def is_served(store: Store, run_id: str) -> bool:
    """Whether it is the business of a server or a fleet: somebody's own run on a terminal is not."""
    _, config, _ = history_of(await store.read(run_id, types=HISTORY))
    if config.get("served"):
        return True
    return any(message.kind == RESUME for message in await store.inbox(run_id))


async def refuse(store: Store, settings: Settings, row: RunRow, error: PodiumError) -> None:
    """A run that cannot even be taken up (its model is gone, say) has failed, and its log says why. One that
    is over is not touched: whoever is late may have been told of it by a queue that a crash set back."""
    if isinstance(error, StoreError | NotResumableError):
        return
    with suppress(StoreError):
        lease = await store.acquire(row.run_id)
        try:
            if (await store.get(row.run_id)).status in OVER:
                return
            journal = Journal(store, lease, redactor(settings.secrets()))
            told = RunFailed(
                error=error.message, error_type=type(error).__name__, hint=error.hint, usage=row.usage,
                driven_s=row.driven_s,
            )  # fmt: skip
            journal.append("", told)
            journal.update(status="failed")
            await journal.committed()
        finally:
            await store.release(lease)
