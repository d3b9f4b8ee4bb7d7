"""The door to OpenTelemetry's own packages: an extra, and slow to import, so only the one who sends opens it.

Their exporter knows the standard variables (endpoint, headers, certificates, compression, time-out).
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Sequence

from opentelemetry.context import (
    _SUPPRESS_INSTRUMENTATION_KEY,  # pyright: ignore[reportPrivateUsage] - no public name for it
    attach,
    detach,
    set_value,
)
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from podium import __version__
from podium.settings import variable
from podium.tracing.span import CLIENT, SCOPE, Span

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_LOGGER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


class Sender:
    """Sends spans to a collector and waits for its answer. Belongs to one thread."""

    def __init__(self, endpoint: str, timeout_s: float | None = None) -> None:
        self._resource = Resource.create({"service.name": variable("OTEL_SERVICE_NAME") or SCOPE})
        self._scope = InstrumentationScope(SCOPE, __version__)
        self._exporter = OTLPSpanExporter(endpoint or None, timeout=timeout_s)
        self._heard = _Heard()
        logging.getLogger(_LOGGER).addFilter(self._heard)

    def send(self, spans: Sequence[Span]) -> str:
        """Why it did not work; empty: it did. The exporter tries again by itself while its time-out lasts."""
        self._heard.listen()
        quiet = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))  # exports are not traced themselves
        try:
            done = self._exporter.export([self._readable(span) for span in spans])
        finally:
            detach(quiet)
        return "" if done is SpanExportResult.SUCCESS else self._heard.reason()

    @property
    def trouble(self) -> str:
        """What went wrong with the batch that is under way, or was last; empty: nothing."""
        return self._heard.reason() if self._heard.said else ""

    def close(self) -> None:
        """Also ends an export that is under way in another thread."""
        self._exporter.shutdown()
        logging.getLogger(_LOGGER).removeFilter(self._heard)

    def _readable(self, span: Span) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace_id, span.span_id),
            parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
            resource=self._resource,
            attributes=span.attributes,
            events=[Event(one.name, one.attributes, one.time_ns) for one in span.moments],
            links=[Link(_context(trace, other)) for trace, other in span.links],
            kind=SpanKind.CLIENT if span.kind == CLIENT else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.description or None) if span.failed else Status(),
            start_time=span.start_ns,
            end_time=span.end_ns,
            instrumentation_scope=self._scope,
        )


class _Heard(logging.Filter):
    """Keeps what the exporter would print on stderr for every batch: we tell it once, in our own words."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = 0
        self.said: list[str] = []

    def listen(self) -> None:
        self._thread = threading.get_ident()
        self.said = []

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self._thread:
            return True
        self.said.append(record.getMessage())
        return False

    def reason(self) -> str:
        """What lies below all the wrapping, in a few words."""
        first = next(iter(self.said), "no reason was given")
        if system := re.search(r"\[Errno -?\d+\] ([^\"'()]+)", first):
            return system[1]
        if "timed out" in first.lower():
            return "no answer in time"
        status = re.search(r"code: (\d+), reason: ([^\n]*)", first)
        return f"HTTP {status[1]} {status[2]}".strip() if status else first[:200]


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=_SAMPLED)
