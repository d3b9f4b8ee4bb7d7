"""`run.ask`: one step in which an agent is asked and its answer checked.

Repairs lie inside the step, each a call of its own with its own reservation. What the log keeps of a
question is one `model.asked` with the prompt as it went out; a reply is kept once, as the step's result.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, TypeVar, overload

import msgspec

from podium.agents.agent import Agent
from podium.agents.models import Models
from podium.agents.prompts import Template
from podium.agents.question import Question
from podium.engine.core import Core
from podium.engine.effect import BLOB_BYTES, Attempt, Effect
from podium.engine.events import Charge
from podium.engine.run import Run as EngineRun
from podium.errors import (
    InvalidReplyError,
    ModelFailedError,
    ModelUnavailableError,
    StepFailedError,
    StepTimeoutError,
    StoreError,
)
from podium.models.events import ModelAsked, ModelAttempted, ModelRepaired
from podium.models.model import Call, Model, OnDelta, Reply, charge
from podium.models.repair import MAX_REPAIRS, find, repair_prompt

T = TypeVar("T")

_RAW_IN_EVENT = 8_000
_RAW_IN_ERROR = 1_000_000
"""Longer replies are cut where they are only shown."""


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
    ) -> None:
        super().__init__(run_id, workflow, request, options, config, core)
        self.models = models or Models()

    @overload
    async def ask(
        self, agent: Agent, task: str, /, *, returns: type[T], prompt: Template | str | None = None,
        key: str | None = None, **variables: Any,
    ) -> T: ...  # fmt: skip

    @overload
    async def ask(
        self, agent: Agent, task: str, /, *, returns: Any, prompt: Template | str | None = None,
        key: str | None = None, **variables: Any,
    ) -> Any: ...  # fmt: skip

    @overload
    async def ask(
        self, agent: Agent, task: str, /, *, prompt: Template | str | None = None, key: str | None = None,
        **variables: Any,
    ) -> str: ...  # fmt: skip

    async def ask(
        self, agent: Agent, task: str, /, *, prompt: Template | str | None = None, returns: Any = str,
        key: str | None = None, **variables: Any,
    ) -> Any:  # fmt: skip
        """Ask an agent: `await run.ask(critic, "grade", prompt=prompts["grade"], returns=Grade, text=text)`.

        `returns=str` gives the reply's text; any other type gives data of that type, and a reply that does
        not fit is sent back up to two times. The step is named after the task and runs again when the
        agent, the prompt, the variables or the type change.
        """
        question = Question.of(agent, task, prompt, variables, returns)
        return await self.perform(
            task,
            _Asking(self, question),
            inputs=question.fingerprinted(),
            key=key,
            returns=returns,
            kind="ask",
            about=question.about(self.models.name_for(agent, self.config)),
            by_fingerprint=True,
        )


class _Asking:
    """The effect of an ask: it runs only when the log does not hold the answer."""

    __slots__ = ("_question", "_run")

    def __init__(self, run: Run, question: Question) -> None:
        self._run = run
        self._question = question

    async def __call__(self, effect: Effect) -> Any:
        edited: Mapping[str, str] = self._run.config.get("overrides", {}).get(effect.path, {})
        model = self._model(effect.path, edited.get("model", ""))
        prompt = _redacted(effect, edited.get("prompt") or self._question.render())
        call = self._call(effect, prompt)
        effect.emit(_asked(effect, call, model))
        if model.rehearsal:
            effect.core.note_rehearsal()
        while True:
            reply = await self._attempt(effect, model, call)
            if self._question.returns is str:
                return reply.text
            found = find(reply.text, self._question.returns)
            if isinstance(found, bytes):
                return msgspec.Raw(found)
            if call.attempt > MAX_REPAIRS:
                raise _invalid(call, model, reply.text, found.error)
            raw = reply.text[:_RAW_IN_EVENT]
            effect.emit(ModelRepaired(attempt=call.attempt, error=found.error, raw=raw))
            sent_back = _redacted(effect, repair_prompt(prompt, reply.text, found.error))
            call = msgspec.structs.replace(call, prompt=sent_back, attempt=call.attempt + 1)

    def _model(self, path: str, edited: str) -> Model:
        models = self._run.models
        try:
            return models.open(edited) if edited else models.for_agent(self._question.agent, self._run.config)
        except ModelUnavailableError as error:
            raise ModelFailedError(path, "ModelUnavailableError", f"{error} {error.hint}".strip()) from error

    def _call(self, effect: Effect, prompt: str) -> Call:
        run, question, agent = self._run, self._question, self._question.agent
        return Call(
            run_id=run.id,
            workflow=run.workflow,
            path=effect.path,
            agent=agent.name,
            role=agent.role,
            task=question.task,
            system=_redacted(effect, agent.system),
            prompt=prompt,
            schema=question.schema,
            temperature=agent.temperature,
            max_tokens=agent.max_tokens,
        )

    async def _attempt(self, effect: Effect, model: Model, call: Call) -> Reply:
        """One call on the wire: reserved, timed, settled, whatever comes of it."""
        worst = model.worst_case(call)
        timeout = self._question.agent.timeout
        limit = asyncio.timeout(timeout)
        async with effect.attempt(worst) as attempt:
            wire = _Wire(attempt, model, call, worst)
            try:
                async with limit:
                    reply = await model.complete(call, self._deltas(effect, call))
            except StoreError:
                raise  # the log itself is in trouble; that is no outcome of a call
            except Exception as error:
                if limit.expired():
                    raise wire.timed_out(timeout) from error
                raise wire.failed(error) from error
            wire.answered(reply)
            return reply

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


class _Wire:
    """The book-keeping of one call: exactly one of its methods is called."""

    __slots__ = ("_attempt", "_began", "_call", "_model", "_worst")

    def __init__(self, attempt: Attempt, model: Model, call: Call, worst: Charge) -> None:
        self._attempt = attempt
        self._model = model
        self._call = call
        self._worst = worst
        self._began = time.perf_counter()

    def answered(self, reply: Reply) -> None:
        known = reply.usage is not None
        spent = charge(self._model.price, reply.usage) if reply.usage is not None else self._worst
        model = reply.model or self._model.name
        self._settle(spent, ok=True, estimated=not known, model=model, finish=reply.finish)

    def failed(self, error: Exception) -> ModelFailedError:
        """An error reply costs nothing, but it was a call."""
        if isinstance(error, StepFailedError):
            kind, said = error.error_type, error.reason
        else:
            kind, said = type(error).__name__, f"{type(error).__name__}: {error}"
        self._settle(Charge(calls=1), ok=False, error=said)
        return ModelFailedError(
            self._call.path, kind, said, model=self._model.name, attempt=self._call.attempt
        )

    def timed_out(self, seconds: float) -> StepTimeoutError:
        """It may have been answered and billed, so all of it counts."""
        said = f"{self._model.name} gave no answer within {seconds:g} s"
        self._settle(self._worst, estimated=True, ok=False, error=said)
        return StepTimeoutError(
            self._call.path, "TimeoutError", said, model=self._model.name, attempt=self._call.attempt
        )

    def _settle(self, spent: Charge, *, model: str = "", **told: Any) -> None:
        self._attempt.settle(
            ModelAttempted(
                attempt=self._call.attempt,
                model=model or self._model.name,
                latency_ms=round((time.perf_counter() - self._began) * 1000, 1),
                rehearsal=self._model.rehearsal,
                charge=spent,
                **told,
            )
        )


def _asked(effect: Effect, call: Call, model: Model) -> ModelAsked:
    """The question for the log; a long prompt is kept as a blob, so that readers of events stay quick."""
    data = call.prompt.encode("utf-8", "replace")
    if len(data) <= BLOB_BYTES:
        return ModelAsked(system=call.system, prompt=call.prompt, model=model.name)
    return ModelAsked(system=call.system, blob=effect.core.journal.put_blob(data), model=model.name)


def _redacted(effect: Effect, text: str) -> str:
    """Keys reach no prompt either."""
    data = text.encode("utf-8", "replace")
    clean = effect.core.journal.redact(data)
    return text if clean is data or clean == data else clean.decode("utf-8", "replace")


def _invalid(call: Call, model: Model, raw: str, error: str) -> InvalidReplyError:
    return InvalidReplyError(
        call.path,
        "InvalidReplyError",
        f"the reply did not fit its schema after {MAX_REPAIRS} repairs: {error}",
        raw=raw[:_RAW_IN_ERROR],
        model=model.name,
        attempts=call.attempt,
    )
