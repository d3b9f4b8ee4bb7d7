"""The vocabulary of spans: OpenTelemetry's conventions for generative AI, and `podium.*` for the rest."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import msgspec

from podium.engine.codec import encode
from podium.models.events import ModelAttempted
from podium.tracing.span import CLIENT, INTERNAL, Attributes

PROVIDERS = {
    "openai-chat": "openai",
    "openai-compatible": "openai",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "bedrock": "aws.bedrock",
}
"""Where the conventions have another name than ours."""
LOCAL = frozenset({"rehearsal", "python", "replay"})
"""Models that answer inside this process."""

_STATUS = re.compile(r"HTTP (\d{3})\b")


def split_model(name: str) -> tuple[str, str, str]:
    """Provider, model and address of `provider:model@address`."""
    provider, colon, model = name.partition(":")
    if not colon:
        return name, name, ""
    if provider in LOCAL:  # the path of a function is its author's business
        return provider, model.rpartition(":")[2] or model, ""
    model, _, address = model.partition("@")
    return provider, model, address


def about_call(call: ModelAttempted) -> tuple[str, int, Attributes]:
    """Name, kind and attributes of the span of one call on the wire."""
    provider, model, address = split_model(call.model)
    told: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS.get(provider, provider),
        "gen_ai.request.model": model,
        "gen_ai.output.type": "json" if call.mode else "text",
        "podium.attempt": call.attempt,
        "podium.try": call.nth,
    }
    if call.ok:
        told["gen_ai.response.model"] = model
        told["gen_ai.response.finish_reasons"] = [call.finish or "stop"]
    if call.mode:
        told["podium.output_mode"] = call.mode
    if call.rehearsal:
        told["podium.rehearsal"] = True
    told |= usage(call.charge.input_tokens, call.charge.output_tokens)
    told |= cost(call.charge.usd, unpriced=bool(call.charge.unpriced_calls), estimated=call.estimated)
    server = urlsplit(address)
    if server.hostname:
        told["server.address"] = server.hostname
        told["server.port"] = _port(server)
    return f"chat {model}", INTERNAL if provider in LOCAL else CLIENT, told


def usage(input_tokens: int, output_tokens: int) -> Attributes:
    return {"gen_ai.usage.input_tokens": input_tokens, "gen_ai.usage.output_tokens": output_tokens}


def cost(usd: float, *, unpriced: bool = False, estimated: bool = False) -> Attributes:
    """Money; the conventions have no word for it. What is not known is not called free."""
    told: Attributes = {} if unpriced else {"podium.cost.usd": usd}
    return told | ({"podium.cost.estimated": True} if estimated else {})


def error_type(said: str) -> str:
    """A class of failure out of a message: few different ones, and nothing of its content."""
    if status := _STATUS.search(said):
        return status[1]
    if "no answer" in said:
        return "timeout"
    return "dropped" if "connection" in said else "_OTHER"


def message(role: str, text: str, finish: str = "") -> str:
    """One message of a conversation, as the conventions write it into an attribute."""
    one: dict[str, Any] = {"role": role, "parts": [{"type": "text", "content": text}]}
    return encode([one | ({"finish_reason": finish} if finish else {})]).decode()


def instructions(text: str) -> str:
    return encode([{"type": "text", "content": text}]).decode()


def as_text(raw: msgspec.Raw | Any) -> str:
    """A recorded result as a person reads it: text as it is, data as JSON."""
    data = bytes(raw) if isinstance(raw, msgspec.Raw) else encode(raw)
    value: Any = msgspec.json.decode(data)
    return value if isinstance(value, str) else data.decode()


def _port(server: Any) -> int:
    try:
        return server.port or (443 if server.scheme == "https" else 80)
    except ValueError:  # no number: the address is wrong, and the call has told so
        return 0
