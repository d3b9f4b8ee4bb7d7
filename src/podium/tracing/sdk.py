"""Adapter to OpenTelemetry's packages. They are an extra and slow to import, so only the sender imports this
module.

Their exporter reads the standard variables (endpoint, headers, certificates, compression, timeout).
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
    """Sends spans to a collector and waits for the response. Belongs to one thread."""

    def __init__(self, endpoint: str, timeout_s: float | None = None) -> None:
        self._resource = Resource.create({"service.name": variable("OTEL_SERVICE_NAME") or SCOPE})
        self._scope = InstrumentationScope(SCOPE, __version__)
        self._exporter = OTLPSpanExporter(endpoint or None, timeout=timeout_s)
        self._capture = _LogCapture()
        logging.getLogger(_LOGGER).addFilter(self._capture)

    def send(self, spans: Sequence[Span]) -> str:
        """Send spans; return the error, or an empty string. The exporter retries by itself within its
        timeout."""
        self._capture.listen()
        quiet = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))  # exports are not traced themselves
        try:
            done = self._exporter.export([self._readable(span) for span in spans])
        finally:
            detach(quiet)
        return "" if done is SpanExportResult.SUCCESS else self._capture.reason()

    @property
    def trouble(self) -> str:
        """The error of the current or last batch; empty if there is none."""
        return self._capture.reason() if self._capture.messages else ""

    def close(self) -> None:
        """Shut down the exporter; also ends an export in another thread."""
        self._exporter.shutdown()
        logging.getLogger(_LOGGER).removeFilter(self._capture)

    def _readable(self, span: Span) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace_id, span.span_id),
            parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
            resource=self._resource,
            attributes=span.attributes,
            events=[Event(moment.name, moment.attributes, moment.time_ns) for moment in span.moments],
            links=[Link(_context(trace, other)) for trace, other in span.links],
            kind=SpanKind.CLIENT if span.kind == CLIENT else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.description or None) if span.failed else Status(),
            start_time=span.start_ns,
            end_time=span.end_ns,
            instrumentation_scope=self._scope,
        )


class _LogCapture(logging.Filter):
    """Captures what the exporter would print on stderr for every batch, so that it is reported once, in plain
    words."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = 0
        self.messages: list[str] = []

    def listen(self) -> None:
        self._thread = threading.get_ident()
        self.messages = []

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self._thread:
            return True
        self.messages.append(record.getMessage())
        return False

    def reason(self) -> str:
        """Return the underlying error in a few words."""
        first = next(iter(self.messages), "no reason was given")
        if system := re.search(r"\[Errno -?\d+\] ([^\"'()]+)", first):
            return system[1]
        if "timed out" in first.lower():
            return "no answer in time"
        status = re.search(r"code: (\d+), reason: ([^\n]*)", first)
        return f"HTTP {status[1]} {status[2]}".strip() if status else first[:200]


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=_SAMPLED)
