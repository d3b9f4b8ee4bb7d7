"""The messages of an ask with tools, and threads."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

import msgspec

from podium.agents.agent import Agent
from podium.agents.attempts import Check
from podium.agents.files import File
from podium.agents.prompts import Question, Template
from podium.agents.tools import Tool
from podium.engine.codec import decode, encode, fingerprint
from podium.engine.events import StepRunning
from podium.errors import UsageError
from podium.models.messages import FilePart, Message, ToolCall, ToolDefinition, ToolOutcome, Turn, user
from podium.models.model import file_tokens, message_size

if TYPE_CHECKING:
    from podium.agents.ask import Run

MAX_RESULT = 20_000
"""Most characters of a tool result that go to the model at once; `read_result` returns the rest."""
SHORTEST_RESULT = 500
"""Fewest characters of a result that stay when a conversation does not fit the model's window."""
READ_RESULT = ToolDefinition(
    "read_result",
    "Read a tool result again, or read on in one that was cut off.",
    {
        "type": "object",
        "properties": {
            "call": {"type": "string", "description": "Number of the call, as the note on its result says."},
            "offset": {"type": "integer", "minimum": 0, "description": "Character to begin at."},
        },
        "required": ["call", "offset"],
        "additionalProperties": False,
    },
)


NO_RESULT = "This call has no result: the work ended during it. Do not assume that it took effect."
"""Result of a call whose ask ended before it, for the next ask of the thread."""
OnTool = Callable[[ToolCall, ToolOutcome | None], None]
"""Called before each tool call of an ask, and with its outcome after it; in a resume and a replay, too. May
emit events."""


