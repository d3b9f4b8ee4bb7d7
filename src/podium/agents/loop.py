"""The turns of an agent with tools: ask the model, execute the calls it wants, ask again.

Each turn is a step and each call is a step. The first turn has the path of the ask (`plan`), further turns
are `plan/turn#2`, calls are `plan/tool[TURN.INDEX]`. A turn stores only what is new: its own reply. Results
are stored by the calls, and the conversation is rebuilt from both.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from podium.agents.conversation import NO_RESULT, READ_RESULT, Conversation, OnTool, abandoned_above
from podium.agents.cut_off import (
    UNKNOWN,
    CutCall,
    LoopEnd,
    LoopEndedError,
    ask_what_happened,
    cut_off_below,
    decide_below,
)
from podium.agents.model_step import ModelStep
from podium.agents.models import limits_for
from podium.agents.prompts import Question
from podium.agents.tool_calls import ToolExecution, refused
from podium.agents.tools import Arguments, Tool
from podium.engine.branch import CURRENT
from podium.engine.codec import fingerprint, reader
from podium.engine.effect import Effect
from podium.engine.events import StepRunning
from podium.engine.journal import ENDED
from podium.engine.operations import Gathering
from podium.errors import ModelUnavailableError, StepTimeoutError
from podium.models.messages import ToolCall, ToolDefinition, ToolOutcome, Turn
from podium.models.model import Model, conversation_estimate, tools_size

if TYPE_CHECKING:
    from podium.agents.ask import Run
    from podium.agents.attempts import Check

CONDENSE = """\
You work on a task in several turns, and the conversation has become too long. Summarise the part below, so
that you can go on with the summary alone. Keep every fact, figure, name, decision and open question that may
still be needed, and which tool calls were made, with their outcomes. Write no introduction.

The task:

{task}

---

