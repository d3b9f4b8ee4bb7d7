"""Model protocol, calls, replies, prices and faults.

Everything that answers Podium's agents is a `Model`: three offline ones ship with the package, hosted
providers are adapters to this interface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from podium.engine.budget import MOST_CALLS, MOST_TOKENS, is_cost, is_count
from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.errors import UsageError
from podium.models.messages import FilePart, Message, NativeParts, ToolCall, ToolDefinition

_SHOWN = 40
"""Maximum characters of an impossible figure in a warning."""
OnDelta = Callable[[str], None]
"""Called with each piece of a reply as it is generated."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a model; also the argument of a `python:` function."""

    run_id: str
    workflow: str
    path: str
    """Path of the step that asks, for example `story/dialogue/grade#2`."""
    agent: str
    """Name of the agent that is asked."""
    role: str
    task: str
    """Task of the ask: `plan`, `grade`, …"""
    system: str
    """System prompt: the agent's identity and instructions."""
    prompt: str
    schema: dict[str, Any] | None = None
    """JSON schema of the reply; `None` requests text."""
    attempt: int = 1
    """1, plus 1 for each repair of this step."""
    temperature: float = 0.7
    max_tokens: int = 4096
    """Maximum tokens of the reply, always sent: without it no worst case could be reserved."""
    timeout: float = 300.0
    """Timeout of the reply in seconds."""
    messages: tuple[Message, ...] = ()
    """The conversation so far, for an agent with tools or a thread; it begins with `prompt`. Empty: `prompt`
    is all there is."""
    tools: tuple[ToolDefinition, ...] = ()
    """The tools that the model may call."""
    files: Mapping[str, bytes] = {}
    """Contents of the files in the messages, by blob."""
    must_answer: bool = False
    """The model must answer now and may not call a tool."""
    counted: tuple[int, int] = (0, 0)
    """Tokens that are known to bound the first messages of the conversation, and how many messages that
    are."""
    size: int = 0
    """Upper bound of the tokens of all messages and tools, by their bytes; 0: not known."""


class Usage(msgspec.Struct, frozen=True):
    """Usage of a call, as the model reports it."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    """Cost in US dollars, if known more exactly than from the tokens: cached input is cheaper."""
    cache_read_tokens: int = 0
    """Input tokens read from the provider's cache; part of `input_tokens`."""
    cache_write_tokens: int = 0
    """Input tokens written to the provider's cache; part of `input_tokens`."""


class Reply(msgspec.Struct, frozen=True):
    """Reply of a model."""

    text: str
    usage: Usage | None = None
    """`None`: the model did not report it; the whole reservation is then counted."""
    model: str = ""
    """The model that really answered, if reported; providers resolve aliases."""
    finish: str = "stop"
    """Finish reason: `stop`, `length`, …"""
    mode: str = ""
    """Structured-output mode of the request: `native`, `tool` or `prompted`; empty for text."""
    calls: int = 1
    """Requests that were sent; more than 1 only if an adapter breaks its contract."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Tools that the model wants to call."""
    native: NativeParts | None = None
    """Parts of the reply that the provider wants back with the next message."""
    tools: str = ""
    """Form in which tools were offered: `native` or `prompted`; empty if there were none."""


class Embedded(NamedTuple):
    """One vector per text, and the total cost."""

    vectors: list[list[float]]
    charge: Charge


class Price(msgspec.Struct, frozen=True):
    """Price of tokens in US dollars. Free is not the same as unknown."""

    kind: Literal["free", "known", "unknown"] = "unknown"
    input_per_million: float = 0.0
    output_per_million: float = 0.0

    def __post_init__(self) -> None:
        for rate in (self.input_per_million, self.output_per_million):
            if not is_cost(rate):
                raise UsageError(
                    f"A price of {rate!r} US dollars per million tokens is impossible.",
                    hint="Give a finite number from 0 on.",
                )


FREE = Price("free")
UNKNOWN = Price("unknown")


class Model(Protocol):
    """Anything that answers calls."""

    @property
    def name(self) -> str:
        """Name with which it can be opened again: `rehearsal`, `python:/path/models.py:answer`,
        `openai:…`."""
        ...

    @property
    def rehearsal(self) -> bool:
        """True if its replies are invented; every display must say so."""
        ...

    @property
    def price(self) -> Price: ...

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        """Answer with one request. Any exception is a failed call."""
        ...

    def worst_case(self, call: Call) -> Charge:
        """Return the most that `complete(call)` can cost: reserved before it, settled after it."""
        ...


def charge(price: Price, usage: Usage, calls: int = 1) -> Charge:
    """Return the cost of a call. With an unknown price it is 0, and the calls count as unpriced."""
    usd = usage.usd
    if usd is None:
        usd = (
            usage.input_tokens * price.input_per_million + usage.output_tokens * price.output_per_million
        ) / 1_000_000
    return Charge(
        usd=usd if price.kind == "known" else 0.0,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        calls=calls,
        unpriced_calls=calls if price.kind == "unknown" else 0,
    )


def plausible(reply: Reply) -> tuple[Reply, str]:
    """Return a reply without implausible usage, and the rejected figure; empty if there is none. A call
    without usage is charged with its worst case and marked as estimated."""
    if not is_count(reply.calls, MOST_CALLS) or reply.calls == 0:
        return msgspec.structs.replace(reply, usage=None, calls=1), f"calls {reply.calls!r}"
    refused = "" if reply.usage is None else impossible(reply.usage)
    return (msgspec.structs.replace(reply, usage=None), refused) if refused else (reply, "")


