"""Messages of conversations as they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec.structs import replace

from podium.models.messages import FilePart
from podium.report.presentation import View
from podium.report.turns import CallState
from podium.report.words import count, duration, money, safe

SHORTEST_S = 0.05
"""Shorter times are not shown."""


class ShownCall(View, frozen=True, kw_only=True):
    """A tool call of a turn, with its result."""

    number: str
    """Turn and index: `2.0` is the first call of turn 2."""
    tool: str
    arguments: Any
    words: str
    """The call on one line."""
    state: CallState
    path: str = ""
    """Path of its step; empty if it has none, or none yet."""
    call_id: str = ""
    """The idempotency key that the tool got."""
    result: str = ""
    decision: str = ""
    """The decision of a person about it."""
    cost_usd: float = 0.0
    """Its cost, including steps of a sub-agent."""
    tokens: int = 0
    seconds: float = 0.0


class ShownMessage(View, frozen=True, kw_only=True):
    """One message, as it was sent or as it came."""

    role: Literal["system", "user", "assistant", "summary"]
    """`summary` stands for earlier messages, which were condensed."""
    who: str
    """Whose message it is; of a summary, what it stands for."""
    text: str
    seq: int
    """Number of the event that holds it."""
    path: str
    """Path of the step that it belongs to."""
    turn: int = 0
    calls: tuple[ShownCall, ...] = ()
    files: tuple[FilePart, ...] = ()
    cost_usd: float = 0.0
    tokens: int = 0
    model: str = ""
    final: bool = False
    """It answers the request; otherwise it asks for tool calls."""


class ShownConversation(View, frozen=True, kw_only=True):
    """A conversation with one agent."""

    path: str
    """Path of its first ask."""
    agent: str
    task: str
    title: str
    messages: tuple[ShownMessage, ...]


def title_of(agent: str, path: str, messages: Sequence[ShownMessage]) -> str:
    """Return the title of a conversation: agent, path, turns and calls."""
    turns = sum(message.role == "assistant" for message in messages)
    calls = sum(len(message.calls) for message in messages)
    called = f", {count(calls, 'call')}" if calls else ""
    return f"{agent}, {path} ({count(turns, 'turn')}{called})"


def notes_of(call: ShownCall) -> list[str]:
    """Return the state of a call, a person's decision and its figures."""
    notes = [call.state, call.decision]
    notes.append(duration(call.seconds) if call.seconds >= SHORTEST_S else "")
    notes.append(money(call.cost_usd) if call.cost_usd else "")
    return [note for note in notes if note]


def shortened(talk: ShownConversation, most: int) -> ShownConversation:
    """Return a conversation for a page: texts without control sequences, of at most `most` characters."""
    messages = [
        replace(
            message,
            text=_cut(message.text, most),
            calls=tuple(replace(call, result=_cut(call.result, most)) for call in message.calls),
        )
        for message in talk.messages
    ]
    return replace(talk, messages=tuple(messages))


def _cut(text: str, most: int) -> str:
    shown = safe(text[:most])
    return shown if len(text) <= most else f"{shown}\n[… {len(text) - most:,} more characters]"
