"""Tracing of a run, live or from its log: background export of spans, and one-shot sending.

Spans that do not fit into the queue or do not arrive are counted and reported once; the log still holds
everything, and `podium trace` sends it later.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING

import msgspec

from podium.engine.events import Event, RunCompleted, RunPartial, StepCompleted
from podium.engine.log import Row, Store
from podium.engine.redaction import Redact
from podium.errors import ExportError, StoreError, UsageError
from podium.models.events import ModelAsked
from podium.tracing.destination import INSTALL, Destination, installed, is_http, shown_address
from podium.tracing.fold import Trace, spans_of
from podium.tracing.span import Span

if TYPE_CHECKING:
    from podium.tracing.sdk import Sender


ROOM = 4096
"""Maximum number of queued spans."""
BATCH = 256
LINGER_S = 0.25
"""Seconds that a span waits for more spans to fill a batch."""
AT_EXIT_S = 2.0
"""Seconds that the exit of the process waits for a collector that has not failed yet."""
_LOOK_S = 0.05

_log = logging.getLogger("podium.tracing")


class Collector:
    """A queue of spans for one collector."""

    def __init__(self, endpoint: str, *, room: int = ROOM, timeout_s: float | None = None) -> None:
        self.endpoint = endpoint
        self.sent = 0
        self.lost = 0
        self.reason = ""
        self._room = room
        self._timeout_s = timeout_s
        self._waiting: deque[Span] = deque()
        self._under_way = 0
        self._hurry = False
        self._reported = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._sender: Sender | None = None

    def prepare(self) -> None:
        """Load what is needed to send: takes a moment, and is not possible any more when the process
        exits."""
        if self._sender is None:
            from podium.tracing.sdk import Sender  # noqa: PLC0415 - an extra, and slow

            self._sender = Sender(self.endpoint, self._timeout_s)

    def put(self, spans: Sequence[Span]) -> None:
        """Queue spans without waiting."""
        if not spans:
            return
        with self._changed:
            free = self._room - len(self._waiting)
            self._waiting.extend(spans[:free])
            if len(spans) > free:
                self.lost += len(spans) - free
                self.reason = self.reason or "it is too slow"
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="podium-tracing", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def settle(self, seconds: float) -> bool:
        """Wait until everything was sent or an error occurred, for at most `seconds`; return whether nothing
        is left."""
        until = time.monotonic() + seconds
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            while not self._is_idle() and not self._trouble() and time.monotonic() < until:
                self._changed.wait(_LOOK_S)
            self._hurry = False
            return self._is_idle()

    def report_lost(self) -> None:
        """Log once that spans were lost."""
        if self.lost and not self._reported:
            self._reported = True
            _log.warning(
                "%d of %d spans did not reach the collector at %s: %s. "
                "Runs are not affected. Send them later with `podium trace RUN --otlp URL`.",
                self.lost,
                self.lost + self.sent,
                shown_address(self.endpoint),
                self.reason,
            )

    def close(self) -> None:
        """Send what is queued at process exit, within `AT_EXIT_S` seconds."""
        self.settle(AT_EXIT_S)
        with self._changed:
            unsent = len(self._waiting) + self._under_way
            self._waiting.clear()
            self.lost += unsent
            self.reason = self._trouble() or "no answer in time"
        self.report_lost()

    def _trouble(self) -> str:
        """Return the last error, also of a batch that is still being retried."""
        return self.reason or ("" if self._sender is None else self._sender.trouble)

    def _is_idle(self) -> bool:
        return not self._waiting and not self._under_way

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                self._changed.wait_for(lambda: self._hurry or len(self._waiting) >= BATCH, LINGER_S)
                batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
                self._under_way = len(batch)
            problem = self._send(batch)
            with self._changed:
                self._under_way = 0
                self.sent += 0 if problem else len(batch)
                self.lost += len(batch) if problem else 0
                self.reason = problem
                self._changed.notify_all()

    def _send(self, batch: list[Span]) -> str:
        try:
            self.prepare()
            return "" if self._sender is None else self._sender.send(batch)
        except Exception as error:  # noqa: BLE001 - any error: the thread continues, and `report_lost` logs it
            return f"{type(error).__name__}: {error}"


_collectors: dict[str, Collector] = {}


def collector_at(endpoint: str) -> Collector:
    """Return the process-wide collector for an address."""
    collector = _collectors.get(endpoint)
    if collector is None:
        if not _collectors:
            atexit.register(_close_all)
        collector = _collectors[endpoint] = Collector(endpoint)
    return collector


def _close_all() -> None:
    for collector in _collectors.values():
        collector.close()


TIMEOUT_S = 10.0


def check_collector(address: str) -> None:
    """Raise `UsageError` if spans cannot be sent to this address."""
    if not is_http(address):
        raise UsageError(
            f"The collector {address!r} is not an http address.", hint="For example: http://localhost:4318."
        )
    if not installed():
        raise UsageError(
            "OpenTelemetry is not installed.", hint=f"{INSTALL} Writing a file with -o works without it."
        )


def send_trace(address: str, spans: list[Span]) -> None:
    """Send spans and block until done. Raises `ExportError`."""
    from podium.tracing.sdk import Sender  # noqa: PLC0415 - an extra, and slow

    sender = Sender(address, TIMEOUT_S)
    try:
        for start in range(0, len(spans), BATCH):
            if problem := sender.send(spans[start : start + BATCH]):
                place = shown_address(address)
                raise ExportError(
                    f"The collector at {place} did not accept the trace: {problem.rstrip('.')}.",
                    hint="Write it to a file with -o, or try again; the ids stay the same.",
                )
    finally:
        sender.close()


_BREATH = 200
"""Events after which other tasks get a turn, because a resumed run first reads its whole log."""


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
    collector.report_lost()


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
        content = redact(await store.get_blob(blob))
    except StoreError:
        return event  # the blob is gone; the span has everything else
    if isinstance(data, ModelAsked):
        full = msgspec.structs.replace(data, prompt=content.decode("utf-8", "replace"))
    elif isinstance(data, StepCompleted):
        full = msgspec.structs.replace(data, result=msgspec.Raw(content))
    else:
        full = msgspec.structs.replace(data, output=msgspec.json.decode(content))
    return msgspec.structs.replace(event, data=full)
