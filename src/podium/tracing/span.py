"""Spans, semantic conventions, and OTLP JSON."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from podium import __version__
from podium.engine.codec import encode
from podium.models.events import ModelAttempted

Value = str | int | float | bool | list[str]
Attributes = dict[str, Value]

INTERNAL, CLIENT = 1, 3
"""Span kinds, with their numbers in OTLP."""


class Moment(msgspec.Struct, frozen=True):
    """An event within a span."""

    name: str
    time_ns: int
    attributes: Attributes = {}


class Span(msgspec.Struct, kw_only=True):
    """A time span of a run: the whole run, a branch, a step or a call."""

    name: str
    trace_id: str
    """32 hexadecimal digits."""
    span_id: str
    """16 hexadecimal digits."""
    parent_id: str = ""
    """Empty for the root."""
    kind: int = INTERNAL
    start_ns: int
    end_ns: int = 0
    attributes: Attributes = msgspec.field(default_factory=dict[str, Any])
    moments: list[Moment] = msgspec.field(default_factory=list[Moment])
    links: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])
    """Trace and span ids of the runs that it continues."""
    failed: bool = False
    description: str = ""
    """Error message; may contain content."""

    def fail(self, kind: str, description: str = "") -> None:
        self.failed = True
        self.attributes["error.type"] = kind or "_OTHER"
        self.description = description


def trace_id_of(run_id: str) -> str:
    """Return the trace id of a run, the same for all its stretches."""
    return hashlib.sha256(f"podium run {run_id}".encode()).hexdigest()[:32]


def span_id_of(run_id: str, *place: str | int) -> str:
    """Return a span id derived from its place in the run: exporting it again produces the same span."""
    name = "\0".join(map(str, (run_id, *place)))
    return hashlib.sha256(f"podium span {name}".encode()).hexdigest()[:16]


PROVIDERS = {
    "openai-chat": "openai",
    "openai-compatible": "openai",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "bedrock": "aws.bedrock",
}
"""Names of providers that differ in the conventions."""
LOCAL = frozenset({"rehearsal", "python", "replay"})
"""Models that answer inside this process."""

_STATUS = re.compile(r"HTTP (\d{3})\b")


def split_model(name: str) -> tuple[str, str, str]:
    """Return provider, model and address of `provider:model@address`."""
    provider, colon, model = name.partition(":")
    if not colon:
        return name, name, ""
    if provider in LOCAL:  # leaves out the path of a function's file, which is private
        return provider, model.rpartition(":")[2] or model, ""
    model, _, address = model.partition("@")
    return provider, model, address


def about_call(call: ModelAttempted) -> tuple[str, int, Attributes]:
    """Return the name, kind and attributes of the span of one call."""
    provider, model, address = split_model(call.model)
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS.get(provider, provider),
        "gen_ai.request.model": model,
        "gen_ai.output.type": "json" if call.mode else "text",
        "podium.attempt": call.attempt,
        "podium.try": call.nth,
    }
    if call.ok:
        attributes["gen_ai.response.model"] = model
        attributes["gen_ai.response.finish_reasons"] = [call.finish or "stop"]
    if call.mode:
        attributes["podium.output_mode"] = call.mode
    if call.rehearsal:
        attributes["podium.rehearsal"] = True
    attributes |= usage(call.charge.input_tokens, call.charge.output_tokens)
    attributes |= cost(call.charge.usd, unpriced=bool(call.charge.unpriced_calls), estimated=call.estimated)
    server = urlsplit(address)
    if server.hostname:
        attributes["server.address"] = server.hostname
        attributes["server.port"] = _port(server)
    return f"chat {model}", INTERNAL if provider in LOCAL else CLIENT, attributes


def usage(input_tokens: int, output_tokens: int) -> Attributes:
    return {"gen_ai.usage.input_tokens": input_tokens, "gen_ai.usage.output_tokens": output_tokens}


def cost(usd: float, *, unpriced: bool = False, estimated: bool = False) -> Attributes:
    """Return cost attributes, for which the conventions have no name. An unknown cost is left out, not
    reported as 0."""
    attributes: Attributes = {} if unpriced else {"podium.cost.usd": usd}
    return attributes | ({"podium.cost.estimated": True} if estimated else {})


def error_type(text: str) -> str:
    """Return a class of failure for a message: one of few, without its content."""
    if status := _STATUS.search(text):
        return status[1]
    if "no answer" in text:
        return "timeout"
    return "dropped" if "connection" in text else "_OTHER"


def message(role: str, text: str, finish: str = "") -> str:
    """Return one message of a conversation, in the form of the conventions."""
    entry: dict[str, Any] = {"role": role, "parts": [{"type": "text", "content": text}]}
    return encode([entry | ({"finish_reason": finish} if finish else {})]).decode()


def instructions(text: str) -> str:
    return encode([{"type": "text", "content": text}]).decode()


def as_text(raw: msgspec.Raw | Any) -> str:
    """Return a recorded result for display: text unchanged, data as JSON."""
    data = bytes(raw) if isinstance(raw, msgspec.Raw) else encode(raw)
    value: Any = msgspec.json.decode(data)
    return value if isinstance(value, str) else data.decode()


def _port(server: Any) -> int:
    try:
        return server.port or (443 if server.scheme == "https" else 80)
    except ValueError:  # not a number: the address is invalid, and the call has reported it
        return 0


SCOPE = "podium"
"""The instrumentation scope of all spans, and the default service name (see OTEL_SERVICE_NAME)."""


def to_json(spans: Iterable[Span], service: str = SCOPE) -> bytes:
    """Return one OTLP request as JSON."""
    scope = {"name": SCOPE, "version": __version__}
    traced = {"scope": scope, "spans": [_span(span) for span in spans]}
    resource = {"attributes": _attributes({"service.name": service})}
    whole = {"resourceSpans": [{"resource": resource, "scopeSpans": [traced]}]}
    return msgspec.json.format(encode(whole), indent=1) + b"\n"


def _span(span: Span) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _attributes(span.attributes),
        "events": [
            {
                "name": moment.name,
                "timeUnixNano": str(moment.time_ns),
                "attributes": _attributes(moment.attributes),
            }
            for moment in span.moments
        ],
        "links": [{"traceId": trace, "spanId": other} for trace, other in span.links],
        "status": {"code": 2, "message": span.description} if span.failed else {},
    }
    return {name: value for name, value in fields.items() if value not in ("", [], {})}


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
