"""The cache across runs: which calls are the same, which replies are worth keeping, and how they are written.

A model takes part by telling what of its own changes its replies (`cache_mark`). One that does not tell is
never served from the cache: the rehearsal makes up its answers anyway, and `replay:` repeats a log.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.models.model import Call, Model, Reply, charge

VERSION = 1
"""Part of every key: entries that were written in another way are never found."""


class CacheEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reply as the cache keeps it."""

    text: str
    model: str = ""
    """Which model really answered."""
    mode: str = ""


def key_of(model: Model, call: Call) -> str:
    """The hash of everything that a reply depends on; empty: it must not come from a cache. The run, the
    path and the agent's name are left out on purpose: whatever of them a model sees stands in the text."""
    mark = getattr(model, "cache_mark", None)
    own: list[Any] | None = mark(call) if mark is not None else None
    if own is None:
        return ""
    asked = [
        VERSION, model.name, own, call.system, call.prompt, call.schema, call.temperature, call.max_tokens,
    ]  # fmt: skip
    return hashlib.blake2b(encode(asked), digest_size=20).hexdigest()


def is_good(reply: Reply) -> bool:
    """Whether a reply may be served again: one that ended by itself and says something. One that was cut
    off, refused or filtered might come out better next time."""
    return reply.finish == "stop" and bool(reply.text.strip())


def written(reply: Reply) -> bytes:
    return encode(CacheEntry(reply.text, reply.model, reply.mode))


def read(data: bytes) -> Reply | None:
    """The reply of an entry; `None`: it is damaged."""
    try:
        entry = _ENTRY.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Reply(entry.text, None, entry.model, "stop", entry.mode) if entry.text.strip() else None


def cost_of(model: Model, reply: Reply) -> Charge:
    """What a later use of a reply saves: one call, and what that cost where the model told it."""
    return Charge(calls=1) if reply.usage is None else charge(model.price, reply.usage)


_ENTRY = msgspec.json.Decoder(CacheEntry)
