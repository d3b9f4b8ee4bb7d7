"""Turns and tool calls of agents in words, and the use of each tool."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from podium.engine.codec import decode, encode
from podium.engine.events import (
    NOTHING,
    Charge,
    ChargedData,
    Event,
    StepCompleted,
    StepFailed,
    StepStarted,
)
from podium.engine.log import Row
from podium.engine.state import Fold, StepState
from podium.models.messages import FilePart, ToolCall, ToolOutcome, Turn
from podium.report.words import brief, count, one_line, outline, shorten, size
from podium.tools.tool import unfenced

MOST_CALLS = 3
"""Calls of a turn that its line names; the others are counted."""
CALL_WIDTH = 100
MADE_UP = "made up in a rehearsal, not called"
_TOOL = re.compile(r"(?:^|/)tool\[(\d+\.\d+)[^\]]*\](?:/result)?$")
_INSIDE = re.compile(r"/tool\[[^\]]*\]")
_QUESTION = re.compile(r"(?:^|/)question\[(approve|outcome|repeat) (\d+\.\d+)[^\]]*\]$")


CallState = Literal[
    "wanted", "waiting", "running", "done", "failed", "refused", "rejected", "unknown", "made up"
]
"""State of a call. `waiting`: for a person; `refused`: not executed; `made up`: by a rehearsal."""


class CallWords(NamedTuple):
    """The outcome of a call as it is shown."""

    state: CallState
    text: str

    @property
    def went_well(self) -> bool:
        return self.state in ("done", "made up")


# ── paths ──


def is_tool_call(path: str) -> bool:
    """Return whether a step is a tool call of an agent."""
    return "tool[" in path and _TOOL.search(path) is not None


def edited_result(rows: Iterable[Row], at: str, reply: Any) -> Any:
    """Return an edited reply in the form in which the log keeps the result of the step `at`: what is given
    for a tool call is its result, what is given for a turn is its answer."""
    started = [row for row in rows if row.path == at and row.type == "step.started"]
    about: dict[str, Any] = decode(started[-1].data) if started else {}
    fields = frozenset(cast("dict[str, Any]", reply)) if isinstance(reply, dict) else frozenset[str]()
    if about.get("kind") == "tool":
        if "text" in fields and fields <= set(ToolOutcome.__struct_fields__):
            return cast("Any", reply)
        return {"text": reply if isinstance(reply, str) else encode(reply).decode()}
    if about.get("kind") == "ask" and "turn" in about.get("about", {}):
        if fields & {"answer", "calls"} and fields <= set(Turn.__struct_fields__):
            return cast("Any", reply)
        return {"answer": cast("Any", reply)}
    return cast("Any", reply)


def call_number(path: str) -> str:
    """Return the number of a call (`2.0`: turn 2, first call); empty if the path is not that of a call."""
    match = _TOOL.search(path)
    return match[1] if match else ""


def question_about(path: str) -> tuple[str, str]:
    """Return what a question about a call asks (`approve`, `outcome` or `repeat`) and the call's number;
    empty texts if it is another question."""
    match = _QUESTION.search(path) if path.endswith("]") else None
    return (match[1], match[2]) if match else ("", "")


def calls_around(path: str) -> list[str]:
    """Return the paths of the tool calls that a step is inside of, or is."""
    return [path[: match.end()] for match in _INSIDE.finditer(path)] if "/tool[" in path else []


# ── results ──


def turn_of(step: StepState, result: bytes) -> Turn | None:
    """Return the turn that a step's result is; None if the step is no turn, or if an edit made it something
    else."""
    return _decoded(result, Turn) if step.kind == "ask" and "turn" in step.about else None


def outcome_of(step: StepState, result: bytes) -> ToolOutcome | None:
    """Return the outcome that a step's result is; None if the step is no tool call."""
    return _decoded(result, ToolOutcome) if step.kind == "tool" and "tool" in step.about else None


def files_of(step: StepState, result: bytes) -> tuple[FilePart, ...]:
    """Return the files that a step attached."""
    return _decoded(result, tuple[FilePart, ...]) or () if step.kind == "files" else ()


