"""`podium chat`: a durable conversation in the terminal."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterable, Mapping
from contextlib import aclosing
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.text import Text

from podium.api import RunHandle, answer, start
from podium.api import resume as resume_run
from podium.cli.drive import pausing
from podium.cli.flags import BudgetFlags, ModelFlags, StoreUrl, option, python_files, recent_runs
from podium.cli.store import Commands, find_run, opened
from podium.cli.terminal import ask_person, interactive, out, read_line, say
from podium.engine.codec import decode
from podium.engine.core import Delta
from podium.engine.events import Event, RunWaiting, StepCompleted, StepFailed, StepStarted
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.engine.state import RunState
from podium.errors import UsageError
from podium.models.messages import Turn
from podium.report.event_lines import line_of
from podium.report.turns import is_tool_call
from podium.report.words import count, money, safe
from podium.settings import Settings
from podium.settings.places import at_home
from podium.workflows import find_workflow
from podium.workflows.chat.flow import NEXT, agent_of, tool_sets

_IS_TURN = re.compile(r"message(#\d+)?(/turn#\d+)?")
MODELS, BUDGET = ModelFlags(), BudgetFlags()


async def chat(
    agent: Annotated[str, Parameter(help="Agent of your own, as FILE.py:name.", completer=python_files)] = "",
    /,
    *,
    tools: Annotated[
        str, option("Tools: web, files=FOLDER, mcp=SERVER; comma-separated.", metavar="TOOLS")
    ] = "",
    resume: Annotated[
        str, option("Continue a conversation: its run id, or `last`.", metavar="RUN", completer=recent_runs)
    ] = "",
    approve: Annotated[
        str, option("Tools that need your approval, e.g. tool:write_file.", metavar="GATES")
    ] = "",
    models: ModelFlags = MODELS,
    budget: BudgetFlags = BUDGET,
    store: StoreUrl = None,
) -> int:
    """Talk with an agent.

    Each message and each answer is kept as part of a run. Ctrl-D closes the conversation; continue it with
    `podium chat --resume RUN`, or fork it at a message with `podium fork RUN --at "message#2"`. The message
    `/end` ends it for good. Without a terminal, each line of standard input is a message.
    """
    if resume and (agent or tools):
        raise UsageError("A conversation is resumed with its own agent and tools.", hint="Omit them.")
    values = {**vars(budget), "model": models.model, "store": store}
    async with opened(**values, create=not resume) as (settings, opened_store):
        talk = _Talk(settings, opened_store, models, budget)
        if resume:
            await talk.reopen((await find_run(opened_store, resume)).run_id)
        else:
            gates = [gate.strip() for gate in approve.split(",") if gate.strip()]
            tool_sets(tools)  # a mistake in it is told before the first message
            if agent:
                agent_of(agent)
                file, _, name = agent.partition(".py")
                agent = f"{at_home(file + '.py').resolve()}{name}"
            options = {"agent": agent, "tools": tools}
            await talk.begin({key: value for key, value in options.items() if value}, gates)
        return await talk.go_on()


class _Talk:
    """One conversation at the terminal."""

    def __init__(self, settings: Settings, store: Store, models: ModelFlags, budget: BudgetFlags) -> None:
        self._models = models
        self._budget = budget
        self._settings = settings
        self._store = store
        self._handle: RunHandle | None = None
        self._run_id = ""
        self._after = 0
        self._shown = 0
        """Number of the event up to which answers were printed."""
        self._state = RunState()
        self._streamed = ""
        """Path of the turn whose text was printed while it came."""

    async def begin(self, options: dict[str, str], gates: list[str]) -> None:
        """Start the run with the first message."""
        text = await self._message()
        if text is None:
            return
        self._handle = await start(
            find_workflow("chat"),
            text,
            model_for=self._models.per_role(),
            store=self._store,
            approve=gates,
            options=options,
            reply_timeout=self._models.reply_timeout,
            reply_tokens=self._models.reply_tokens,
            settings=self._settings,
        )
        self._run_id = self._handle.run_id

    async def reopen(self, run_id: str) -> None:
        """Show the last messages of a conversation and continue it."""
        self._run_id = run_id
        rows = await self._store.read(run_id)
        state = RunState.of(row.to_event(run_id) for row in rows)
        if state.workflow != "chat":
            raise UsageError(f"Run {run_id} is not a conversation.", hint=f"Use `podium resume {run_id}`.")
        if not state.questions:
            await self._resume()
            return
        self._after = state.last_seq
        say_dim(f"Conversation {run_id}. The last answer was:")
        await self._show_last()
        await self._answer(state.questions)

    async def go_on(self) -> int:
        """Take turns until the person closes the conversation. Returns the exit code."""
        while self._handle is not None:
            result = await self._follow(self._handle)
            if result.status != "waiting":
                return self._ended(result)
            if not self._streamed:
                await self._show_last()
            say_dim(f"{money(result.usage.usd)} · {count(result.usage.calls, 'call')}")
            if not await self._answer(result.questions):
                break
        if self._run_id:
            say_dim(f"Closed. Continue with: {self._command}")
        return 0

    def _ended(self, result: RunResult) -> int:
        if result.status == "completed":
            say_dim(
                f"The conversation has ended: {count(result.usage.calls, 'call')}, {money(result.usage.usd)}."
            )
        else:
            reason = str(result.error or result.stop_reason or "")
            say((f"Stopped: {result.status}. {safe(reason)}", "bold"))
            say_dim(f"Continue with: {self._command}")
        return result.exit_code

    @property
    def _command(self) -> str:
        return Commands(self._settings)("chat", "--resume", self._run_id)

    async def _follow(self, handle: RunHandle) -> RunResult:
        """Show tool calls and answers while they come."""
        self._streamed, self._shown = "", self._after
        listening = asyncio.create_task(self._listen(handle.deltas()))
        try:
            with pausing(handle, say_dim, self._settings.pause_grace):
                async with aclosing(handle.events(self._after)) as events:
                    async for event in events:
                        self._after = event.seq
                        self._show(event)
                return await handle.result()
        finally:
            listening.cancel()

    async def _listen(self, deltas: AsyncIterable[Delta]) -> None:
        async for path, _attempt, _offset, text in deltas:
            out().print(Text(safe(text)), end="", soft_wrap=True)
            self._streamed = path

    def _show(self, event: Event) -> None:
        self._state.apply(event)
        if is_tool_call(event.path) and isinstance(event.data, StepStarted | StepCompleted | StepFailed):
            line = line_of(event, self._state)
            say_dim(f"  {line.mark} {line.what[:200]}")
        elif isinstance(event.data, StepCompleted) and event.path == self._streamed:
            out().print()

    async def _answer(self, questions: Mapping[str, RunWaiting]) -> bool:
        """Answer the questions of the run: the next message, or whether a tool may be called. Returns whether
        all were answered."""
        for path, question in questions.items():
            if question.choices:
                reply = await ask_person(question) if interactive() else self._open_question(question)
            else:
                if question.question != NEXT:
                    say((safe(question.question), "bold"))
                reply = await self._message()
            if reply is None:
                return False
            await answer(
                self._run_id,
                reply,
                question=path,
                by="terminal",
                store=self._store,
                settings=self._settings,
            )
        await self._resume()
        return True

    def _open_question(self, question: RunWaiting) -> None:
        """Show a question that is not answered by the lines of standard input, which are messages."""
        say((safe(question.question), "bold"))
        say_dim(
            f"Answer with: {Commands(self._settings)('answer', self._run_id, '|'.join(question.choices))}"
        )

    async def _resume(self) -> None:
        models = self._models
        self._handle = await resume_run(
            self._run_id,
            store=self._store,
            budget=self._budget.totals(),
            model=models.model,
            model_for=models.per_role(),
            reply_timeout=models.reply_timeout,
            reply_tokens=models.reply_tokens,
            settings=self._settings,
        )

    async def _message(self) -> str | None:
        """Return the next message that is not empty; `None` if there is none."""
        while True:
            if interactive():
                text = await read_line("you> ")
            else:
                text = await asyncio.to_thread(sys.stdin.readline) or None
            if text is None or text.strip():
                return None if text is None else text.strip()

    async def _show_last(self) -> None:
        """Print the last answer of the agent, unless it was printed before."""
        rows = await self._store.read(self._run_id, types=("step.completed",))
        for row in reversed(rows):
            if row.seq <= self._shown:
                return
            data = row.to_event(self._run_id).data
            if isinstance(data, StepCompleted) and _IS_TURN.fullmatch(row.path):
                raw = await self._store.get_blob(data.blob) if data.blob else bytes(data.result)
                turn = msgspec.json.decode(raw, type=Turn)
                if not isinstance(turn.answer, msgspec.UnsetType):
                    out().print(Text(safe(str(decode(turn.answer)))), soft_wrap=True)
                    return


def say_dim(text: str) -> None:
    say((text, "dim"))