def impossible(usage: Usage) -> str:
    """Return the first implausible figure as `name value`; empty if there is none."""
    for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"):
        value: object = getattr(usage, name)
        if not is_count(value, MOST_TOKENS):
            return f"{name} {str(value)[:_SHOWN]}"
    return "" if usage.usd is None or is_cost(usage.usd) else f"cost {str(usage.usd)[:_SHOWN]}"


def worst_case(call: Call, price: Price) -> Charge:
    """Return the worst-case cost. A token is at least one byte, so the bytes bound the input; `max_tokens`
    bounds the output."""
    return charge(price, Usage(input_bytes(call), call.max_tokens))


def estimate(call: Call, text: str) -> Usage:
    """Return estimated usage for models that do not count tokens: a quarter of the bytes. Never more than the
    worst case, because an estimate must not break a ceiling."""
    reply = -(-_size(text) // 4)
    if call.counted[1]:
        call = msgspec.structs.replace(call, counted=(0, 0))
    return Usage(-(-input_bytes(call) // 4), min(reply, call.max_tokens))


def input_bytes(call: Call) -> int:
    """Return an upper bound of a call's input tokens."""
    if call.counted[1]:
        return _conversation_size(call)
    system, prompt, schema = call.system, call.prompt, call.schema
    size = len(system) if system.isascii() else _size(system)  # fast path: ASCII in nearly all calls
    if call.messages:
        size += _conversation_size(call)
    else:
        size += len(prompt) if prompt.isascii() else _size(prompt)
    return size if schema is None else size + _schema_size(schema)


_MESSAGE_FRAME = 16
"""Tokens that providers add around a message or a call."""


def _conversation_size(call: Call) -> int:
    """Return an upper bound of the tokens of messages and tools. Messages that a model has counted before are
    bounded by its own count, the others by their bytes."""
    tokens, known = call.counted
    if known:
        return tokens + sum(map(message_size, call.messages[known:]))
    return call.size or sum(map(message_size, call.messages)) + tools_size(call.tools)


def message_size(message: Message) -> int:
    """Return an upper bound of the tokens of a message."""
    size = _size(message.text) + _MESSAGE_FRAME
    if message.calls:
        size += len(encode(message.calls)) + _MESSAGE_FRAME * len(message.calls)
    if message.native is not None:
        size += len(encode(message.native.data))
    return size + file_tokens(message) if message.files else size


def file_tokens(message: Message) -> int:
    """Return an upper bound of the tokens of the files of a message."""
    return sum(map(_file_tokens, message.files))


def tools_size(tools: Iterable[ToolDefinition]) -> int:
    """Return an upper bound of the tokens of tool definitions."""
    return sum(map(_tool_size, tools))


def conversation_estimate(system: str, size: int, files: int) -> int:
    """Return about how many tokens a conversation has: a third of its bytes, which is more than most. `size`
    bounds its messages and tools, `files` is the part of it that files have."""
    return (_size(system) + size - files) // 3 + files


_PICTURE_TOKENS = 5_000
"""More than any provider counts for one image, or for the picture of one page of a PDF."""
_PAGE_TEXT_TOKENS = 4_000
"""Tokens of the text of one page, which some providers add to its picture."""


def _file_tokens(part: FilePart) -> int:
    """Return an upper bound of the tokens of a file. Bytes do not bound images and PDF pages."""
    if part.media_type.startswith("image/"):
        return _PICTURE_TOKENS
    if part.media_type == "application/pdf":
        return max(part.pages, 1) * (_PICTURE_TOKENS + _PAGE_TEXT_TOKENS)
    return part.size + _MESSAGE_FRAME + len(part.name)


def _tool_size(tool: ToolDefinition) -> int:
    return _size(tool.description) + 2 * _schema_size(tool.schema) + _MESSAGE_FRAME + len(tool.name)


_sizes: dict[int, tuple[dict[str, Any], int]] = {}


def _schema_size(schema: dict[str, Any]) -> int:
    """Return the encoded size of a schema. Cached, because a run uses few schema objects again and again."""
    known = _sizes.get(id(schema))
    if known is None or known[0] is not schema:
        if len(_sizes) >= 256:
            _sizes.clear()
        known = _sizes[id(schema)] = schema, len(encode(schema))
    return known[1]


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


FaultKind = Literal[
    "rejected",
    "limited",
    "unavailable",
    "unreachable",
    "timeout",
    "dropped",
    "garbled",
    "oversized",
    "resting",
]


class ModelFault(Exception):
    """A call that a provider did not answer. Workflows never see it: an ask retries, falls back to the next
    model of the profile, or fails with `ModelFailedError`."""

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        *,
        retry: bool = False,
        billed: bool = False,
        down: bool = False,
        status: int = 0,
        wait_s: float | None = None,
        calls: int = 1,
        mode: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.retry = retry
        """A retry may succeed a moment later."""
        self.billed = billed
        """The provider may have generated, and billed, a reply that never arrived."""
        self.down = down
        """It indicates that the provider is down, not that the call was invalid."""
        self.status = status
        """HTTP status; 0 if there was none."""
        self.wait_s = wait_s
        """Seconds that the provider asks to wait."""
        self.calls = calls
        """Requests that were sent."""
        self.mode = mode
        """Structured-output mode of the request."""
        self.tools = ""
        """Form in which the request offered tools."""
        self.hint = hint
        """Advice for the user, if any: half a sentence without a full stop."""


MORE_TIME = "For a slow model raise `reply_timeout` in podium.toml, or give --reply-timeout"
"""Advice for a reply that timed out."""

RETRIED_STATUSES = frozenset({408, 409, 429})
"""Error statuses below 500 that are retried."""


def retried(status: int) -> bool:
    """Return whether the same request may succeed later."""
    return status in RETRIED_STATUSES or status >= 500
