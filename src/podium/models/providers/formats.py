"""Structured-output requests, and parsing of replies and errors."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast

import msgspec
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.tools import ToolDefinition

from podium.engine.codec import decode
from podium.models.messages import FilePart
from podium.models.model import MORE_TIME, ModelFault, Usage, retried
from podium.models.providers.clients import Tally

Mode = Literal["", "native", "tool", "prompted"]
ToolMode = Literal["", "native", "prompted"]
MODES: list[Mode] = ["native", "tool", "prompted"]
"""Preferred order."""

PDF = "application/pdf"
TOOL = "answer"
"""Name of the tool through which a model answers."""
WRAPPED = "value"
"""The only field of the object around a reply that is not an object itself."""


class Ordered(NamedTuple):
    """A schema in the form that providers accept."""

    schema: dict[str, Any]
    wrapped: bool
    """The reply is in the field `value` of an object."""


def best_mode(profile: ModelProfile, schema: dict[str, Any], system: str) -> Mode:
    """Return `native` if the provider can enforce this schema, else `tool`, else `prompted`."""
    free = system == "anthropic" and _open(schema)
    if profile.get("supports_json_schema_output", False) and not free:
        return "native"
    return "tool" if profile.get("supports_tools", True) else "prompted"


def ordered(schema: dict[str, Any]) -> Ordered:
    """Return a schema with an object at the root, as providers require: a reference is resolved, anything
    else is wrapped."""
    definitions: dict[str, Any] = schema.get("$defs", {})
    root = {key: value for key, value in schema.items() if key != "$defs"}
    if set(root) == {"$ref"}:
        name = str(root["$ref"]).removeprefix("#/$defs/")
        root = cast("dict[str, Any]", definitions.get(name, root))
    wrapped = root.get("type") != "object"
    if wrapped:
        root = {"type": "object", "properties": {WRAPPED: root}, "required": [WRAPPED]}
    return Ordered({**root, "$defs": definitions} if definitions else root, wrapped)


def parameters(mode: Mode, schema: dict[str, Any]) -> ModelRequestParameters:
    if mode == "tool":
        tool = ToolDefinition(
            name=TOOL, description="Give the answer.", parameters_json_schema=schema, kind="output"
        )
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    wanted = OutputObjectDefinition(json_schema=schema, name=TOOL)
    return ModelRequestParameters(
        output_mode="native" if mode == "native" else "prompted", output_object=wanted, allow_text_output=True
    )


def _open(schema: Any) -> bool:
    """Return whether a schema contains objects with free keys: a strict mode would make them empty."""
    if isinstance(schema, list):
        return any(_open(item) for item in cast("list[Any]", schema))
    if not isinstance(schema, dict):
        return False
    node = cast("dict[str, Any]", schema)
    free = node.get("additionalProperties", False)
    if free is True or isinstance(free, dict) or (node.get("type") == "object" and "properties" not in node):
        return True
    return not node or any(_open(value) for value in node.values() if isinstance(value, (dict, list)))


_SHOWN = 500
_LONGEST = 100_000
_NEVER_SENT = ("pool", "connect")
_LOST = {
    "timeout": ("no answer in time", MORE_TIME),
    "dropped": ("the connection broke off before the answer was complete", "Check the network and any proxy"),
}
"""Message and advice for a reply that did not arrive."""


def unreadable_file(profile: ModelProfile, part: FilePart) -> str:
    """Return why a model cannot read a file; empty if it can, or if only its provider knows."""
    if part.media_type.startswith("image/"):
        return "" if profile.get("supports_image_input", True) else _unreadable_kind("images", part)
    if part.media_type != PDF:
        return ""
    kinds = profile.get("supported_document_media_types")
    readable = profile.get("supports_document_input", True) and (kinds is None or PDF in kinds)
    return "" if readable else _unreadable_kind("PDF files", part)


def _unreadable_kind(kind: str, part: FilePart) -> str:
    return f"the model cannot read {kind}, so {part.name} cannot be sent to it"


def text_of(response: ModelResponse, *, tools: bool = False) -> str:
    """Return the text of a reply, or the arguments of the answer tool. If there are no other tools, any call
    is taken as the answer: some models misspell its name."""
    for part in response.parts:
        if isinstance(part, ToolCallPart) and (part.tool_name == TOOL or not tools):
            return part.args_as_json_str()
    return clean("".join(part.content for part in response.parts if isinstance(part, TextPart)))


def clean(text: str) -> str:
    """Return text that can be encoded: surrogate pairs are joined, lone surrogates replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def usage_of(response: ModelResponse) -> Usage | None:
    """Return the usage; `None` if the provider did not report it."""
    usage = response.usage
    if usage.unmeasured_requests or not (usage.input_tokens or usage.output_tokens):
        return None
    return Usage(
        usage.input_tokens,
        usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )


