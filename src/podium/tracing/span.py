"""A span as plain data, and its identity: the same log always gives the same ids."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

Value = str | int | float | bool | list[str]
Attributes = dict[str, Value]

INTERNAL, CLIENT = 1, 3
"""Kinds of spans, with their numbers in OTLP."""


class Moment(msgspec.Struct, frozen=True):
    """Something that happened during a span."""

    name: str
    time_ns: int
    attributes: Attributes = {}


class Span(msgspec.Struct, kw_only=True):
    """One stretch of a run: the whole of it, a branch, a step or a call."""

    name: str
    trace_id: str
    """32 hexadecimal digits."""
    span_id: str
    """16 of them."""
    parent_id: str = ""
    """Empty: the root."""
    kind: int = INTERNAL
    start_ns: int
    end_ns: int = 0
    attributes: Attributes = msgspec.field(default_factory=dict[str, Any])
    moments: list[Moment] = msgspec.field(default_factory=list[Moment])
    links: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])
    """Trace and span ids of what it continues."""
    failed: bool = False
    description: str = ""
    """What went wrong, in words; they may hold content."""

    def fail(self, kind: str, description: str = "") -> None:
        self.failed = True
        self.attributes["error.type"] = kind or "_OTHER"
        self.description = description


def trace_id_of(run_id: str) -> str:
    """All lives of a run are one trace."""
    return hashlib.sha256(f"podium run {run_id}".encode()).hexdigest()[:32]


def span_id_of(run_id: str, *place: str | int) -> str:
    """From where a span lies in its run: exporting it again is the same span again."""
    name = "\0".join(map(str, (run_id, *place)))
    return hashlib.sha256(f"podium span {name}".encode()).hexdigest()[:16]
