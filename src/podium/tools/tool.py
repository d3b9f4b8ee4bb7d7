"""The contract of a tool: what a model is told of it, and what comes back; plain data that a step can log."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

MAX_TEXT = 20_000
"""Characters of a result that reach a model; a tool's own caps lie below or are cut here."""


class ToolSpec(msgspec.Struct, frozen=True):
    """How a model sees a tool."""

    name: str
    """`read_file`, or `SERVER.tool` for a tool of an MCP server."""
    description: str
    parameters: dict[str, Any]
    """JSON schema of the arguments."""


class ToolResult(msgspec.Struct, frozen=True):
    """What a call gave: text, or one sentence about why there is none."""

    ok: bool
    text: str = ""
    """At most `MAX_TEXT` characters; a cut is marked."""
    error: str = ""


class Equipment(msgspec.Struct, frozen=True):
    """The tools of a run, and what is wrong with others that it should have had."""

    tools: list[ToolSpec]
    troubles: list[str]


class Tool(Protocol):
    """Anything that can be called with JSON arguments. Failures of any kind may be raised: whoever calls it
    through a `Toolbox` gets a `ToolResult`."""

    spec: ToolSpec

    async def call(self, args: dict[str, Any]) -> ToolResult: ...


class ToolError(Exception):
    """A tool's refusal or failure as one sentence for the model; never leaves a `Toolbox`."""


def succeeded(text: str) -> ToolResult:
    """A result with its text brought to the size that a model may see."""
    return ToolResult(ok=True, text=bounded(text))


def failed(reason: str) -> ToolResult:
    """A failure as one bounded line."""
    return ToolResult(ok=False, error=bounded(" ".join(reason.split()), 1_000))


def bounded(text: str, limit: int = MAX_TEXT) -> str:
    """The text, or as much of its beginning as fits together with a mark that says what is missing."""
    if len(text) <= limit:
        return text
    mark = f"\n[cut: {len(text):,} characters in all]"
    return text[: limit - len(mark)] + mark