def _decoded(result: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(result, type=kind)
    except msgspec.MsgspecError:
        return None


def answer_text(turn: Turn) -> str:
    """Return the answer of a turn, or its text beside the calls. Data is JSON."""
    if isinstance(turn.answer, msgspec.UnsetType):
        return turn.text
    answer = decode(turn.answer)
    return answer if isinstance(answer, str) else bytes(turn.answer).decode()


# ── words ──


def call_words(tool: Any, arguments: Any, width: int = CALL_WIDTH) -> str:
    """Return a call on one line: `add(a=1, b=2)`."""
    if isinstance(arguments, dict):
        given = cast("dict[str, Any]", arguments).items()
        shown = ", ".join(f"{one_line(str(name), 40)}={_value(value)}" for name, value in given)
    else:
        shown = brief(arguments, width)
    return shorten(f"{one_line(str(tool), 64)}({shown})", width)


def _value(value: Any) -> str:
    return one_line(encode(value).decode(), 60)


def step_call(step: StepState, width: int = CALL_WIDTH) -> str:
    """Return the call of a tool step on one line; empty for other steps."""
    if "tool" not in step.about:
        return ""
    return call_words(step.about["tool"], step.about.get("arguments", {}), width)


def wanted_calls(calls: Iterable[ToolCall]) -> str:
    """Return the calls of a turn: `add(a=1, b=2), add(a=3, b=4)`."""
    words = [call_words(call.name, call.arguments) for call in calls]
    rest = len(words) - MOST_CALLS
    return ", ".join(words[:MOST_CALLS]) + (f" and {count(rest, 'more call')}" if rest > 0 else "")


def outcome_words(step: StepState, outcome: ToolOutcome) -> CallWords:
    """Return the outcome of a call in words."""
    if outcome.unknown:
        return CallWords("unknown", "outcome unknown: the run was cut off during the call")
    if outcome.made_up:
        return CallWords("made up", MADE_UP)
    if not outcome.failed:
        return CallWords("done", unfenced(outcome.text))
    if "call_id" not in step.about:
        return CallWords("refused", f"refused: {outcome.text}")
    own = f"{step.about['tool']} failed: "
    text = unfenced(outcome.text.removeprefix(own))
    return CallWords("failed", f"failed: {text}" if outcome.text.startswith(own) else text)


def result_words(step: StepState, result: bytes) -> str:
    """Return the beginning of a step's result on one line; empty for an empty result."""
    if (turn := turn_of(step, result)) is not None:
        return f"wants {wanted_calls(turn.calls)}" if turn.calls else _gist(turn.answer)
    if (outcome := outcome_of(step, result)) is not None:
        return one_line(outcome_words(step, outcome).text, 300) or "done"
    if files := files_of(step, result):
        return files_words(files)
    if is_condensation(step):
        return condensed_words(step)
    return _gist(result)


def _gist(result: bytes | msgspec.Raw | msgspec.UnsetType) -> str:
    data = b"null" if isinstance(result, msgspec.UnsetType) else bytes(result)
    return "" if data in (b"null", b'""', b"{}", b"[]") else outline(decode(data))


def files_words(files: Iterable[FilePart]) -> str:
    """Return attached files: `attached map.png (image/png, 1.2 kB)`."""
    shown = [f"{one_line(part.name, 80)} ({part.media_type}, {size(part.size)})" for part in files]
    return f"attached {', '.join(shown)}"


def is_condensation(step: StepState) -> bool:
    """Return whether a step condensed earlier messages of a conversation."""
    return step.about.get("task") == "condense" and "messages" in step.about


def condensed_words(step: StepState) -> str:
    return f"condensed {count(int(step.about['messages']), 'message')}"


def decision_words(kind: str, answer: Any) -> str:
    """Return a person's answer to a question about a call; `kind` is that of `question_about`."""
    data = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    if "reject" in data:
        return f"rejected: {brief(data['reject'], 200)}"
    if "approve" in data:
        return f"approved with edited arguments: {call_words('', data['approve'])[1:-1]}"
    if "result" in data:
        return f"gave the result: {brief(data['result'], 200)}"
    words = {"approve": "approved", "reject": "rejected", "skip": "skipped: outcome unknown"}
    words["retry"] = "call it again" if kind == "outcome" else "call it"
    given = cast("Any", answer)
    return words.get(str(given), f"answered: {brief(given, 120)}")


class ToolUse(msgspec.Struct, frozen=True):
    """Calls and cost of one tool."""

    tool: str
    calls: int = 0
    failed: int = 0
    """Calls that failed, were refused, or whose outcome is unknown."""
    usage: Charge = NOTHING
    """Cost of the calls. For a sub-agent, including its own model and tool calls."""
    seconds: float = 0.0


class ToolUses(Fold):
    """The use of each tool, from the log up to the last applied event. Inherited calls do not count."""

    def __init__(self) -> None:
        self.uses: dict[str, ToolUse] = {}
        """By name, in order of the first call."""
        self._steps: dict[str, StepState] = {}
        """Calls under way, by path."""
        self._spent: dict[str, Charge] = {}
        """Cost so far inside calls under way, by path of the call."""
        self._began: dict[str, datetime] = {}

    def apply(self, event: Event) -> None:
        data = event.data
        if "tool[" not in event.path or data.inherited:
            return
        for place in calls_around(event.path):
            self._began.setdefault(place, event.time)
            if isinstance(data, ChargedData) and data.charge != NOTHING:
                self._spent[place] = self._spent.get(place, NOTHING) + data.charge
        if isinstance(data, StepStarted) and data.kind == "tool" and "tool" in data.about:
            name = one_line(str(data.about["tool"]), 64)
            before = self.uses.get(name, ToolUse(name))
            self.uses[name] = replace(before, calls=before.calls + (event.path not in self._steps))
            self._steps[event.path] = StepState(event.path, kind="tool", about=data.about)
        elif isinstance(data, StepCompleted | StepFailed) and event.path in self._steps:
            self._end(event, data, self._steps.pop(event.path))

    def _end(self, event: Event, data: StepCompleted | StepFailed, step: StepState) -> None:
        place, name = event.path.removesuffix("/result"), one_line(str(step.about["tool"]), 64)
        outcome = outcome_of(step, bytes(data.result)) if isinstance(data, StepCompleted) else None
        bad = isinstance(data, StepFailed) or (outcome is not None and (outcome.failed or outcome.unknown))
        before = self.uses[name]
        self.uses[name] = replace(
            before,
            failed=before.failed + bad,
            usage=before.usage + self._spent.pop(place, NOTHING),
            seconds=before.seconds + (event.time - self._began.pop(place)).total_seconds(),
        )


def tools_of(events: Iterable[Event]) -> list[ToolUse]:
    """Return the use of each tool."""
    return list(ToolUses.of(events).uses.values())
