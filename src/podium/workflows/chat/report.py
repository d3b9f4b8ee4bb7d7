"""Presentation of conversations."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from podium.engine.events import Event, RunAnswered, RunCreated, RunEnded, RunWaiting, StepCompleted
from podium.engine.state import RunState
from podium.report.presentation import Detail, Line, Presentation
from podium.report.turns import question_about, result_words, turn_of
from podium.report.words import brief, count, one_line


class ChatView(Detail, frozen=True, kw_only=True, tag="chat"):
    """View of a conversation. The messages are in `GET /api/runs/{run_id}/messages`."""

    next: str = ""
    """Path of the question that the next message answers; empty: the agent works, or it has ended."""
    failure: str = ""
    """Why the last message has no answer."""
    seq: int
    """Number of the last event with a message or a call."""


class ChatPresentation(Presentation):
    """Shows messages as messages: the request and the answers to the run's questions are the person's."""

    detail_type: ClassVar[type[Detail] | None] = ChatView
    answers_are_messages = True

    def __init__(self) -> None:
        self._messages = 0
        self._next = ""
        self._failure = ""
        self._seq = 0

    def apply(self, event: Event) -> None:
        if event.type.startswith(("run.", "step.")):
            self._seq = event.seq
        if isinstance(event.data, RunWaiting) and not question_about(event.path)[0]:
            self._next = event.path
            self._failure = event.data.question if event.data.question.startswith("There is no") else ""
        elif isinstance(event.data, RunEnded) or event.path == self._next:
            self._next = ""
        self._messages += _is_message(event)

    def line(self, event: Event, state: RunState) -> Line | None:
        data, step = event.data, state.steps.get(event.path)
        if isinstance(data, RunCreated):
            return Line(f"you: {brief(data.request, 200)}", "result", mark="▸")
        if isinstance(data, RunAnswered) and _is_message(event):
            return Line(f"you: {brief(data.answer, 200)}", "result", mark="▸")
        if isinstance(data, StepCompleted) and step is not None and not data.blob:
            turn = turn_of(step, bytes(data.result))
            if turn is not None and not turn.calls:
                who = one_line(str(step.about.get("agent", "")))
                return Line(f"{who}: {result_words(step, bytes(data.result))}", "result", mark="✓")
        return None

    def summary(self) -> str:
        return count(self._messages, "message") if self._messages else ""

    def deliverable(self, output: Any) -> str | None:
        last = cast("dict[str, Any]", output).get("last") if isinstance(output, dict) else output
        return last if isinstance(last, str) else None

    def detail(self, *, alive: bool) -> Detail:
        return ChatView(next=self._next, failure=self._failure, seq=self._seq)


def _is_message(event: Event) -> bool:
    """Return whether an event is a message of the person."""
    if isinstance(event.data, RunAnswered):
        return not question_about(event.path)[0] and event.data.answer != "/end"
    return isinstance(event.data, RunCreated)


PRESENTATION = ChatPresentation
