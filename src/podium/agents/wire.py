"""The book-keeping of one call: what it came to is settled and told exactly once."""

from __future__ import annotations

import time
from typing import Any

from podium.engine.effect import Attempt, Effect
from podium.engine.events import Charge
from podium.engine.failure import describe
from podium.engine.redact import redact_text
from podium.errors import ModelFailedError, StepFailedError, StepTimeoutError
from podium.models.events import ModelAttempted
from podium.models.faults import MORE_TIME, ModelFault
from podium.models.model import Call, Model, Reply, charge


class Wire:
    """One call under way. Exactly one of its methods is called."""

    __slots__ = ("_attempt", "_began", "_call", "_effect", "_model", "_nth", "_worst")

    def __init__(
        self, effect: Effect, attempt: Attempt, model: Model, call: Call, worst: Charge, nth: int
    ) -> None:
        self._effect = effect
        self._attempt = attempt
        self._model = model
        self._call = call
        self._worst = worst
        self._nth = nth
        self._began = time.perf_counter()

    def answered(self, reply: Reply) -> ModelAttempted:
        """Settle a call that was answered. The caller logs the returned event together with what it makes of
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
            cache_read_tokens=used.cache_read_tokens if used else 0,
            cache_write_tokens=used.cache_write_tokens if used else 0,
        )

    def faulted(self, fault: ModelFault, retry_in_s: float) -> None:
        """An error reply costs nothing, but it was a call; what may have been billed counts in full."""
        self._settle(
            self._worst if fault.billed else Charge(calls=fault.calls),
            ok=False,
            estimated=fault.billed,
            error=redacted(self._effect, str(fault)),
            mode=fault.mode,
            retry_in_s=round(retry_in_s, 3),
        )

    def failed(self, error: Exception) -> ModelFailedError:
        """Whatever else a model raised."""
        if isinstance(error, StepFailedError):
            kind, said = error.error_type, error.reason
        else:
            kind, said = type(error).__name__, describe(error)
        said = redacted(self._effect, said)
        self._settle(Charge(calls=1), ok=False, error=said)
        return ModelFailedError(
            self._call.path, kind, said, model=self._model.name, attempt=self._call.attempt
        )

    def timed_out(self, seconds: float) -> StepTimeoutError:
        """It may have been answered and billed, so all of it counts."""
        said = f"{self._model.name} gave no answer within {seconds:g} s. {MORE_TIME}"
        self._settle(self._worst, estimated=True, ok=False, error=said)
        return StepTimeoutError(
            self._call.path, "TimeoutError", said, model=self._model.name, attempt=self._call.attempt
        )

    def _settle(self, spent: Charge, *, model: str = "", log: bool = True, **told: Any) -> ModelAttempted:
        event = ModelAttempted(
            attempt=self._call.attempt,
            model=model or self._model.name,
            nth=self._nth,
            latency_ms=round((time.perf_counter() - self._began) * 1000, 1),
            rehearsal=self._model.rehearsal,
            timeout_s=self._call.timeout,
            max_tokens=self._call.max_tokens,
            charge=spent,
            **told,
        )
        self._attempt.settle(event, log=log)
        return event


def redacted(effect: Effect, text: str) -> str:
    """Keys reach no prompt and no message either."""
    return redact_text(text, effect.core.journal.redact)
