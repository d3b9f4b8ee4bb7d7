"""`run.ask` and `run.thread`.

An ask without tools is one step, see `model_step`; an ask with tools or of a thread is a loop of turns, see
`loop`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar, cast, overload

from podium.agents.agent import Agent
from podium.agents.attempts import Check
from podium.agents.cache_session import CacheSession
from podium.agents.conversation import Conversation, OnTool, Thread
from podium.agents.cut_off import CutCall
from podium.agents.files import File, attached
from podium.agents.loop import AgentLoop
from podium.agents.model_step import AgentData, ModelStep
from podium.agents.models import Models
from podium.agents.overrides import Overrides
from podium.agents.prompts import Question, Template
from podium.agents.tools import Tool, ToolSet, equip, is_tool_set
from podium.engine.core import Core
from podium.engine.redaction import redact_text
from podium.engine.run import Run as EngineRun
from podium.errors import PromptError, StepFailedError
from podium.models.messages import ToolOutcome
from podium.settings import Settings

T = TypeVar("T")

MAX_PARALLEL_TOOLS = 16
"""Most tool calls of a run at a time."""

CUT_MARK = "*[… the reply was cut off here]*"
"""Appended to a text that is incomplete."""


class Run(EngineRun):
    """The engine's `Run`, extended by `ask`. Workflows get this class."""

    def __init__(
        self,
        run_id: str,
        workflow: str,
        request: Any,
        options: Mapping[str, Any],
        config: Mapping[str, Any],
        core: Core,
        *,
        models: Models | None = None,
        overrides: Overrides | None = None,
    ) -> None:
        super().__init__(run_id, workflow, request, options, config, core)
        self.models = models or Models()
        self._overrides = overrides or Overrides()
        self.cache = CacheSession(self.models.settings.cache_size) if config.get("cache") else None
        """The run's use of the cache; `None` if it was started without it."""
        self._agents: dict[int, AgentData] = {}
        self._tools: dict[int, tuple[Agent, dict[str, Tool]]] = {}
        self._tool_slots: dict[str, asyncio.Semaphore] = {}
        self.undecided: dict[str, CutCall] = {}
        """Calls that must not be repeated and have no known outcome (yet), by path."""
        self.returned_late: dict[str, ToolOutcome] = {}
        """Outcomes of such calls that returned after their ask had stopped waiting for them, by path."""
        self.begun_asks: set[str] = set()
        """Paths of the asks with tools or of threads that were begun in this stretch."""
        self._tool_names: set[str] = set()
        """Names of all tools that agents had so far; `--approve tool:NAME` refers to them."""
        self._asked: set[str] = set()
        """Names and roles of all agents that were asked so far."""
        self._roles: set[str] = set()
        """Names that `--model-for` can refer to: the roles of these agents, and the names of those without
        one."""

    @property
    def settings(self) -> Settings:
        """The settings of the process that drives the run."""
        return self.models.settings

    @overload
    async def ask(
        self,
        agent: Agent,
        task: str,
        /,
        *,
        returns: type[T],
        prompt: Template | str | None = None,
        key: str | None = None,
        check: Callable[[T], str] | None = None,
        timeout: float | None = None,
        attach: Sequence[File] = (),
        on_tool: OnTool | None = None,
        **variables: Any,
    ) -> T: ...

    @overload
    async def ask(
        self,
        agent: Agent,
        task: str,
        /,
        *,
        returns: Any,
        prompt: Template | str | None = None,
        key: str | None = None,
        check: Check | None = None,
        timeout: float | None = None,
        attach: Sequence[File] = (),
        on_tool: OnTool | None = None,
        **variables: Any,
    ) -> Any: ...

    @overload
    async def ask(
        self,
        agent: Agent,
        task: str,
        /,
        *,
        prompt: Template | str | None = None,
        key: str | None = None,
        timeout: float | None = None,
        attach: Sequence[File] = (),
        on_tool: OnTool | None = None,
        **variables: Any,
    ) -> str: ...

    async def ask(
        self,
        agent: Agent,
        task: str,
        /,
        *,
        prompt: Template | str | None = None,
        returns: Any = str,
        key: str | None = None,
        check: Check | None = None,
        timeout: float | None = None,
        attach: Sequence[File] = (),
        on_tool: OnTool | None = None,
        **variables: Any,
    ) -> Any:
        """Ask an agent: `await run.ask(critic, "grade", prompt=prompts["grade"], returns=Grade, text=text)`.

        `returns=str` returns the reply's text; any other type returns data of that type. A reply that does
        not fit the type is sent back up to two times, as is one that fits but for which `check` returns an
        error message (for rules that a type cannot express). The step is named after the task and runs again
        when the agent, the prompt, the variables or the type change. `timeout` is for the whole step, repairs
        and waits included; when it passes, the step fails with `StepTimeoutError`.

        An agent with tools may call them, turn by turn, before it answers; `timeout` is for all turns, and
        `on_tool` is called before and after each call. The files of `attach` are sent with the prompt.
        """
        question = Question.of(agent, task, prompt, variables, returns)
        if self._overrides.hashes and isinstance(question.prompt, Template):
            question.prompt = self.prompt_for(question.prompt)
        if agent.tools or attach:
            return await self.talk(Conversation(), question, key, check, timeout, attach, on_tool)
        known = self.agent_data(agent)
        try:
            return await self.perform(
                task,
                ModelStep(self, question, known, check),
                inputs=question.fingerprinted(),
                key=key,
                returns=returns,
                kind="ask",
                about=question.about(known.models[0]),
                by_fingerprint=True,
                timeout=timeout,
            )
        except StepFailedError as error:
            if error.error_type != PromptError.__name__:
                raise
            # Not a failed step for the workflow, which would try the same prompt again.
            raise PromptError(error.message, hint=_hint_of(error)) from error

    def thread(self, agent: Agent, name: str = "thread") -> Thread:
        """Return a conversation with an agent: each `await thread.ask(…)` continues it."""
        return Thread(self, agent, name)

    async def talk(
        self,
        conversation: Conversation,
        question: Question,
        key: str | None,
        check: Check | None,
        timeout: float | None,
        attach: Sequence[File],
        on_tool: OnTool | None = None,
    ) -> Any:
        """Ask in a conversation: turn by turn, until the agent answers."""
        path = self._core.enter().take(question.task, key)
        self.begun_asks.add(path)
        tools = await self._tools_of(question.agent, path)
        files = await attached(self, path, attach) if attach else ()
        inputs = [question.fingerprinted(), [tool.definition for tool in tools.values()]]
        conversation.ask(question.render(), files, inputs)
        loop = AgentLoop(self, path, question, tools, conversation, on_tool)
        return await loop.answer(check, timeout)

    @property
    def core(self) -> Core:
        return self._core

    async def _tools_of(self, agent: Agent, path: str) -> dict[str, Tool]:
        """Return the tools for an ask of an agent. Tool sets are asked for theirs each time."""
        if any(map(is_tool_set, agent.tools)):
            tools: list[Any] = []
            for item in agent.tools:
                tools += await cast("ToolSet", item).tools(self, agent, path) if is_tool_set(item) else [item]
            return self._offered(equip(tools))
        known = self._tools.get(id(agent))
        if known is None or known[0] is not agent:
            known = self._tools[id(agent)] = agent, self._offered(equip(agent.tools))
        return known[1]

    def _offered(self, tools: dict[str, Tool]) -> dict[str, Tool]:
        self._tool_names |= tools.keys()
        return tools

    def tool_slot(self, tool: Tool) -> AbstractAsyncContextManager[None]:
        """Wait until a tool may run: within the run's limit and within its own, if it has one."""
        run = self._slots_of("", MAX_PARALLEL_TOOLS)
        return _both(self._slots_of(tool.name, tool.max_parallel), run) if tool.max_parallel else run

    def _slots_of(self, name: str, most: int) -> asyncio.Semaphore:
        slots = self._tool_slots.get(name)
        if slots is None:
            slots = self._tool_slots[name] = asyncio.Semaphore(most)
        return slots

    def prompt_for(self, template: Template) -> Template:
        """Return the effective prompt for a shipped one: a project or a user may override it."""
        return self._overrides.template(template)

    def marked(self, text: str) -> str:
        """Return the text of the last ask, stripped; if it was cut off, with a mark at its end for later
        readers."""
        text = text.strip()
        return f"{text}\n\n{CUT_MARK}" if text and self.cut_off else text

    def agent_data(self, agent: Agent) -> AgentData:
        """Return what the run knows of an agent: computed once."""
        known = self._agents.get(id(agent))
        if known is None or known.agent is not agent:
            system = redact_text(agent.system, self._core.journal.redact)
            known = AgentData(agent, self.models.names_for(agent, self.config), system)
            self._agents[id(agent)] = known
            self._asked |= {agent.name, agent.role}
            self._roles.add(agent.role or agent.name)
        return known

    def returned(self) -> None:
        """Warn when `--model-for` names a role that was never asked, or `--approve` a tool that no agent had.
        Not when a budget stopped the run, because the agent may be asked after a resume."""
        if self._core.exhausted is not None:
            return
        gates: Sequence[str] = self.config.get("approve", ())
        for name in [gate.removeprefix("tool:") for gate in gates if gate.startswith("tool:")]:
            if name not in self._tool_names:
                known = ", ".join(sorted(self._tool_names)) or "none"
                self.warn(f"--approve tool:{name}: no agent has a tool {name}. Tools of this run: {known}.")
        chosen: Mapping[str, str] = self.config.get("model_for") or {}
        for name in chosen:
            if name not in self._asked:
                known = ", ".join(sorted(self._roles)) or "none"
                self.warn(f"--model-for {name}: no agent has the role {name}. Asked in this run: {known}.")


@asynccontextmanager
async def _both(own: asyncio.Semaphore, run: asyncio.Semaphore) -> AsyncGenerator[None]:
    async with own, run:
        yield


def _hint_of(error: StepFailedError) -> str:
    """Return the hint of a failed step, or that of the exception behind it."""
    return error.hint or str(getattr(error.__cause__, "hint", ""))
