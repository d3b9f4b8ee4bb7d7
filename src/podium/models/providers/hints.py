"""Asking a provider to remember what stays the same between calls: an agent's instructions and its schema.

They come first in every request, so the calls of one agent begin alike; what changes, the prompt, comes
last. A hint is part of the request itself and never one more of them.
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

from pydantic_ai.settings import CacheConfig, ModelSettings

from podium.engine.codec import encode
from podium.models.model import Call

LONG = 4096
"""Bytes, some 1,000 tokens: no provider remembers less, so to ask for it would be for nothing."""

_ROUTED = ("openai", "openai-chat")
"""Providers that remember by themselves, and are helped by a word that tells which calls begin alike."""


def prefix_bytes(call: Call) -> int:
    """How much of a request stays the same in the next call of this agent."""
    schema = 0 if call.schema is None else len(encode(call.schema))
    return len(call.system.encode("utf-8", "replace")) + schema


def hints(provider: str, call: Call) -> ModelSettings:
    """What to add to the settings of a request; providers without such a thing ignore it. Google remembers
    by itself and takes no hint that is not a request of its own."""
    if prefix_bytes(call) < LONG:
        return ModelSettings()
    told: dict[str, Any] = {"cache": CacheConfig(messages=False)}
    if provider in _ROUTED:
        told["openai_prompt_cache_key"] = _word(call)
    return cast("ModelSettings", told)


def _word(call: Call) -> str:
    """The same for all calls that begin alike. A hash: it must tell nothing of what it stands for."""
    return f"podium-{hashlib.blake2b(encode([call.system, call.schema]), digest_size=12).hexdigest()}"
