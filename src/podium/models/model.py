"""Model contract, calls, replies, prices, faults.

Everything that answers Podium's agents is a `Model`: three offline ones ship with the package, hosted
providers are adapters to this page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from podium.engine.budget import MOST_CALLS, MOST_TOKENS, is_cost, is_count
from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.errors import UsageError

_SHOWN = 40
"""Characters of an impossible figure that a warning quotes."""
OnDelta = Callable[[str], None]
"""Called with each piece of a reply as it is generated."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a model; also the argument of a `python:` function."""

    run_id: str
    workflow: str
    path: str
    """The step that asks, for example `story/dialogue/grade#2`."""
    agent: str
    """Name of the agent that is asked."""
    role: str
    task: str
    """The verb of the ask: `plan`, `grade`, …"""
    system: str
    """Who the agent is and how it works."""
    prompt: str
    schema: dict[str, Any] | None = None
    """The JSON schema that the reply must fit; `None` asks for text."""
    attempt: int = 1
    """1, and one more for each repair of this step."""
    temperature: float = 0.7
    max_tokens: int = 4096
    """The longest reply, always sent: without it no worst case could be reserved."""
    timeout: float = 300.0
    """Seconds that the reply may take."""


class Usage(msgspec.Struct, frozen=True):
    """What a call used, as the model reports it."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    """What it cost, where that is known more exactly than from the tokens: cached input is cheaper."""
    cache_read_tokens: int = 0
    """Input that the provider remembered; part of `input_tokens`."""
    cache_write_tokens: int = 0
    """Input that the provider was asked to remember; part of `input_tokens`."""


class Reply(msgspec.Struct, frozen=True):
    """What came back."""

    text: str
    usage: Usage | None = None
    """`None`: the model did not say; the whole reservation is then counted."""
    model: str = ""
    """Which model really answered, where it says so; providers resolve aliases."""
    finish: str = "stop"
    """Why it ended: `stop`, `length`, …"""
    mode: str = ""
    """How a structured reply was asked for: `native`, `tool` or `prompted`."""
    calls: int = 1
    """Requests that went out; one, unless an adapter failed to keep its word."""


class Embedded(NamedTuple):
    """One vector for each of some texts, and what they cost."""

    vectors: list[list[float]]
    charge: Charge


class Price(msgspec.Struct, frozen=True):
    """What tokens cost in US dollars. Free is not the same as unknown."""

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
    """Something that answers calls."""

    @property
    def name(self) -> str:
        """Enough to open it again: `rehearsal`, `python:/path/models.py:answer`, `openai:…`."""
        ...

    @property
    def rehearsal(self) -> bool:
        """Its answers are made up; whoever shows them must say so."""
        ...

    @property
    def price(self) -> Price: ...

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        """Answer once, on one wire request. Any exception is a failed call."""
        ...

    def worst_case(self, call: Call) -> Charge:
        """The most that `complete(call)` can cost: reserved before it, settled after it."""
        ...


def charge(price: Price, usage: Usage, calls: int = 1) -> Charge:
    """What a call cost. An unknown price costs nothing and is counted as such."""
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
    """Return a reply without usage that cannot be true, and the figure that was refused; empty: none was.
    A call without usage is charged with its worst case and marked as estimated."""
    if not is_count(reply.calls, MOST_CALLS) or reply.calls == 0:
        return msgspec.structs.replace(reply, usage=None, calls=1), f"calls {reply.calls!r}"
    refused = "" if reply.usage is None else impossible(reply.usage)
    return (msgspec.structs.replace(reply, usage=None), refused) if refused else (reply, "")


def impossible(usage: Usage) -> str:
    """Return the first figure that no call can have, as `name value`."""
    for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"):
        value: object = getattr(usage, name)
        if not is_count(value, MOST_TOKENS):
            return f"{name} {str(value)[:_SHOWN]}"
    return "" if usage.usd is None or is_cost(usage.usd) else f"cost {str(usage.usd)[:_SHOWN]}"


def worst_case(call: Call, price: Price) -> Charge:
    """A token is at least one byte, so input is bounded by its bytes; output by `max_tokens`."""
    return charge(price, Usage(input_bytes(call), call.max_tokens))


def estimate(call: Call, text: str) -> Usage:
    """Usage for models that count no tokens: a quarter of the bytes. It never passes the worst case,
    because a figure that nobody is billed for must not break a ceiling."""
    reply = -(-_size(text) // 4)
    return Usage(-(-input_bytes(call) // 4), min(reply, call.max_tokens))


def input_bytes(call: Call) -> int:
    """An upper bound of a call's input tokens."""
    system, prompt, schema = call.system, call.prompt, call.schema
    size = len(system) if system.isascii() else _size(system)  # nearly always; a call saved for each
    size += len(prompt) if prompt.isascii() else _size(prompt)
    return size if schema is None else size + _schema_size(schema)


_sizes: dict[int, tuple[dict[str, Any], int]] = {}


def _schema_size(schema: dict[str, Any]) -> int:
    """The schemas of a run are few and the same objects again and again: each is measured once."""
    known = _sizes.get(id(schema))
    if known is None or known[0] is not schema:
        if len(_sizes) >= 256:
            _sizes.clear()
        known = _sizes[id(schema)] = schema, len(encode(schema))
    return known[1]


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


FaultKind = Literal[
    "rejected", "limited", "unavailable", "unreachable", "timeout", "dropped", "garbled", "oversized",
    "resting",
]  # fmt: skip


class ModelFault(Exception):
    """A call that a provider did not answer. Never seen by workflows: an ask tries again, turns to the next
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
        """The same call may succeed a moment later."""
        self.billed = billed
        """The provider may have generated, and charged for, an answer that never arrived."""
        self.down = down
        """It speaks for a provider that is down, not for a call that was wrong."""
        self.status = status
        """The HTTP status, where there was one."""
        self.wait_s = wait_s
        """How long the provider asks to wait."""
        self.calls = calls
        """Requests that went out."""
        self.mode = mode
        """How a structured reply was asked for."""
        self.hint = hint
        """What to do about it, where there is something: half a sentence without a full stop."""


MORE_TIME = "For a slow model raise `reply_timeout` in podium.toml, or give --reply-timeout"
"""What to do about a reply that took too long."""

RETRIED_STATUSES = frozenset({408, 409, 429})
"""Error replies below 500 that are worth another attempt."""


def retried(status: int) -> bool:
    """Whether the same request may be answered later."""
    return status in RETRIED_STATUSES or status >= 500
