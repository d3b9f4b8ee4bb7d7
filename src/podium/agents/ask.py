"""`run.ask`: one step that asks an agent and validates the reply.

Repairs happen inside the step: `Exchange` decides which call comes next, `ModelCaller` makes it. The log
keeps the prompt once, in `model.asked`, and each reply once: as the step's result, or in `model.repaired` or
`model.continued`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar, overload

from msgspec.structs import replace

from podium.agents.agent import Agent
from podium.agents.attempts import AGAIN, Check, Exchange
from podium.agents.cache_session import CacheSession
from podium.agents.caller import ModelCaller, redacted
from podium.agents.models import Models
from podium.agents.overrides import Overrides
from podium.agents.prompts import Question, Template
from podium.engine.core import Core
from podium.engine.effect import BLOB_BYTES, Effect
from podium.engine.run import Run as EngineRun
from podium.errors import BudgetExhaustedError, ModelFailedError
from podium.models.events import ModelAsked
from podium.models.model import Call, Model, OnDelta, Reply
from podium.models.repair import ParsedReply, find
from podium.settings import Settings

T = TypeVar("T")

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
        self._taking = CacheSession(self.models.settings.cache_size) if config.get("cache") else None
        self._systems: dict[int, tuple[Agent, str]] = {}
        self._names: dict[int, tuple[Agent, list[str]]] = {}
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
        self, agent: Agent, task: str, /, *, returns: type[T], prompt: Template | str | None = None,
        key: str | None = None, check: Callable[[T], str] | None = None, timeout: float | None = None,
        **variables: Any,
    ) -> T: ...  # fmt: skip

    @overload
    async def ask(
        self, agent: Agent, task: str, /, *, returns: Any, prompt: Template | str | None = None,
        key: str | None = None, check: Check | None = None, timeout: float | None = None,
        **variables: Any,
    ) -> Any: ...  # fmt: skip

    @overload
    async def ask(
        self, agent: Agent, task: str, /, *, prompt: Template | str | None = None, key: str | None = None,
        timeout: float | None = None, **variables: Any,
    ) -> str: ...  # fmt: skip

    async def ask(
        self, agent: Agent, task: str, /, *, prompt: Template | str | None = None, returns: Any = str,
        key: str | None = None, check: Check | None = None, timeout: float | None = None,
        **variables: Any,
    ) -> Any:  # fmt: skip
        """Ask an agent: `await run.ask(critic, "grade", prompt=prompts["grade"], returns=Grade, text=text)`.

        `returns=str` returns the reply's text; any other type returns data of that type. A reply that does
        not fit the type is sent back up to two times, as is one that fits but for which `check` returns an
        error message (for rules that a type cannot express). The step is named after the task and runs again
        when the agent, the prompt, the variables or the type change. `timeout` is for the whole step, repairs
        and waits included; when it passes, the step fails with `StepTimeoutError`.
        """
        question = Question.of(agent, task, prompt, variables, returns)
        if isinstance(question.prompt, Template):
            question = replace(question, prompt=self.prompt_for(question.prompt))
        self._asked |= {agent.name, agent.role}
        self._roles.add(agent.role or agent.name)
        return await self.perform(
            task,
            _Asking(self, question, self._taking, check),
            inputs=question.fingerprinted(),
            key=key,
            returns=returns,
            kind="ask",
            about=question.about(self.names_for(agent)[0]),
            by_fingerprint=True,
            timeout=timeout,
        )

    def prompt_for(self, template: Template) -> Template:
        """Return the effective prompt for a shipped one: a project or a user may override it."""
        return self._overrides.template(template)

    def marked(self, text: str) -> str:
        """Return the text of the last ask, stripped; if it was cut off, with a mark at its end for later
        readers."""
        text = text.strip()
        return f"{text}\n\n{CUT_MARK}" if text and self.cut_off else text

    def system_of(self, agent: Agent, effect: Effect) -> str:
        """Return the redacted system prompt, cached per agent."""
        known = self._systems.get(id(agent))
        if known is None or known[0] is not agent:
            known = self._systems[id(agent)] = agent, redacted(effect, agent.system)
        return known[1]

    def names_for(self, agent: Agent) -> list[str]:
        """Return the models for an agent, in order of preference."""
        known = self._names.get(id(agent))
        if known is None or known[0] is not agent:
            known = self._names[id(agent)] = agent, self.models.names_for(agent, self.config)
        return known[1]

    def returned(self) -> None:
        """Warn when `--model-for` names a role that was never asked. Not when a budget stopped the run,
        because the agent may be asked after a resume."""
        if self._core.exhausted is not None:
            return
        chosen: Mapping[str, str] = self.config.get("model_for") or {}
        for name in chosen:
            if name not in self._asked:
                known = ", ".join(sorted(self._roles)) or "none"
                self.warn(f"--model-for {name}: no agent has the role {name}. Asked in this run: {known}.")


class _Asking:
    """The effect of an ask; runs only if the log does not hold the result."""

    __slots__ = ("_check", "_question", "_run", "_taking")

    def __init__(
        self, run: Run, question: Question, taking: CacheSession | None, check: Check | None
    ) -> None:
        self._run = run
        self._question = question
        self._taking = taking
        self._check = check

    async def __call__(self, effect: Effect) -> Any:
        edited: Mapping[str, str] = self._run.config.get("overrides", {}).get(effect.path, {})
        progress, agent = effect.progress(), self._question.agent
        calling = ModelCaller(effect, self._run.models, self._names(edited), agent, self._taking, progress)
        prompt = redacted(effect, edited.get("prompt") or self._question.render())
        exchange = Exchange(
            effect, calling.limit(self._call(effect, prompt)), self._question.returns, self._check
        )
        effect.emit_clean(_asked(effect, exchange.call, calling.model))
        if progress:
            await exchange.restore(progress)
        while True:
            try:
                reply = await self._answer(effect, calling, exchange)
            except BudgetExhaustedError:
                if (text := exchange.close()) is None:
                    raise
                return text
            calling.log_call()
            answer = exchange.take(reply, calling.model.name)
            if answer is not AGAIN:
                calling.keep(reply)
                return answer

    async def _answer(self, effect: Effect, calling: ModelCaller, exchange: Exchange) -> Reply:
        """Return the reply to the next call, when it is this ask's turn to process it."""
        while True:
            call = exchange.call
            try:
                reply = await calling.answer(call, partial(self._deltas, effect, call), self._fits)
            except ModelFailedError as error:
                if error.details.get("fault") != "rejected" or not exchange.lower_limit():
                    raise
                continue
            try:
                if (turn := effect.core.turns.take(urgent=True)) is not None:
                    await turn
            except BaseException:
                calling.log_call()  # a paid call is counted even if the ask was cancelled
                raise
            return reply

    def _fits(self, text: str) -> bool:
        """Return whether a cached text is still valid, since the type's own checks may have changed."""
        return self._question.returns is str or isinstance(find(text, self._question.returns), ParsedReply)

    def _names(self, edited: Mapping[str, str]) -> list[str]:
        if edited.get("model"):
            return [edited["model"]]
        return self._run.names_for(self._question.agent)

    def _call(self, effect: Effect, prompt: str) -> Call:
        run, question, agent = self._run, self._question, self._question.agent
        return Call(
            run_id=run.id,
            workflow=run.workflow,
            path=effect.path,
            agent=agent.name,
            role=agent.role,
            task=question.task,
            system=run.system_of(agent, effect),
            prompt=prompt,
            schema=question.schema,
            temperature=agent.temperature,
            max_tokens=agent.max_tokens,
            timeout=agent.timeout,
        )

    def _deltas(self, effect: Effect, call: Call) -> OnDelta | None:
        """Return a callback that publishes pieces of the reply; None if there are no viewers, the usual
        case."""
        if not effect.core.viewers:
            return None
        offset = 0

        def publish(text: str) -> None:
            nonlocal offset
            self._run.publish_delta(call.path, call.attempt, offset, text)
            offset += len(text)

        return publish


def _asked(effect: Effect, call: Call, model: Model) -> ModelAsked:
    """Return the event for the log; a long prompt becomes a blob, so that events stay small."""
    data = call.prompt.encode("utf-8", "replace")
    if len(data) <= BLOB_BYTES:
        return ModelAsked(system=call.system, prompt=call.prompt, model=model.name)
    return ModelAsked(system=call.system, blob=effect.core.journal.put_blob(data), model=model.name)