def refusal_of(response: ModelResponse) -> str:
    """Return why the model refused to answer; empty if it did not."""
    if response.finish_reason != "content_filter":
        return ""
    text = (response.provider_details or {}).get("refusal") or text_of(response)
    return f"the model refused: {_shown(str(text))}" if text else "the model refused to answer"


def fault_of(error: Exception, tally: Tally, address: str = "") -> ModelFault:
    """Return the fault for any exception of a call."""
    calls = tally.requests
    if not calls:
        return ModelFault("rejected", f"the call cannot be made: {_shown(str(error))}", calls=0)
    if tally.problem:
        return ModelFault("oversized", tally.problem, billed=True, calls=calls)
    if 300 <= tally.status < 400:
        reason = (
            f"HTTP {tally.status}: the address sends us elsewhere, and a key only goes where it was meant to"
        )
        return ModelFault("rejected", reason, status=tally.status, calls=calls)
    match error:
        case ModelHTTPError():
            return _error_reply(error, calls)
        case ModelTimeoutError() | ModelRequestTimeout():
            return _lost("timeout", error, calls, address)
        case ModelConnectionError():
            return _lost("dropped", error, calls, address)
        case ModelAPIError() | UnexpectedModelBehavior():
            reason, hint = _unreadable(error.message)
        case _:  # the response has the wrong form, and the client failed on it
            reason, hint = _unreadable("")
    return ModelFault("garbled", reason, retry=True, billed=True, down=True, calls=calls, hint=hint)


def _error_reply(error: ModelHTTPError, calls: int) -> ModelFault:
    status = error.status_code
    reason = f"HTTP {status}: {_shown(_message(error.body) or 'no explanation')}"
    again = retried(status) and not isinstance(error, ModelQuotaExceededError)
    return ModelFault(
        "limited" if status == 429 else "unavailable" if retried(status) else "rejected",
        reason,
        retry=again,
        billed=error.in_stream,
        down=status >= 500,
        status=status,
        wait_s=error.retry_after,
        calls=calls,
    )


def _lost(kind: Literal["timeout", "dropped"], error: ModelAPIError, calls: int, address: str) -> ModelFault:
    if getattr(error, "phase", None) in _NEVER_SENT:
        reason = f"the provider cannot be reached{f' at {address}' if address else ''}"
        return ModelFault("unreachable", reason, retry=True, down=True, calls=calls)
    reason, hint = _LOST[kind]
    return ModelFault(kind, reason, retry=True, billed=True, down=True, calls=calls, hint=hint)


def _unreadable(message: str) -> tuple[str, str]:
    """Return why a response cannot be read, in plain words (clients mention their own classes), and
    advice."""
    if not message or "validation error" in message:
        why = "it does not have the form of this provider's answers"
    elif "without content" in message:
        why = "it is empty"
    elif "JSON" in message or "codec" in message:
        why = "it is not JSON"
    else:
        why = _shown(message)
    return f"the answer cannot be read: {why}", "Check the provider's address"


def _message(body: object) -> str:
    """Return the message of an error reply, from the forms that providers use."""
    if isinstance(body, dict):
        fields = cast("dict[str, Any]", body)
        keys = ("error", "message", "detail", "Error", "Message")
        inner: Any = next((fields[key] for key in keys if fields.get(key)), None)
        return str(fields) if inner is None else _message(inner)
    if isinstance(body, str) and body.lstrip().startswith("{"):
        try:
            return _message(decode(body[:_LONGEST].encode("utf-8", "replace")))
        except (msgspec.DecodeError, RecursionError):
            return body
    return str(body) if body else ""


def _shown(text: str) -> str:
    line = " ".join(clean(text).split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