{transcript}"""
"""Prompt of the step that condenses older turns."""
_CHARS_PER_TOKEN = 3


class AgentLoop:
    """One ask of an agent with tools, from its first turn to its answer."""

    def __init__(
        self,
        run: Run,
        path: str,
        question: Question,
        tools: Mapping[str, Tool],
        conversation: Conversation,
        on_tool: OnTool | None = None,
    ) -> None:
        self.turn = 1
        self._run = run
        self._path = path
        self._question = question
        self._tools = tools
        self._conversation = conversation
        self._on_tool = on_tool or _ignored
        self._calls = 0
        self._after = conversation.last_path
        """Path of the ask before this one in the same thread."""
        conversation.last_path = path
        self._must_answer = False
        self._shown: tuple[tuple[ToolDefinition, ...], int] | None = None
        self._end: LoopEnd | None = None
        """How the loop's time-out ended it, as the log says."""
        self._pending: dict[str, tuple[ToolCall, bool]] = {}
        """The calls of the turn that are being executed, by number, and whether they are within the cap."""
        self._outcomes: dict[str, ToolOutcome] = {}
        """Their outcomes so far."""
        self._begun = self._added = 0
        """How many of them have begun, and how many have their results in the conversation."""

    async def answer(self, check: Check | None, timeout: float | None) -> Any:
        """Return the agent's answer."""
        run, agent = self._run, self._question.agent
        data = run.agent_data(agent)
        async with self._timed(timeout):
            while True:
                self._must_answer = self.turn >= agent.max_turns or self._calls >= agent.max_tool_calls
                path = self._turn_path(self.turn)
                self._check_time(path)
                await self._fit_window(path)
                turn: Turn = await run.perform(
                    self._question.task,
                    ModelStep(run, self._question, data, check, self),
                    inputs=self._inputs,
                    path=path,
                    returns=Turn,
                    kind="ask",
                    about=self._about(data.models[0]),
                    by_fingerprint=True,
                )
                self._conversation.add_turn(turn)
                if not isinstance(turn.answer, msgspec.UnsetType):
                    return reader(self._question.returns)(turn.answer)
                for index, call in enumerate(turn.calls):
                    self._pending[f"{self.turn}.{index}"] = call, self._counts(agent.max_tool_calls)
                if self._end is not None and self._end.turn == self.turn:
                    for call, within in list(self._pending.values())[: self._end.begun]:
                        self._report(call, None, within)
                    raise LoopEndedError
                await self._execute(turn)
                self._pending, self._outcomes, self._begun, self._added = {}, {}, 0, 0
                self.turn += 1

    def _about(self, model: str) -> dict[str, Any]:
        """Return a description of the turn for display: the messages before it are found by its number."""
        about = {**self._question.about(model), "turn": self.turn}
        if self._after and self.turn == 1:
            about["after"] = self._after
        return about

    def _turn_path(self, turn: int) -> str:
        return self._path if turn == 1 else f"{self._path}/turn#{turn}"

    def edited_prompt(self) -> str:
        """Return the request as a fork has edited it, at this turn or an earlier one; empty if none has."""
        overrides: Mapping[str, Mapping[str, str]] = self._run.config.get("overrides", {})
        for turn in range(self.turn, 0, -1) if overrides else ():
            if prompt := overrides.get(self._turn_path(turn), {}).get("prompt"):
                return prompt
        return ""

    async def sent(self, prompt: str, model: Model) -> dict[str, Any]:
        """Return the fields of the next call that hold the conversation. `prompt` is the request; a fork may
        have edited it."""
        talk = self._conversation
        talk.set_request(prompt)
        blobs: set[str] = set()
        if talk.files:
            blobs = {part.blob for message in talk.messages for part in message.files}
        tools, size = self._definitions()
        return {
            "messages": tuple(talk.messages),
            "tools": tools,
            "must_answer": self._must_answer,
            "counted": (0, 0) if self._run.models.overran(model) else talk.counted(model.name),
            "size": talk.size + size,
            "files": {blob: await self._run.store.get_blob(blob) for blob in blobs},
        }

    def _definitions(self) -> tuple[tuple[ToolDefinition, ...], int]:
        """Return the tools as the model sees them, and an upper bound of their tokens. `read_result` is added
        when there is something to read."""
        known = self._shown
        if known is None or (self._conversation.has_hidden and known[0][-1:] != (READ_RESULT,)):
            tools = [tool.definition for tool in self._tools.values()]
            tools += [READ_RESULT] if self._conversation.has_hidden else []
            known = self._shown = tuple(tools), tools_size(tools)
        return known

    # ── time-out ──

    @asynccontextmanager
    async def _timed(self, timeout: float | None) -> AsyncGenerator[None]:
        """Hold the loop's branch, and end the loop after `timeout` seconds. That is recorded at `ended`, so
        that a replay ends at the same place."""
        core, ended = self._run.core, f"{self._path}/{ENDED}"
        branch = core.enter().inside(self._path)
        token = CURRENT.set(branch)
        if (done := core.memo.done.get(ended)) is not None:
            self._end = _end_of(reader(LoopEnd | bool)(await core.result_of(done)))
        limit = asyncio.timeout(None if self._end else timeout)
        try:
            try:
                async with limit:
                    yield
                return
            except TimeoutError:
                if not limit.expired():
                    raise
                end = await self._ending()
            except LoopEndedError:
                end = self._end

            async def end_loop(effect: Effect) -> Any:
                return end

            recorded = await self._run.perform(
                ENDED, end_loop, inputs=None, path=ended, returns=LoopEnd | bool, kind="clock"
            )
            CURRENT.set(branch.inside(self._path))  # keys of calls and questions may occur again
            await self._close_turn(_end_of(recorded), timeout)
            raise StepTimeoutError(self._path, "TimeoutError", "the time-out of the whole ask passed")
        finally:
            CURRENT.reset(token)

    async def _ending(self) -> LoopEnd:
        """Return which calls of the turn have finished, and which were cut off with an unknown outcome."""
        if not self._pending:
            return LoopEnd()
        cut_off = await cut_off_below(self._run, self._path)
        for path, outcome in self._run.returned_late.items():
            if path.startswith(f"{self._path}/tool[") and path.endswith("]"):
                number = path.removeprefix(f"{self._path}/tool[").rstrip("]").partition(".again")[0]
                self._outcomes.setdefault(number, outcome)
        return LoopEnd(self.turn, self._begun, tuple(self._outcomes), cut_off)

    def _check_time(self, path: str) -> None:
        """Stop if the log says that the loop timed out before this step was finished."""
        memo = self._run.core.memo
        if self._end is not None and path not in memo.done and path not in memo.failed:
            raise LoopEndedError

    async def _close_turn(self, end: LoopEnd, timeout: float | None) -> None:
        """Establish the outcomes of the calls that the time-out cut off, and add the turn's results to the
        conversation, for the next ask of the thread."""
        for number in end.finished:
            if number not in self._outcomes and number in self._pending:
                with suppress(LoopEndedError):
                    await self._outcome(number, *self._pending[number], ())
        own = [call for call in end.cut_off if call.ask == self._path]
        for call in own:
            self._outcomes[call.index] = await self._decided(call, timeout)
        await decide_below(self._run, [call for call in end.cut_off if call not in own])
        if not self._outcomes:
            return  # the thread knows that all calls have no result
        for number, (call, within) in list(self._pending.items())[self._added :]:
            outcome = self._outcomes.get(number, ToolOutcome(NO_RESULT, failed=True))
            self._conversation.add_result(number, call, outcome)
            self._report(call, outcome, within)

    async def _decided(self, call: CutCall, timeout: float | None) -> ToolOutcome:
        """Return the outcome of a call that the loop's time-out cut off. A person may have it made again, for
        at most the time of the whole ask."""
        number, known = f"{call.number}.again", self._tools.get(call.tool)
        if known is None or call.told:
            self._run.undecided.pop(call.path, None)
            return ToolOutcome(UNKNOWN.format(name=call.tool), failed=True)
        limits = [limit for limit in (known.timeout, timeout) if limit is not None]
        tool = replace(known, timeout=min(limits, default=None))
        arguments = tool.validate(call.arguments)
        execution = ToolExecution(self._run, self._path, tool, number, arguments, call.arguments, ())
        decided = await ask_what_happened(self._run, call)
        return await execution.until_known(number) if decided is None else decided

    # ── calls ──

    async def _execute(self, turn: Turn) -> None:
        """Execute the calls of a turn, side by side or one after another, and append their results in the
        model's order."""
        executed = self._run.core.memo.executed
        abandoned: list[StepRunning] = []
        if executed:
            known = self._conversation.abandoned
            begun = self._run.begun_asks
            abandoned = known.at(executed, self._path, self.turn, turn.calls, self._tools, begun)
        numbers = list(self._pending)
        alone = len(numbers) == 1 or not self._question.agent.parallel_calls
        for group in [[number] for number in numbers] if alone else [numbers]:
            for number in group:
                call, within = self._pending[number]
                self._begun += 1
                self._report(call, None, within)
            work = [self._outcome(number, *self._pending[number], abandoned) for number in group]
            with abandoned_above(abandoned):
                if alone:
                    await work[0]
                else:
                    await self._side_by_side(work)
            for number in group:
                call, within = self._pending[number]
                self._conversation.add_result(number, call, self._outcomes[number])
                self._added += 1
                self._report(call, self._outcomes[number], within)

    def _report(self, call: ToolCall, outcome: ToolOutcome | None, within_cap: bool) -> None:
        if within_cap and call.name != READ_RESULT.name:
            self._on_tool(call, outcome)

    def _counts(self, most: int) -> bool:
        """Count a call; return whether it is within the cap."""
        self._calls += 1
        return self._calls <= most

    async def _side_by_side(self, work: Sequence[Coroutine[Any, Any, None]]) -> None:
        parent = CURRENT.get()
        gathering: Gathering[None] = Gathering(self._run.core, len(work))
        for coroutine in work:
            gathering.spawn(parent.twin(), coroutine)
        for outcome in await gathering.join():
            outcome.unwrap()

    async def _outcome(
        self, number: str, call: ToolCall, within_cap: bool, abandoned: Sequence[StepRunning]
    ) -> None:
        """Execute one call, unless it cannot be made, and keep its outcome."""
        self._outcomes[number] = await self._executed(number, call, within_cap, abandoned)

    async def _executed(
        self, number: str, call: ToolCall, within_cap: bool, abandoned: Sequence[StepRunning]
    ) -> ToolOutcome:
        tool = self._tools.get(call.name)
        arguments = Arguments({}) if tool is None else tool.validate(call.arguments)
        if not within_cap:
            why = "This call was not executed: the limit of tool calls is reached."
        elif call.name == READ_RESULT.name:
            return self._conversation.read_result(call.arguments)
        elif tool is None:
            known = ", ".join(self._tools) or "none"
            why = f"There is no tool {call.name[:100]!r}. The tools are: {known}."
        elif arguments.error:
            why = arguments.error
        else:
            path = f"{self._path}/tool[{number}]"
            self._check_time(f"{path}/result" if tool.composite else path)
            return await ToolExecution(
                self._run, self._path, tool, number, arguments, call.arguments, abandoned
            ).outcome()
        return await refused(self._run, number, call, why)

    # ── window ──

    async def _fit_window(self, path: str) -> None:
        """Condense older turns if the next turn would not fit the model's window. The decision is recorded as
        a step, so that a replay makes the same one."""
        talk, core = self._conversation, self._run.core
        condensed = f"{path}/condensed"
        known = condensed in core.memo.done
        if not known and (core.replaying or self._is_recorded(path)):
            return
        window = 0 if core.replaying else self._window()
        if not known and not self._too_long(window):
            return
        begin, end = talk.old_part()
        if end > begin:
            summary = await self._condensed(condensed, begin, end, window)
            talk.condense(begin, end, summary)
        if self._too_long(window):
            talk.shorten_results((window - self._reply_tokens) * _CHARS_PER_TOKEN // 2)

    def _is_recorded(self, path: str) -> bool:
        """Return whether the log holds this turn with these messages: it was sent, so it did fit."""
        done = self._run.core.memo.done.get(path)
        return done is not None and done.fingerprint == fingerprint(self._inputs)

    @property
    def _inputs(self) -> list[Any]:
        """The inputs of the next turn."""
        return [self._conversation.mark, self._must_answer]

    def _too_long(self, window: int) -> bool:
        if not window:
            return False
        agent, talk = self._question.agent, self._conversation
        size = talk.size + self._definitions()[1]
        return conversation_estimate(agent.system, size, talk.files) + self._reply_tokens > window

    @cached_property
    def _reply_tokens(self) -> int:
        """Most tokens of a reply: the settings and the run can change the agent's own limit."""
        run, agent = self._run, self._question.agent
        model = run.agent_data(agent).models[0]
        limits = limits_for(agent, model, run.settings, workflow=run.workflow, config=run.config)
        return limits.max_tokens

    def _window(self) -> int:
        """Return the context window of the agent's first model in tokens; 0 if it is not known."""
        agent = self._question.agent
        if agent.window:
            return agent.window
        try:
            model = self._run.models.open(self._run.agent_data(agent).models[0])
        except ModelUnavailableError:
            return 0
        return getattr(model, "window", 0) or 0

    async def _condensed(self, path: str, begin: int, end: int, window: int) -> str:
        agent, talk = self._question.agent, self._conversation
        room = max(window - self._reply_tokens, 2_000) * _CHARS_PER_TOKEN // 2
        transcript = talk.transcript(begin, end, room)
        task = talk.messages[0].text[: room // 2]
        prompt = CONDENSE.format(task=task, transcript=transcript)
        question = Question(agent, "condense", prompt, {}, str)
        data = self._run.agent_data(agent)
        return await self._run.perform(
            "condensed",
            ModelStep(self._run, question, data, None),
            inputs=[talk.mark],
            path=path,
            returns=str,
            kind="ask",
            about={**question.about(data.models[0]), "messages": end - begin},
            by_fingerprint=True,
        )


def _ignored(call: ToolCall, outcome: ToolOutcome | None) -> None:
    return None


def _end_of(recorded: LoopEnd | bool) -> LoopEnd:
    """Return the recorded end of a loop; earlier versions recorded only that it ended."""
    return recorded if isinstance(recorded, LoopEnd) else LoopEnd()
