"""`run.ask`: one step in which an agent is asked and its answer checked.

Repairs lie inside the step: `exchange` decides which call comes next, `calling` gets it answered. The log
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
"""Stands at the end of a text that is not complete."""


class Run(EngineRun):
    """The engine's `Run`, which can also ask agents. This is what workflows are given."""

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
        """What a person would choose a model for: their roles, and the names of those who have none."""

    @property
    def settings(self) -> Settings:
        """The settings that this process drives the run with."""
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

        `returns=str` gives the reply's text; any other type gives data of that type, and a reply that does
        not fit is sent back up to two times; so is one that fits but of which `check` says what is wrong
        (rules that no type can tell). The step is named after the task and runs again when the agent, the
        prompt, the variables or the type change. `timeout` is for the whole of it, repairs and waits
        included; when it has passed, the step has failed with `StepTimeoutError`.
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
        """Return the prompt in force for a shipped one: a project or a user may override it."""
        return self._overrides.template(template)

    def marked(self, text: str) -> str:
        """Return the text of the last ask without surrounding space; if it was cut off, with a mark at its
        end for those who read it next."""
        text = text.strip()
        return f"{text}\n\n{CUT_MARK}" if text and self.cut_off else text

    def system_of(self, agent: Agent, effect: Effect) -> str:
        """The system prompt as it may be sent. Agents are few, so it is looked through once for each."""
        known = self._systems.get(id(agent))
        if known is None or known[0] is not agent:
            known = self._systems[id(agent)] = agent, redacted(effect, agent.system)
        return known[1]

    def names_for(self, agent: Agent) -> list[str]:
        """The models that an agent may be answered by, in their order."""
        known = self._names.get(id(agent))
        if known is None or known[0] is not agent:
            known = self._names[id(agent)] = agent, self.models.names_for(agent, self.config)
        return known[1]

    def returned(self) -> None:
        """A model that was meant for somebody who never spoke was most likely a slip of the pen. A run that
        its budget cut short says nothing: whoever is missing may speak when it goes on."""
        if self._core.exhausted is not None:
            return
        chosen: Mapping[str, str] = self.config.get("model_for") or {}
        for name in chosen:
            if name not in self._asked:
                known = ", ".join(sorted(self._roles)) or "none"
                self.warn(f"--model-for {name}: no agent has the role {name}. Asked in this run: {known}.")


class _Asking:
    """The effect of an ask: it runs only when the log does not hold the answer."""

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
        """Return the reply to the next call, when it is this ask's turn to look at it."""
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
                calling.log_call()  # what was paid for is counted, also when nobody waits any more
                raise
            return reply

    def _fits(self, text: str) -> bool:
        """Whether a cached text is an answer: the type's own checks may have changed since it was kept."""
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
        """How pieces of the reply reach those who watch; nobody watches most of the time."""
        if not effect.core.viewers:
            return None
        offset = 0

        def publish(text: str) -> None:
            nonlocal offset
            self._run.publish_delta(call.path, call.attempt, offset, text)
            offset += len(text)

        return publish


def _asked(effect: Effect, call: Call, model: Model) -> ModelAsked:
    """The question for the log; a long prompt is kept as a blob, so that readers of events stay quick."""
    data = call.prompt.encode("utf-8", "replace")
    if len(data) <= BLOB_BYTES:
        return ModelAsked(system=call.system, prompt=call.prompt, model=model.name)
    return ModelAsked(system=call.system, blob=effect.core.journal.put_blob(data), model=model.name)
