"""`ModelCaller` (retries and fallback) and `CallAccounting`.

Every request has its own reservation and its own event; while an ask waits, it holds neither a slot nor a
reservation.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from podium.agents.agent import Agent
from podium.agents.cache_session import CacheSession, Fits, Place
from podium.agents.models import Models, within
from podium.engine.effect import CallAttempt, Effect
from podium.engine.events import Charge, EventData
from podium.engine.failure import describe, is_close, unawaited
from podium.engine.redaction import redact_text
from podium.engine.steps import Retry
from podium.errors import (
    ModelFailedError,
    ModelUnavailableError,
    RunInterrupted,
    StepFailedError,
    StepTimeoutError,
    StoreError,
)
from podium.models.events import ModelAttempted, ModelFellBack
from podium.models.model import (
    MORE_TIME,
    Call,
    Model,
    ModelFault,
    OnDelta,
    Reply,
    Usage,
    charge,
    estimate,
    plausible,
)
from podium.models.provider_limits import ProviderLimits, RequestPace

MOST_TEXT = 100_000_000
"""Maximum characters of one reply. A longer one does not fit into a store."""


async def complete(model: Model, call: Call, on_delta: OnDelta | None) -> Reply:
    """Call a model once. Exceptions that must not leave a call (an exit, a stray cancellation) and invalid
    replies become `ModelFailedError`; cancellation from outside and Ctrl-C pass."""
    task = asyncio.current_task()
    try:
        reply = await model.complete(call, on_delta)
    except (Exception, KeyboardInterrupt, RunInterrupted):
        raise
    except BaseException as error:
        cancelled = isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling())
        if cancelled or is_close(error, task):
            raise
        kind = type(error).__name__
        raise ModelFailedError(call.path, kind, describe(error), model=model.name) from error
    if wrong := _wrong_with(reply):
        raise ModelFailedError(call.path, "TypeError", f"the model returned {wrong}", model=model.name)
    return reply


def _wrong_with(reply: Any) -> str:
    """Return what is wrong with the object that a model returned; empty if it is a valid reply."""
    if not isinstance(reply, Reply):
        name, hint = type(reply).__name__, unawaited(reply)
        return f"{name}, not a Reply: {hint}" if hint else f"{name}, not a Reply"
    text: Any = reply.text
    if type(text) is not str:
        return f"a Reply whose text is {type(text).__name__}, not a string"
    if len(text) > MOST_TEXT:
        return f"{len(text):,} characters; at most {MOST_TEXT:,} are accepted"
    for name in ("model", "finish", "mode", "tools"):
        if not isinstance(getattr(reply, name), str):
            return f"a Reply whose `{name}` is not a string"
    usage: Any = reply.usage
    if usage is not None and not isinstance(usage, Usage):
        return f"a Reply whose usage is {type(usage).__name__}, not a Usage"
    return ""


class CallAccounting(msgspec.Struct, eq=False):
    """Accounting of one call in flight. Exactly one of its methods is called."""

    _effect: Effect
    _attempt: CallAttempt
    _model: Model
    _call: Call
    _worst: Charge
    _nth: int
    _began: float = msgspec.field(default_factory=time.perf_counter)

    def answered(self, reply: Reply) -> ModelAttempted:
        """Settle a call that was answered. The caller logs the returned event together with its processing of
        the reply, so that a crash leaves either both or neither."""
        used = reply.usage
        spent = self._worst if used is None else charge(self._model.price, used, reply.calls)
        return self._settle(
            spent,
            log=False,
            ok=True,
            estimated=used is None,
            model=reply.model or self._model.name,
            finish=reply.finish,
            mode=reply.mode,
            tools=reply.tools,
            cache_read_tokens=used.cache_read_tokens if used else 0,
            cache_write_tokens=used.cache_write_tokens if used else 0,
        )

    def faulted(self, fault: ModelFault, retry_in_s: float) -> None:
        """Settle a failed call. An error reply costs nothing but counts as a call; if it may have been
        billed, its worst case counts."""
        self._settle(
            self._worst if fault.billed else Charge(calls=fault.calls),
            ok=False,
            estimated=fault.billed,
            error=redacted(self._effect, str(fault)),
            mode=fault.mode,
            tools=fault.tools,
            retry_in_s=round(retry_in_s, 3),
        )

    def failed(self, error: Exception) -> ModelFailedError:
        """Settle a call for any other exception of the model, and return the error."""
        if isinstance(error, StepFailedError):
            kind, reason = error.error_type, error.reason
        else:
            kind, reason = type(error).__name__, describe(error)
        reason = redacted(self._effect, reason)
        self._settle(Charge(calls=1), ok=False, error=reason)
        return ModelFailedError(
            self._call.path, kind, reason, model=self._model.name, attempt=self._call.attempt
        )

    def timed_out(self, seconds: float) -> StepTimeoutError:
        """Settle a call that timed out with its worst case, since it may have been answered and billed."""
        reason = f"{self._model.name} gave no answer within {seconds:g} s. {MORE_TIME}"
        self._settle(self._worst, estimated=True, ok=False, error=reason)
        return StepTimeoutError(
            self._call.path, "TimeoutError", reason, model=self._model.name, attempt=self._call.attempt
        )

    def _settle(self, spent: Charge, *, model: str = "", log: bool = True, **fields: Any) -> ModelAttempted:
        event = ModelAttempted(
            attempt=self._call.attempt,
            model=model or self._model.name,
            nth=self._nth,
            latency_ms=round((time.perf_counter() - self._began) * 1000, 1),
            rehearsal=self._model.rehearsal,
            timeout_s=self._call.timeout,
            max_tokens=self._call.max_tokens,
            charge=spent,
            **fields,
        )
        self._attempt.settle(spent)
        if log:
            self._effect.emit(event)
        return event


def redacted(effect: Effect, text: str) -> str:
    """Return text without secrets; applied to prompts and messages."""
    return redact_text(text, effect.core.journal.redact)


LONGEST_WAIT_S = 60.0
"""Maximum seconds between attempts, whatever the provider requests."""

Deltas = Callable[[], OnDelta | None]
"""Creates the receiver for the pieces of one attempt."""


class ModelCaller:
    """Makes the calls of one ask. After a fallback it stays with the new model."""

    def __init__(
        self,
        effect: Effect,
        models: Models,
        names: list[str],
        agent: Agent,
        cache: CacheSession | None,
        progress: Sequence[EventData],
    ) -> None:
        self._effect = effect
        self._cache = cache
        self._place: Place | None = None
        """The place of the last reply in the cache."""
        self._models = models
        self._names = names
        self._agent = agent
        self._unlogged: ModelAttempted | None = None
        """The call of the reply that was returned last; see `log_call`."""
        self._failed_before: ModelAttempted | None = None
        """The last failed attempt before a resume; the next attempt continues its count."""
        self._fell_back = False
        if progress:
            self._restore(progress)
        self.model = self._open()
        """The current model."""

    def _restore(self, progress: Sequence[EventData]) -> None:
        """Continue after the attempts before a resume."""
        for event in progress:
            if isinstance(event, ModelFellBack) and event.to_model in self._names:
                self._names = self._names[self._names.index(event.to_model) :]
                self._failed_before = None
            elif isinstance(event, ModelAttempted):
                self._failed_before = None if event.ok else event

    def log_call(self) -> None:
        """Log the call of the reply that was returned last, together with the caller's next events."""
        event, self._unlogged = self._unlogged, None
        if event is not None and not self._effect.core.journal.closed:
            self._effect.emit(event)

    async def answer(self, call: Call, deltas: Deltas, fits: Fits) -> Reply:
        """Return the reply of the first model that answers, or a cached one that `fits`. The cache is checked
        before anything is reserved: a cached reply needs no budget and no slot."""
        while True:
            call = within(call, self.model)
            if self._fell_back and call.counted[1]:  # another model counts its tokens differently
                call = msgspec.structs.replace(call, counted=(0, 0))
            cached = await self._cache.take(self._effect, self.model, call, fits) if self._cache else None
            if isinstance(cached, Reply):
                self._place = None
                return cached
            self._place = cached
            try:
                if self._limits is None:
                    reply = await self._once(call, deltas, 1, None)
                else:
                    reply = await self._patiently(call, deltas, self._limits)
            except (ModelFailedError, StepTimeoutError) as error:
                if len(self._names) == 1:
                    raise
                self._next(self.model.name, error.reason)
                self.model = self._open()
                self._fell_back = True
                call = self._models.limited(call, self._agent, self.model, self._effect.run.config)
                continue
            if reply.finish == "refusal":  # asking again would not help
                self.log_call()
                reason = redacted(self._effect, f"{self.model.name}: {reply.text}")
                raise self._error(call, "RefusalError", reason)
            return reply

    def keep(self, reply: Reply) -> None:
        """Store the last reply in the cache, after it proved valid."""
        if self._cache is not None and self._place is not None:
            self._cache.keep(self._effect, self.model, self._place, reply)

    # ── model selection ──

    def _open(self) -> Model:
        """Return the first model that can be opened; raise for the last one. A model without a price is not
        opened if only money is limited, because that limit could not hold."""
        core = self._effect.core
        while True:
            try:
                model = self._models.open(self._names[0])
                if model.price.kind == "unknown" and core.budget.limits_only_money:
                    raise ModelUnavailableError(
                        f"A money budget cannot hold for {model.name}: its price is not known.",
                        hint="Give its price in podium.toml, or cap --max-tokens or --max-calls too.",
                    )
            except ModelUnavailableError as error:
                reason = redacted(self._effect, f"{error} {error.hint}".strip())
                if len(self._names) == 1:
                    raise ModelFailedError(self._effect.path, "ModelUnavailableError", reason) from error
                self._next(self._names[0], reason)
                continue
            if model.rehearsal:
                core.note_rehearsal()
            self._limits: ProviderLimits | None = getattr(model, "guard", None)
            """The limits of a hosted model; None for others, whose exceptions are never retried."""
            return model

    def _next(self, name: str, error: str) -> None:
        self._names = self._names[1:]
        self._effect.emit(ModelFellBack(from_model=name, to_model=self._names[0], error=error))

    # ── retries ──

    @property
    def _retry(self) -> Retry:
        first = self._models.settings.retry_wait
        return Retry(self._agent.attempts, first_wait_s=first, most_wait_s=LONGEST_WAIT_S)

    async def _patiently(self, call: Call, deltas: Deltas, limits: ProviderLimits) -> Reply:
        nth, trial = self._next_attempt(call), False
        try:
            while True:
                try:
                    trial = limits.breaker.check(trial)
                    reply = await self._once(call, deltas, nth, limits.pace)
                except ModelFault as fault:
                    if not fault.retry or nth >= self._retry.attempts:
                        trial = _report_fault(limits, fault, trial)
                        raise self._failed(call, fault, nth) from fault
                    await self._effect.backoff(fault.wait_s or 0.0)
                    nth += 1
                else:
                    trial = False
                    limits.breaker.answered()
                    return reply
        finally:
            if trial:
                limits.breaker.left()

    def _next_attempt(self, call: Call) -> int:
        """Return the number of the next attempt at this model; raise if all were used up before a resume."""
        before, self._failed_before = self._failed_before, None
        if before is None or before.model != self.model.name or before.attempt != call.attempt:
            return 1
        if before.nth < self._retry.attempts and before.retry_in_s:
            return before.nth + 1
        raise self._error(call, "ProviderError", before.error)

    async def _once(self, call: Call, deltas: Deltas, nth: int, pace: RequestPace | None) -> Reply:
        """Make one request as soon as the provider's rate limit allows it. Checked before anything is
        reserved, and again afterwards, because another call may have been refused meanwhile."""
        effect, worst = self._effect, self._models.worst_case(self.model, call)
        tokens = 0 if pace is None else estimate(call, "").input_tokens + call.max_tokens
        while True:
            if pace is not None and (wait := pace.held()) > 0:
                await effect.backoff(wait)
                continue
            async with CallAttempt(effect, worst) as attempt:
                wait = 0.0 if pace is None else pace.take(tokens)
                if wait <= 0:
                    await attempt.begin()
                    reply = await self._call(attempt, call, worst, deltas(), nth)
                    if pace is not None and reply.usage is not None:
                        pace.correct(reply.usage.input_tokens + reply.usage.output_tokens - tokens)
                    return reply
                attempt.withdraw()
            await effect.backoff(wait)

    async def _call(
        self, attempt: CallAttempt, call: Call, worst: Charge, on_delta: OnDelta | None, nth: int
    ) -> Reply:
        """Make one call, with a timeout; settle it whatever its outcome."""
        limit = asyncio.timeout(call.timeout)
        accounting = CallAccounting(self._effect, attempt, self.model, call, worst, nth)
        try:
            async with limit:
                reply, refused = plausible(await complete(self.model, call, on_delta))
        except StoreError:
            raise  # a failure of the log itself is not an outcome of the call
        except Exception as error:
            hosted = self._limits is not None
            if limit.expired() and not hosted:
                raise accounting.timed_out(call.timeout) from error
            fault = _late(call) if limit.expired() else error
            if not isinstance(fault, ModelFault) or not hosted:
                raise accounting.failed(error) from error
            fault.wait_s = self._wait(fault, nth)
            accounting.faulted(fault, fault.wait_s)
            raise fault from error
        self._unlogged = answered = accounting.answered(reply)
        if answered.charge.tokens > worst.tokens or answered.charge.usd > worst.usd:
            self._models.note_overrun(self.model, call, answered.charge)
        if refused:
            self._warn_of_usage(refused)
        return reply

    def _warn_of_usage(self, refused: str) -> None:
        """Warn once per run and model that reported figures were not counted."""
        core = self._effect.core
        known = f"{self.model.name} reported impossible usage"
        if not any(warning.startswith(known) for warning in core.notes):
            core.note(f"{known} ({refused}): such calls are counted with their worst case.")

    def _wait(self, fault: ModelFault, nth: int) -> float:
        """Return the seconds until the next attempt: what the provider requests, else exponential backoff."""
        if not fault.retry:
            return 0.0
        requested = fault.wait_s is not None
        wait = self._retry.wait(nth) if fault.wait_s is None else min(fault.wait_s, LONGEST_WAIT_S)
        wait *= random.uniform(1.0, 1.1) if requested else 1.0
        if self._limits is not None and (requested or fault.kind == "limited"):
            wait = self._limits.pace.hold(wait)  # other calls wait too, even if this one gives up
        return wait if nth < self._retry.attempts else 0.0

    def _failed(self, call: Call, fault: ModelFault, nth: int) -> ModelFailedError:
        tries = f" (attempt {nth} of {self._retry.attempts})" if nth > 1 else ""
        advice = f". {fault.hint}" if fault.hint else ""
        reason = redacted(self._effect, f"{self.model.name}: {fault}{tries}{advice}")
        return self._error(call, "ProviderError", reason, fault=fault.kind, status=fault.status)

    def _error(self, call: Call, error_type: str, reason: str, **details: Any) -> ModelFailedError:
        return ModelFailedError(
            call.path, error_type, reason, model=self.model.name, attempt=call.attempt, **details
        )


def _late(call: Call) -> ModelFault:
    reason = f"no answer within {call.timeout:g} s"
    return ModelFault("timeout", reason, retry=True, billed=True, down=True, hint=MORE_TIME)


def _report_fault(limits: ProviderLimits, fault: ModelFault, trial: bool) -> bool:
    """Report the outcome of a call to the breaker; this ends a trial."""
    if fault.down:
        limits.breaker.gave_up(trial)
    elif fault.kind != "resting":
        limits.breaker.answered()
    return False
