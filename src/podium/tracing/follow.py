"""Tracing of a run, live or from its log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator

import msgspec

from podium.engine.events import Event, RunCompleted, RunPartial, StepCompleted
from podium.engine.log import Row, Store
from podium.engine.redaction import Redact
from podium.errors import StoreError
from podium.models.events import ModelAsked
from podium.tracing.collector import collector_at
from podium.tracing.destination import Destination
from podium.tracing.fold import Trace, spans_of
from podium.tracing.span import Span

_BREATH = 200
"""Events after which other tasks get a turn, because a resumed run first reads its whole log."""

_log = logging.getLogger("podium.tracing")


async def follow(
    events: AsyncGenerator[Event], store: Store, run_id: str, after: int, to: Destination
) -> None:
    """Send each span as it ends. Spans that ended up to `after` were sent by an earlier stretch of the run.
    Errors here are logged and never affect the run."""
    trace, collector = Trace(run_id, content=to.content), collector_at(to.endpoint)
    try:
        await asyncio.to_thread(collector.prepare)
        async for event in events:
            whole = await _whole(event, store) if to.content else event
            spans = trace.apply(whole)
            if event.seq > after:
                collector.put(spans)
            if event.seq % _BREATH == 0:
                await asyncio.sleep(0)
    except Exception as error:  # noqa: BLE001 - a trace must not end a run
        _log.warning("The trace of run %s is incomplete: %s: %s", run_id, type(error).__name__, error)
    finally:
        await events.aclose()
    collector.tell()


async def trace_of(store: Store, run_id: str, status: str, redact: Redact, *, content: bool) -> list[Span]:
    """Return all spans of a run's log. Redacts secrets that are known now, even if they were not known
    then."""
    events: list[Event] = []
    for row in await store.read(run_id):
        event = Row(row.seq, row.time_us, row.path, row.type, redact(row.data)).to_event(run_id)
        events.append(await _whole(event, store, redact) if content else event)
    return spans_of(run_id, events, status=status, content=content)


async def _whole(event: Event, store: Store, redact: Redact = bytes) -> Event:
    """Return an event with the content of its blob."""
    data, blob = event.data, getattr(event.data, "blob", "")
    if not blob or not isinstance(data, (ModelAsked, StepCompleted, RunCompleted, RunPartial)):
        return event
    try:
        found = redact(await store.get_blob(blob))
    except StoreError:
        return event  # the blob is gone; the span has everything else
    if isinstance(data, ModelAsked):
        full = msgspec.structs.replace(data, prompt=found.decode("utf-8", "replace"))
    elif isinstance(data, StepCompleted):
        full = msgspec.structs.replace(data, result=msgspec.Raw(found))
    else:
        full = msgspec.structs.replace(data, output=msgspec.json.decode(found))
    return msgspec.structs.replace(event, data=full)
