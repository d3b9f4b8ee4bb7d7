"""Spans as an OTLP/JSON file, which collectors and viewers can read. Needs nothing but Podium itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from podium import __version__
from podium.engine.codec import encode
from podium.tracing.span import Attributes, Span, Value

SCOPE = "podium"
"""The instrumentation scope of all spans, and the service's name unless OTEL_SERVICE_NAME says another."""


def to_json(spans: Iterable[Span], service: str = SCOPE) -> bytes:
    """One request of OTLP, in its JSON form."""
    scope = {"name": SCOPE, "version": __version__}
    traced = {"scope": scope, "spans": [_span(span) for span in spans]}
    resource = {"attributes": _attributes({"service.name": service})}
    whole = {"resourceSpans": [{"resource": resource, "scopeSpans": [traced]}]}
    return msgspec.json.format(encode(whole), indent=1) + b"\n"


def _span(span: Span) -> dict[str, Any]:
    told: dict[str, Any] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _attributes(span.attributes),
        "events": [
            {"name": one.name, "timeUnixNano": str(one.time_ns), "attributes": _attributes(one.attributes)}
            for one in span.moments
        ],
        "links": [{"traceId": trace, "spanId": other} for trace, other in span.links],
        "status": {"code": 2, "message": span.description} if span.failed else {},
    }
    return {name: value for name, value in told.items() if value not in ("", [], {})}


def _attributes(attributes: Attributes) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
        case _:
            return {"stringValue": value}
