"""Models that give prepared answers and keep every call."""

from __future__ import annotations

from typing import Any

from podium import Call


class Scripted:
    """A model that gives its answers one after the other; an exception is raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[Call] = []

    async def __call__(self, call: Call) -> Any:
        self.calls.append(call)
        answer = self.answers[min(len(self.calls), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Script:
    """A model that gives one entry of a list per turn; a function of the call is called."""

    def __init__(self, *turns: Any) -> None:
        self.turns = turns
        self.calls: list[Call] = []

    async def __call__(self, call: Call) -> Any:
        self.calls.append(call)
        turn = self.turns[min(len(self.calls), len(self.turns)) - 1]
        return turn(call) if callable(turn) else turn


def tool_results(call: Call) -> str:
    """Return the tool results that a model sees, as its answer."""
    return " | ".join(message.text for message in call.messages if message.role == "tool")