class Conversation:
    """The messages so far, with a fingerprint of all that the next turn depends on."""

    def __init__(self, mark: str = "") -> None:
        self.messages: list[Message] = []
        self.mark = mark
        self.asks = 0
        """Asks that were begun in it."""
        self.last_path = ""
        """Path of the last ask."""
        self._request = -1
        """Index of the last ask's request; -1: it was condensed."""
        self.abandoned = AbandonedCalls()
        self.results: dict[str, str] = {}
        """Full texts of all tool results, by call number."""
        self._pieces: dict[str, tuple[str, int]] = {}
        """Results of `read_result`: which result they are a piece of, and where it begins."""
        self.has_hidden = False
        """Some result is not completely in the messages."""
        self.size = 0
        """Upper bound of the tokens of all messages."""
        self.files = 0
        """The part of it that files have."""
        self._counted = (0, 0)
        self._counted_by = ""

    # ── messages ──

    def ask(self, text: str, files: tuple[FilePart, ...], inputs: Any) -> None:
        """Append the request of a new ask."""
        self._close_calls()
        self.asks += 1
        self._request = len(self.messages)
        self._append(user(text, files))
        self.mark = fingerprint([self.mark, inputs, [part.blob for part in files]])

    def _close_calls(self) -> None:
        """Answer the calls of an ask that ended during them: providers refuse calls without results."""
        for call in self.messages[-1].calls if self.messages else ():
            self._append(Message("tool", NO_RESULT, tool=call.name, call_id=call.id, failed=True))
            self.mark = fingerprint([self.mark, NO_RESULT])

    def add_turn(self, turn: Turn) -> None:
        """Append the reply of a turn."""
        text = turn.text
        if not isinstance(turn.answer, msgspec.UnsetType):
            answer = decode(turn.answer)
            text = answer if isinstance(answer, str) else bytes(turn.answer).decode()
        self._append(Message("assistant", text, turn.calls, native=turn.native))
        if turn.tokens:
            self._counted, self._counted_by = (turn.tokens, len(self.messages)), turn.model
        self.mark = fingerprint([self.mark, text, msgspec.to_builtins(turn.calls)])

    def add_result(self, number: str, call: ToolCall, outcome: ToolOutcome) -> None:
        """Append the result of a call."""
        number = number if self.asks == 1 else f"{self.asks}:{number}"
        self.results[number] = text = outcome.text
        if call.name == READ_RESULT.name and not outcome.failed:
            self._pieces[number] = str(call.arguments["call"]), call.arguments["offset"]
        else:
            text = self._cut(number, text, MAX_RESULT)
        self._append(
            Message(
                "tool",
                text,
                tool=call.name,
                call_id=call.id,
                failed=outcome.failed,
                files=outcome.files,
                number=number,
            )
        )
        blobs = [part.blob for part in outcome.files]
        self.mark = fingerprint([self.mark, outcome.text, outcome.failed, *blobs])

    def _append(self, message: Message) -> None:
        self.messages.append(message)
        self.size += message_size(message)
        self.files += file_tokens(message) if message.files else 0

    def set_request(self, text: str) -> None:
        """Replace the text of the last ask's request, which a fork may have edited."""
        if self._request >= 0 and text != self.messages[self._request].text:
            self.messages[self._request] = user(text, self.messages[self._request].files)
            self._changed()

    def _changed(self) -> None:
        """Count again after messages were replaced."""
        self.size = sum(map(message_size, self.messages))
        self.files = sum(map(file_tokens, self.messages))
        self._counted, self._counted_by = (0, 0), ""

    def counted(self, model: str) -> tuple[int, int]:
        """Return the tokens that this model counted for the first messages, and how many these are."""
        return self._counted if model == self._counted_by else (0, 0)

    # ── results ──

    def _cut(self, number: str, text: str, most: int) -> str:
        if len(text) <= most:
            return text
        self.has_hidden = True
        source, offset = self._pieces.get(number, (number, 0))
        return text[:most] + self._read_on(source, offset + most)

    def _read_on(self, number: str, offset: int) -> str:
        return (
            f"\n[cut: {offset:,} of {len(self.results[number]):,} characters. Read on with "
            f'read_result(call="{number}", offset={offset})]'
        )

    def read_result(self, arguments: Any) -> ToolOutcome:
        """Execute a call of `read_result`."""
        given = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
        number = str(given.get("call"))
        text = self.results.get(number)
        offset = given.get("offset")
        if text is None or not isinstance(offset, int) or not 0 <= offset <= len(text):
            known = ", ".join(number for number in self.results if number not in self._pieces) or "none"
            return ToolOutcome(
                f"read_result takes a call ({known}) and an offset from 0 up to the text's length.",
                failed=True,
            )
        piece = text[offset : offset + MAX_RESULT]
        end = offset + len(piece)
        more = self._read_on(number, end) if end < len(text) else ""
        return ToolOutcome(piece + more)

    # ── window ──

    def old_part(self, keep_turns: int = 2) -> tuple[int, int]:
        """Return the range of messages that can be condensed: all between the first request and the last
        turns. Empty if there is nothing."""
        starts = [index for index, message in enumerate(self.messages) if message.role == "assistant"]
        for kept in range(keep_turns, 0, -1):
            if len(starts) > kept:
                end = starts[-kept]
                while end > 1 and self.messages[end - 1].role == "user":
                    end -= 1  # a request stays with the turn that answers it
                if end > 1:
                    return 1, end
        return 1, 1

    def transcript(self, begin: int, end: int, most: int) -> str:
        """Return messages as text, each shortened so that all together have about `most` characters."""
        share = max(SHORTEST_RESULT, most // max(1, end - begin))
        lines: list[str] = []
        for message in self.messages[begin:end]:
            who = f"result of {message.tool}" if message.role == "tool" else message.role
            text = message.text if len(message.text) <= share else f"{message.text[:share]} [… cut]"
            wanted = [f"{call.name}({encode(call.arguments).decode()[:share]})" for call in message.calls]
            called = f"\ncalls {', '.join(wanted)}" if wanted else ""
            lines.append(f"[{who}] {text}{called}")
        return "\n\n".join(lines)

    def condense(self, begin: int, end: int, summary: str) -> None:
        """Replace messages by a summary. Their tool results stay readable."""
        shown = {message.number for message in self.messages[end:]}
        hidden = [number for number in self.results if number not in shown and number not in self._pieces]
        readable = ", ".join(hidden)
        note = f"\n\nResults that read_result can return: {readable}." if readable else ""
        self.has_hidden |= bool(readable)
        self.messages[begin:end] = [
            user(f"Summary of the earlier turns, which are not shown any more:\n\n{summary}{note}")
        ]
        if self._request >= end:
            self._request -= end - begin - 1
        elif self._request >= begin:
            self._request = -1
        self._changed()
        self.mark = fingerprint([self.mark, summary])

    def shorten_results(self, most: int) -> None:
        """Cut the tool results so that all together have at most about `most` characters."""
        results = [index for index, message in enumerate(self.messages) if message.role == "tool"]
        share = max(SHORTEST_RESULT, most // max(1, len(results)))
        for index in results:
            message = self.messages[index]
            if len(message.text) > share and message.number:
                text = self._cut(message.number, self.results[message.number], share)
                self.messages[index] = msgspec.structs.replace(message, text=text)
        self._changed()


Tools = Mapping[str, Tool]
_NUMBER = re.compile(r"(?:#\d+|\[[^\]]*\])$")
"""The end of a path that tells asks of the same name apart."""
_ABOVE: ContextVar[Sequence[StepRunning]] = ContextVar("podium_abandoned_calls", default=())
"""Abandoned calls of the asks above a sub-agent."""


class AbandonedCalls:
    """Executed calls that must not be repeated and that a conversation does not contain any more, because a
    turn ran again or the run was forked."""

    def __init__(self) -> None:
        self._passed: dict[str, StepRunning] = {}
        """Those of turns that the conversation has passed."""

    def at(
        self,
        executed: Mapping[str, StepRunning],
        path: str,
        turn: int,
        calls: Sequence[ToolCall],
        tools: Tools,
        begun: Collection[str],
    ) -> list[StepRunning]:
        """Return those that count for a turn with these calls, of the ask at `path`; also those of later asks
        of the same name, which are not among the `begun` ones."""
        prefix = f"{path}/tool["
        same_name = re.compile(rf"({re.escape(_NUMBER.sub('', path))}(?:#\d+|\[[^\]]*\])?)/tool\[")
        later: list[StepRunning] = []
        for other, running in executed.items():
            if not other.startswith(prefix):
                ask = same_name.match(other)
                later += [running] if ask is not None and ask[1] not in begun else []
                continue
            position, _, below = other.removeprefix(prefix).partition("]")
            number, index = map(int, position.split(".")[:2])
            if number > turn:
                later.append(running)
            elif number == turn and not _is_same(running, bool(below), calls[index : index + 1], tools):
                self._passed[other] = running
        return [*_ABOVE.get(), *self._passed.values(), *later]


@contextmanager
def abandoned_above(calls: Sequence[StepRunning]) -> Generator[None]:
    """Let the sub-agents that are asked in this context know of abandoned calls."""
    token = _ABOVE.set(calls)
    try:
        yield
    finally:
        _ABOVE.reset(token)


def _is_same(running: StepRunning, nested: bool, calls: Sequence[ToolCall], tools: Tools) -> bool:
    """Return whether the call at this place of a turn can be the executed one, or contain it."""
    tool = tools.get(calls[0].name) if calls else None
    return tool is not None and (tool.composite if nested else tool.name == running.tool)


class Thread:
    """A conversation with one agent. Each ask sees the earlier ones with their tool calls and results."""

    def __init__(self, run: Run, agent: Agent, name: str) -> None:
        self._run = run
        self._agent = agent
        self._name = name
        self._conversation = Conversation()
        self._asking = False

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that the next ask sends along."""
        return tuple(self._conversation.messages)

    async def ask(
        self,
        prompt: Template | str,
        /,
        *,
        returns: Any = str,
        key: str | None = None,
        check: Check | None = None,
        timeout: float | None = None,
        attach: Sequence[File] = (),
        **variables: Any,
    ) -> Any:
        """Send the next message and return the agent's answer. The arguments are those of `run.ask`."""
        if self._asking:
            raise UsageError(
                f"The thread {self._name} is asked while it answers.",
                hint="Await each answer, and give each branch of `run.gather` a thread of its own.",
            )
        question = Question.of(self._agent, self._name, prompt, variables, returns)
        self._asking = True
        try:
            return await self._run.talk(self._conversation, question, key, check, timeout, attach)
        finally:
            self._asking = False
