"""Background export and one-shot send.

What does not fit, or does not arrive, is counted and told once; the log still holds all of it, and
`podium trace` sends it later.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from podium.errors import ExportError, UsageError
from podium.tracing.destination import INSTALL, installed, is_http, shown_address
from podium.tracing.span import Span

if TYPE_CHECKING:
    from podium.tracing.sdk import Sender


ROOM = 4096
"""Spans that may wait."""
BATCH = 256
LINGER_S = 0.25
"""How long a span waits for company."""
AT_EXIT_S = 2.0
"""How long the end of the process waits for a collector that has not failed yet."""
_LOOK_S = 0.05

_log = logging.getLogger("podium.tracing")


class Collector:
    """One address to which spans are sent."""

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
        self._told = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._sender: Sender | None = None

    def prepare(self) -> None:
        """Load what is needed to send: takes a moment, and cannot be done any more when the process ends."""
        if self._sender is None:
            from podium.tracing.sdk import Sender  # noqa: PLC0415 - an extra, and slow

            self._sender = Sender(self.endpoint, self._timeout_s)

    def put(self, spans: Sequence[Span]) -> None:
        """Never waits."""
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
        """Wait until everything was sent or has met trouble, but no longer; whether nothing is left."""
        until = time.monotonic() + seconds
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            while not self._is_idle() and not self._trouble() and time.monotonic() < until:
                self._changed.wait(_LOOK_S)
            self._hurry = False
            return self._is_idle()

    def tell(self) -> None:
        """Say once that spans were lost."""
        if self.lost and not self._told:
            self._told = True
            _log.warning(
                "%d of %d spans did not reach the collector at %s: %s. "
                "No run was touched by this; `podium trace RUN --otlp URL` sends them later.",
                self.lost, self.lost + self.sent, shown_address(self.endpoint), self.reason,
            )  # fmt: skip

    def close(self) -> None:
        """The end of the process."""
        self.settle(AT_EXIT_S)
        with self._changed:
            left = len(self._waiting) + self._under_way
            self._waiting.clear()
            self.lost += left
            self.reason = self._trouble() or "it gave no answer in time"
        self.tell()

    def _trouble(self) -> str:
        """What went wrong last; also with a batch that is still tried again."""
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
        except Exception as error:  # noqa: BLE001 - whatever it is, the thread goes on, and `tell` says it
            return f"{type(error).__name__}: {error}"


_collectors: dict[str, Collector] = {}


def collector_at(endpoint: str) -> Collector:
    """The one of this process for an address."""
    found = _collectors.get(endpoint)
    if found is None:
        if not _collectors:
            atexit.register(_close_all)
        found = _collectors[endpoint] = Collector(endpoint)
    return found


def _close_all() -> None:
    for collector in _collectors.values():
        collector.close()


TIMEOUT_S = 10.0


def check_collector(address: str) -> None:
    """Whether anything can be sent there from here."""
    if not is_http(address):
        raise UsageError(
            f"The collector {address!r} is not an http address.", hint="For example: http://localhost:4318."
        )
    if not installed():
        raise UsageError("To send traces, OpenTelemetry is needed.", hint=f"{INSTALL} A file needs nothing.")


def send_trace(address: str, spans: list[Span]) -> None:
    """Blocking. Raises `ExportError`."""
    from podium.tracing.sdk import Sender  # noqa: PLC0415 - an extra, and slow

    sender = Sender(address, TIMEOUT_S)
    try:
        for start in range(0, len(spans), BATCH):
            if problem := sender.send(spans[start : start + BATCH]):
                place = shown_address(address)
                raise ExportError(
                    f"The collector at {place} did not take the trace: {problem.rstrip('.')}.",
                    hint="Write it to a file with -o, or try again: nothing is sent twice.",
                )
    finally:
        sender.close()
