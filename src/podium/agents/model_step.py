"""The effect of one ask or of one turn: calls to a model until a reply fits.

Repairs happen inside the step: `Exchange` decides which call comes next, `ModelCaller` makes it. The log
keeps the prompt once, in `model.asked`, and each reply once: as the step's result, or in `model.repaired` or
`model.continued`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from podium.agents.agent import Agent
from podium.agents.attempts import AGAIN, Check, Exchange, TurnExchange
from podium.agents.caller import ModelCaller, redacted
from podium.agents.prompts import Question
from podium.engine.codec import schema
from podium.engine.effect import BLOB_BYTES, Effect
from podium.errors import BudgetExhaustedError, ModelFailedError
from podium.models.events import ModelAsked
from podium.models.model import Call, Model, OnDelta, Reply
from podium.models.repair import ParsedReply, find

if TYPE_CHECKING:
    from podium.agents.ask import Run
    from podium.agents.loop import AgentLoop


class AgentData(NamedTuple):
    """Values that a run computes once per agent."""

    agent: Agent
    models: list[str]
    """Names of its models, in order of preference."""
    system: str
    """Its system prompt, redacted."""


class ModelStep(NamedTuple):
    """The work of an ask; runs only if the log does not hold the result."""

    run: Run
    question: Question
    agent_data: AgentData
    check: Check | None
    loop: AgentLoop | None = None
    """The conversation that this is the next turn of; `None` for an ask of one turn."""

    async def __call__(self, effect: Effect) -> Any:
        run, question, agent, loop = self.run, self.question, self.question.agent, self.loop
        edited: Mapping[str, str] = run.config.get("overrides", {}).get(effect.path, {})
        names = [edited["model"]] if edited.get("model") else self.agent_data.models
        progress = effect.core.memo.progress_of(effect.path, effect.fingerprint)
        caller = ModelCaller(effect, run.models, names, agent, run.cache, progress)
        own = edited.get("prompt") if loop is None else loop.edited_prompt()
        prompt = redacted(effect, own or question.render())
        call = Call(
            run_id=run.id,
            workflow=run.workflow,
            path=effect.path,
            agent=agent.name,
            role=agent.role,
            task=question.task,
            system=self.agent_data.system,
            prompt=prompt,
            schema=None if question.returns is str else schema(question.returns),
            temperature=agent.temperature,
            max_tokens=agent.max_tokens,
            timeout=agent.timeout,
        )
        if loop is not None:
            call = replace(call, **await loop.sent(prompt, caller.model))
        call = run.models.limited(call, agent, caller.model, run.config)
        exchange = (Exchange if loop is None else TurnExchange)(effect, call, question.returns, self.check)
        effect.emit_clean(_asked(effect, exchange.call, caller.model, loop))
        if progress:
            await exchange.restore(progress)
        while True:
            try:
                reply = await self._answer(effect, caller, exchange)
            except BudgetExhaustedError:
                if (text := exchange.close()) is None:
                    raise
                return text
            caller.log_call()
            answer = exchange.take(reply, caller.model.name)
            if answer is not AGAIN:
                if run.cache is not None:
                    caller.keep(reply)
                return answer

    async def _answer(self, effect: Effect, caller: ModelCaller, exchange: Exchange) -> Reply:
        """Return the reply to the next call, when it is this ask's turn to process it."""
        while True:
            call = exchange.call
            try:
                reply = await caller.answer(call, partial(self._deltas, effect, call), self._fits)
            except ModelFailedError as error:
                if error.details.get("fault") != "rejected" or not exchange.lower_limit():
                    raise
                continue
            try:
                if (turn := effect.core.turns.take(urgent=True)) is not None:
                    await turn
            except BaseException:
                caller.log_call()  # a paid call is counted even if the ask was cancelled
                raise
            return reply

    def _fits(self, reply: Reply) -> bool:
        """Return whether a cached reply is still valid, since the type's own checks may have changed."""
        returns = self.question.returns
        if returns is str or reply.tool_calls:
            return True
        return isinstance(find(reply.text, returns), ParsedReply)

    def _deltas(self, effect: Effect, call: Call) -> OnDelta | None:
        """Return a callback that publishes pieces of the reply; None if there are no viewers, the usual
        case."""
        if not effect.core.viewers:
            return None
        offset = 0

        def publish(text: str) -> None:
            nonlocal offset
            self.run.publish_delta(call.path, call.attempt, offset, text)
            offset += len(text)

        return publish


def _asked(effect: Effect, call: Call, model: Model, loop: AgentLoop | None) -> ModelAsked:
    """Return the event for the log; a long prompt becomes a blob, so that events stay small. Later turns do
    not repeat the prompt."""
    if loop is not None and loop.turn > 1:
        return ModelAsked(model=model.name, turn=loop.turn)
    data = call.prompt.encode("utf-8", "replace")
    if len(data) <= BLOB_BYTES:
        return ModelAsked(system=call.system, prompt=call.prompt, model=model.name)
    return ModelAsked(system=call.system, blob=effect.core.journal.put_blob(data), model=model.name)
