"""Conversations of a run: the messages of asks with tools and of threads, rebuilt from the log.

A turn logs only its own reply, and a call only its own result (see `podium.agents.loop`), so that the
messages of a turn are put together from all turns and calls before it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, cast

import msgspec

from podium.engine.events import (
    NOTHING,
    Charge,
    ChargedData,
    Event,
    RunAnswered,
    RunWaiting,
    StepCompleted,
    StepFailed,
    StepRunning,
    StepStarted,
)
from podium.engine.state import Fold, StepState
from podium.models.events import ModelAsked, ModelAttempted
from podium.models.messages import ToolCall, ToolOutcome, Turn
from podium.report.messages import ShownCall, ShownConversation, ShownMessage, title_of
from podium.report.turns import (
    CallWords,
    answer_text,
    call_words,
    calls_around,
    condensed_words,
    decision_words,
    files_of,
    is_condensation,
    outcome_of,
    outcome_words,
    turn_of,
)

GetBlob = Callable[[str], Awaitable[bytes]]
_TURN = re.compile(r"(.*)/turn#(\d+)")
_CALL = re.compile(r"(.*)/tool\[(\d+\.\d+)[^\]]*\](?:/result)?")
_QUESTION = re.compile(r"(.*)/question\[(approve|outcome|repeat) (\d+\.\d+)[^\]]*\]")


class _Result(msgspec.Struct):
    """A step of a conversation: a turn, a call, attached files or a summary."""

    step: StepState
    seq: int = 0
    result: bytes = b""
    blob: str = ""
    ended: bool = False

    @property
    def known(self) -> bool:
        return self.ended and not self.step.error


class _Call(msgspec.Struct):
    result: _Result | None = None
    question: str = ""
    """Kind of the open question about it."""
    decision: str = ""
    answered: tuple[str, Any] = ("", None)
    """Kind of the last question, and its answer."""
    call_id: str = ""


class _Ask(msgspec.Struct):
    path: str
    about: dict[str, Any]
    asked: ModelAsked = ModelAsked()
    asked_seq: int = 0
    files: _Result | None = None
    turns: dict[int, _Result] = {}
    calls: dict[str, _Call] = {}
    condensed: dict[int, _Result] = {}

    def begin_turn(self, number: int, result: _Result) -> None:
        """Begin a turn. If it ran before, what followed it is not part of the conversation any more."""
        self.turns = {nth: turn for nth, turn in self.turns.items() if nth < number}
        self.calls = {nth: call for nth, call in self.calls.items() if int(nth.split(".")[0]) < number}
        self.turns[number] = result


class Conversations(Fold):
    """The conversations of a run, from its log up to the last applied event."""

    def __init__(self) -> None:
        self.asks: dict[str, _Ask] = {}
        """Asks with turns, by path."""
        self._results: dict[str, _Result] = {}
        self._files: dict[str, _Result] = {}
        self._charges: dict[str, Charge] = {}
        """By path of a step; of everything inside, by path of a call."""
        self._began: dict[str, datetime] = {}
        """When the first step inside of a call began, by path of the call."""

    def apply(self, event: Event) -> None:
        data = event.data
        if isinstance(data, ChargedData) and not data.inherited and data.charge != NOTHING:
            self._charge(event.path, data.charge)
        match data:
            case StepStarted():
                self._start(event, data)
            case StepRunning():
                if call := self._call(event.path):
                    call.call_id = data.call_id
            case ModelAsked():
                ask = self.asks.get(event.path)
                if ask is not None and not data.turn:
                    ask.asked, ask.asked_seq = data, event.seq
            case ModelAttempted():
                if result := self._results.get(event.path):
                    result.step.about["model"] = data.model
            case StepCompleted() | StepFailed():
                self._end(event, data)
            case RunWaiting() | RunAnswered():
                self._question(event, data)
            case _:
                pass

    def _charge(self, path: str, charge: Charge) -> None:
        for place in dict.fromkeys((path, *calls_around(path))):
            self._charges[place] = self._charges.get(place, NOTHING) + charge

    def _start(self, event: Event, data: StepStarted) -> None:
        path = event.path
        for place in calls_around(path):
            self._began.setdefault(place, event.time)
        step = StepState(path, kind=data.kind, about=dict(data.about), started=event.time)
        result = _Result(step, event.seq)
        if data.kind == "tool" and (call := self._call(path)):
            call.result = result
        elif data.kind == "files":
            self._files[path.removesuffix("/attached")] = result
        elif is_condensation(step):
            first, number = _turn_at(path.removesuffix("/condensed"))
            if first in self.asks:
                self.asks[first].condensed[number] = result
        elif data.kind == "ask" and "turn" in data.about:
            first, number = _turn_at(path)
            if number == 1:
                self.asks[path] = _Ask(path, step.about, files=self._files.get(path))
            if first in self.asks:
                self.asks[first].begin_turn(number, result)
        else:
            return
        self._results[path] = result

    def _end(self, event: Event, data: StepCompleted | StepFailed) -> None:
        result = self._results.get(event.path)
        if result is None:
            return
        result.ended, result.seq, result.step.ended = True, event.seq, event.time
        if isinstance(data, StepFailed):
            result.step.error = data.error
        else:
            result.step.error = ""
            result.result, result.blob = (b"", data.blob) if data.blob else (bytes(data.result), "")

    def _call(self, path: str) -> _Call | None:
        """Return the call whose step this is; None if it belongs to no ask."""
        match = _CALL.fullmatch(path)
        ask = self.asks.get(match[1]) if match else None
        return ask.calls.setdefault(match[2], _Call()) if ask is not None and match else None

    def _question(self, event: Event, data: RunWaiting | RunAnswered) -> None:
        match = _QUESTION.fullmatch(event.path)
        ask = self.asks.get(match[1]) if match else None
        if match is None or ask is None:
            return
        call = ask.calls.setdefault(match[3], _Call())
        if isinstance(data, RunWaiting):
            call.question = match[2]
        else:
            by = f" (by {data.by})" if data.by else ""
            call.question, call.answered = "", (match[2], data.answer)
            call.decision = decision_words(match[2], data.answer) + by

    def _spent(self, path: str) -> dict[str, Any]:
        charge = self._charges.get(path, NOTHING)
        return {"cost_usd": round(charge.usd, 9), "tokens": charge.tokens}

    # ── what is shown ──

    async def all(self, get_blob: GetBlob) -> list[ShownConversation]:
        """Return all conversations, in the order in which they began."""
        continued = {str(ask.about.get("after", "")): ask for ask in self.asks.values()}
        last: list[_Ask] = []
        for ask in self.asks.values():
            if ask.about.get("after") in self.asks:
                continue
            while ask.path in continued:
                ask = continued[ask.path]
            last.append(ask)
        return [await self._conversation(ask, 0, get_blob) for ask in last]

    async def up_to(self, path: str, get_blob: GetBlob) -> ShownConversation | None:
        """Return the conversation up to a turn, its reply and its calls included; None if the step is no
        turn."""
        first, number = _turn_at(path)
        ask = self.asks.get(first)
        return await self._conversation(ask, number, get_blob) if ask and number in ask.turns else None

    async def call(self, path: str, get_blob: GetBlob) -> ShownCall | None:
        """Return the call whose step this is; None if it is no call."""
        match = _CALL.fullmatch(path)
        call = self._call(path) if match else None
        if match is None or call is None or call.result is None:
            return None
        about = call.result.step.about
        wanted = ToolCall(str(about.get("tool", "")), about.get("arguments", {}))
        return await self._shown_call(self.asks[match[1]], match[2], wanted, get_blob)

    async def _conversation(self, ask: _Ask, until: int, get_blob: GetBlob) -> ShownConversation:
        chain = [ask]
        while (before := self.asks.get(str(chain[0].about.get("after", "")))) and before not in chain:
            chain.insert(0, before)
        first = chain[0]
        messages: list[ShownMessage] = []
        if first.asked.system:
            messages.append(
                ShownMessage(
                    role="system",
                    who="system",
                    text=first.asked.system,
                    seq=first.asked_seq,
                    path=first.path,
                )
            )
        for part in chain:
            messages += await self._messages(part, until if part is ask else 0, get_blob)
        about = first.about
        agent = str(about.get("agent", ""))
        return ShownConversation(
            path=first.path,
            agent=agent,
            task=str(about.get("task", "")),
            title=title_of(agent, first.path, messages),
            messages=tuple(messages),
        )

    async def _messages(self, ask: _Ask, until: int, get_blob: GetBlob) -> list[ShownMessage]:
        """Return the messages of one ask, up to a turn (0: all)."""
        asked = ask.asked
        prompt = (await get_blob(asked.blob)).decode("utf-8", "replace") if asked.blob else asked.prompt
        files = files_of(ask.files.step, await _data(ask.files, get_blob)) if ask.files else ()
        messages = [
            ShownMessage(role="user", who="user", text=prompt, seq=ask.asked_seq, path=ask.path, files=files)
        ]
        for number, turn in ask.turns.items():
            if until and number > until:
                break
            if (summary := ask.condensed.get(number)) is not None and summary.known:
                text = msgspec.json.decode(await _data(summary, get_blob))
                messages.append(
                    ShownMessage(
                        role="summary",
                        text=str(text),
                        seq=summary.seq,
                        path=summary.step.path,
                        turn=number,
                        who=condensed_words(summary.step),
                        **self._spent(summary.step.path),
                    )
                )
            reply = turn_of(turn.step, await _data(turn, get_blob)) if turn.known else None
            if reply is not None:
                messages.append(await self._reply(ask, number, turn, reply, get_blob))
        return messages

    async def _reply(
        self, ask: _Ask, number: int, turn: _Result, reply: Turn, get_blob: GetBlob
    ) -> ShownMessage:
        calls = [
            await self._shown_call(ask, f"{number}.{index}", call, get_blob)
            for index, call in enumerate(reply.calls)
        ]
        return ShownMessage(
            role="assistant",
            who=str(ask.about.get("agent", "")) or "assistant",
            text=answer_text(reply),
            seq=turn.seq,
            path=turn.step.path,
            turn=number,
            calls=tuple(calls),
            **self._spent(turn.step.path),
            model=str(turn.step.about.get("model", "")),
            final=not reply.calls,
        )

    async def _shown_call(self, ask: _Ask, number: str, wanted: ToolCall, get_blob: GetBlob) -> ShownCall:
        call, place = ask.calls.get(number, _Call()), f"{ask.path}/tool[{number}]"
        step = call.result.step if call.result else StepState("")
        words = await self._outcome(call, wanted, place, get_blob)
        arguments = step.about.get("arguments", wanted.arguments)
        begun = self._began.get(place) if step.path.endswith("/result") else step.started
        return ShownCall(
            number=number,
            tool=wanted.name,
            arguments=arguments,
            words=call_words(wanted.name, arguments),
            state=words.state,
            path=step.path,
            call_id=call.call_id or str(step.about.get("call_id", "")),
            result=words.text,
            decision=call.decision,
            seconds=_seconds(begun, step.ended),
            **self._spent(step.path.removesuffix("/result") or place),
        )

    async def _outcome(self, call: _Call, wanted: ToolCall, place: str, get_blob: GetBlob) -> CallWords:
        """Return the outcome of a call: of its step, or as a person decided."""
        if call.question:
            return CallWords("waiting", "")
        kind, answer = call.answered
        if kind == "approve" and (answer == "reject" or "reject" in _fields(answer)):
            return CallWords("rejected", str(_fields(answer).get("reject", "")))
        if kind in ("outcome", "repeat") and answer != "retry":
            given = _fields(answer).get("result")
            return CallWords("unknown", "") if given is None else CallWords("done", _text(given))
        if wanted.name == "read_result" and call.result is None:
            given = _fields(wanted.arguments)
            return CallWords("done", f"result of call {given.get('call')} from {given.get('offset')} on")
        if call.result is None:
            return CallWords("running" if place in self._began else "wanted", "")
        if not call.result.ended:
            return CallWords("running", "")
        if call.result.step.error:
            return CallWords("failed", call.result.step.error)
        outcome = outcome_of(call.result.step, await _data(call.result, get_blob)) or ToolOutcome()
        words = outcome_words(call.result.step, outcome)
        return CallWords(words.state, outcome.text) if words.state in ("failed", "refused") else words


def _turn_at(path: str) -> tuple[str, int]:
    """Return the path of the ask and the number of the turn at a path."""
    match = _TURN.fullmatch(path)
    return (match[1], int(match[2])) if match else (path, 1)


async def _data(result: _Result, get_blob: GetBlob) -> bytes:
    return await get_blob(result.blob) if result.blob else result.result


def _fields(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _seconds(started: datetime | None, ended: datetime | None) -> float:
    return round((ended - started).total_seconds(), 3) if started and ended else 0.0
