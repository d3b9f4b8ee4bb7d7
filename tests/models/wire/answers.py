"""What a provider on loopback can be told to answer: one small class for each way to behave or misbehave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.models.wire.acting import Act


@dataclass(frozen=True, slots=True)
class Say:
    """A proper answer, in the format and manner (streamed or not, tool or text) that was asked for."""

    text: str = "A fine answer."
    input_tokens: int = 12
    output_tokens: int = 5
    remembered: int = 0
    """How many of the input tokens the provider had remembered."""
    to_remember: int = 0
    """How many of them it was asked to remember, and does from now on."""
    usage: bool = True
    """Whether the answer tells what it used."""
    finish: str = "stop"
    """`stop`, `length` or `refusal`."""
    pieces: int = 4
    """In how many pieces a streamed answer comes."""
    drop_after: int | None = None
    """Cut the connection after so many pieces of a stream."""
    hang_after: int | None = None
    """Say nothing more after so many pieces of a stream."""

    def cut(self) -> list[str]:
        size = max(1, -(-len(self.text) // self.pieces))
        return [self.text[start : start + size] for start in range(0, len(self.text), size)]


@dataclass(frozen=True, slots=True)
class Refuse:
    """An error reply."""

    status: int
    message: str = "Something is wrong."
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    code: str = "error"

    def body(self) -> bytes:
        error: dict[str, Any] = {"type": self.code, "code": self.code, "message": self.message}
        # the message stands where each of the providers looks for it
        return json.dumps({"type": "error", "message": self.message, "error": error}).encode()


@dataclass(frozen=True, slots=True)
class Limit:
    """Refuse whatever comes within so many seconds after the first request that met this; then answer."""

    seconds: float
    says_when: bool = True
    """Whether the refusal says how long to wait."""
    then: Say = field(default_factory=Say)

    def refusal(self) -> Refuse:
        headers = {"retry-after-ms": str(round(self.seconds * 1000))} if self.says_when else {}
        return Refuse(429, "Too many requests.", headers, "rate_limit_exceeded")


@dataclass(frozen=True, slots=True)
class Raw:
    """Any bytes with any content type, under status 200."""

    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    claims: int | None = None
    """The length that is announced, where it is not the true one: the connection then breaks off."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answer. With `started`, after the head and the first bytes of a body."""

    started: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """Close the connection without a word."""


@dataclass(frozen=True, slots=True)
class Flood:
    """Stream far more than was asked for, in pieces of the given size."""

    megabytes: int = 50
    piece: int = 16_384


Answer = Say | Act | Refuse | Limit | Raw | Hang | Drop | Flood
