"""Sending the trace of a run to a collector, whole and at once."""

from __future__ import annotations

from podium.errors import ExportError, UsageError
from podium.tracing.destination import INSTALL, installed, is_http, shown_address
from podium.tracing.span import Span

BATCH = 256
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
