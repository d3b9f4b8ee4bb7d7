"""Reply cache across runs: cache keys, which replies are kept, and their serialized form.

A model takes part by declaring what else changes its replies (`cache_mark`). A model without it is never
served from the cache: the rehearsal invents its replies anyway, and `replay:` repeats a log.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.models.messages import NativeParts, ToolCall
from podium.models.model import Call, Model, Reply, charge

VERSION = 1
"""Part of every key: entries in another format are never found."""


class CacheEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reply as the cache stores it."""

    text: str
    model: str = ""
    """The model that really answered."""
    mode: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    native: NativeParts | None = None


def key_of(model: Model, call: Call) -> str:
    """Return the hash of everything that a reply depends on; empty if it must not be cached. Excludes the
    run, the path and the agent's name on purpose: whatever a model sees of them is in the text."""
    mark = getattr(model, "cache_mark", None)
    own: list[Any] | None = mark(call) if mark is not None else None
    if own is None:
        return ""
    request = [
        VERSION,
        model.name,
        own,
        call.system,
        call.prompt,
        call.schema,
        call.temperature,
        call.max_tokens,
    ]
    if call.messages:
        request += [call.messages, call.tools, call.must_answer]
    return hashlib.blake2b(encode(request), digest_size=20).hexdigest()


def is_good(reply: Reply) -> bool:
    """Return whether a reply may be served again: it ended by itself and is not empty. One that was cut off,
    refused or filtered might be better next time."""
    if reply.tool_calls:
        return reply.finish in ("stop", "tool_call")
    return reply.finish == "stop" and bool(reply.text.strip())


def written(reply: Reply) -> bytes:
    return encode(CacheEntry(reply.text, reply.model, reply.mode, reply.tool_calls, reply.native))


def read(data: bytes) -> Reply | None:
    """Return the reply of an entry; `None` if it is damaged."""
    try:
        entry = _ENTRY.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not entry.text.strip() and not entry.tool_calls:
        return None
    return Reply(
        entry.text, None, entry.model, "stop", entry.mode, tool_calls=entry.tool_calls, native=entry.native
    )


def cost_of(model: Model, reply: Reply) -> Charge:
    """Return what a later use of a reply saves: one call, and its cost if the model reported usage."""
    return Charge(calls=1) if reply.usage is None else charge(model.price, reply.usage)


_ENTRY = msgspec.json.Decoder(CacheEntry)
