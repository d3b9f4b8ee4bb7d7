"""Plain steps, the retry policy, and recall of recorded outcomes."""

from __future__ import annotations

import asyncio
import inspect
import random
import typing
from collections.abc import Awaitable, Callable, Iterable
from types import CodeType
from typing import Any, cast

import msgspec

from podium.engine.branch import Branch
from podium.engine.budget import problem_with
from podium.engine.core import Core
from podium.engine.effect import CallAttempt, Effect, failure_from
from podium.engine.events import NOTHING, BudgetExhausted, Charge, StepRetried, StepStale
from podium.engine.failure import call_in_thread, describe
from podium.engine.journal import Done
from podium.errors import BudgetExhaustedError, StoreError, UsageError

NOT_HELD = object()
"""Returned by `recall` for a step that has to run."""

Read = Callable[[Any], Any]


async def recall(core: Core, branch: Branch, path: str, mark: str, read: Read, by_fingerprint: bool) -> Any:
    """Return the recorded outcome of a step (raise a recorded failure), or `NOT_HELD`."""
    done = core.memo.done.pop(path, None)
    seq, failure = core.memo.failed.pop(path, (0, None)) if done is None else (done.seq, None)
    known = failure.fingerprint if failure else done.fingerprint if done else None
    if known is None:
        if core.replaying:
            raise _missing(core, path)
        was_stale(core, branch, path)
        return NOT_HELD
    if known == mark and (by_fingerprint or seq >= branch.stale_before):
        was_stale(core, branch, path, seq)
        if failure is not None:
            raise failure_from(path, failure)
        if done is not None:
            return await _result(core, branch, path, done, read)
    if core.replaying:
        raise core.diverged(path, "its input differs from the recorded one")
    mark_stale(core, branch, path, "input changed" if known != mark else "an earlier step ran again")
    return NOT_HELD


def mark_stale(core: Core, branch: Branch, path: str, reason: str) -> None:
    """Log that the recorded outcome is out of date; later steps of the branch then run again too."""
    branch.stale_before = core.journal.append(path, StepStale(reason=reason))


def was_stale(core: Core, branch: Branch, path: str, seq: int | None = None) -> None:
    """If the step ran again in an earlier stretch (recorded at `seq`), mark older results as out of date."""
    began = core.memo.stale.get(path, 0)
    if began > branch.stale_before and (seq is None or seq > began):
        branch.stale_before = began


async def _result(core: Core, branch: Branch, path: str, done: Done, read: Read) -> Any:
    branch.cut = done.cut
    if done.cut:
        core.memo.cut_steps.add(path)
        if core.replaying and path in core.memo.exhausted:  # the budget ran out before it was continued
            core.ran_out(path, _exhaustion(core.memo.exhausted[path]))
    try:
        return read(await core.result_of(done))
    except ValueError as error:  # msgspec's and pydantic's validation errors are ValueErrors
        if core.replaying:
            raise core.diverged(path, f"the recorded result no longer fits: {error}") from error
        core.check()
        if done.edited:  # the edit was intended: asking a model instead would cost money and hide the mistake
            raise UsageError(
                f"The reply that was given for {path} does not fit: {_flaws(error)}.",
                hint="Fork again with a reply of the shape that `podium show RUN STEP` shows.",
            ) from error
        mark_stale(core, branch, path, "the recorded result no longer fits its type")
        return NOT_HELD


def _flaws(error: ValueError) -> str:
    """Return the problems with a value, field by field if the error lists them, as pydantic's does."""
    listed: Any = getattr(error, "errors", None)
    if not callable(listed):
        return " ".join(str(error).split())[:500].rstrip(".")
    flaws: list[dict[str, Any]] = list(cast(Iterable[dict[str, Any]], listed()))
    problems = [
        f"{'.'.join(map(str, flaw['loc'])) or 'the whole'}: {flaw['msg'].lower()}" for flaw in flaws[:5]
    ]
    return "; ".join(problems + ([f"and {len(flaws) - 5} more"] if len(flaws) > 5 else []))


def _missing(core: Core, path: str) -> Exception:
    """In a replay: return the error for a step that a budget stopped, or else a divergence."""
    event = core.memo.exhausted.get(path)
    if event is None:
        return core.diverged(path, "the log does not hold this step")
    return core.ran_out(path, _exhaustion(event))


def _exhaustion(event: BudgetExhausted) -> BudgetExhaustedError:
    """Return the exception for a recorded exhausted budget."""
    return BudgetExhaustedError(event.kind, event.scope, event.limit, event.spent, event.needed, event.kept)


class Retry(msgspec.Struct, frozen=True):
    """`Retry(3)`: three attempts in all, 1 and 2 seconds apart, with 20 % jitter."""

    attempts: int = 3
    first_wait_s: float = 1.0
    factor: float = 2.0
    most_wait_s: float = 60.0
    jitter: float = 0.2
    only: tuple[type[BaseException], ...] = (Exception,)
    """Exceptions that are retried."""

    def wait(self, attempt: int) -> float:
        """Return the seconds to wait after the given attempt (1, 2, …) has failed."""
        base = min(self.first_wait_s * self.factor ** (attempt - 1), self.most_wait_s)
        return base * random.uniform(1 - self.jitter, 1 + self.jitter)


_SIMPLE: dict[Any, Any] = {t: t for t in (str, int, float, bool, bytes)} | {
    t.__name__: t for t in (str, int, float, bool, bytes)
}
_hints: dict[int, tuple[CodeType, Any]] = {}


class PlainStep:
    """The work of `run.step`. A synchronous function runs in a thread, so that it does not block the loop."""

    __slots__ = ("_args", "_cost", "_fn", "_retry")

    def __init__(
        self, fn: Callable[..., Any], args: tuple[Any, ...], retry: Retry | None, cost: Charge | None
    ) -> None:
        if cost is not None and (problem := problem_with(cost)):
            raise UsageError(f"A step cannot cost {problem}.", hint="Give finite figures from 0 on.")
        self._fn = fn
        self._args = args
        self._retry = retry
        self._cost = cost

    def __call__(self, effect: Effect) -> Awaitable[Any]:
        if self._retry is not None:
            return self._retried(effect, self._retry)
        if self._cost is None and _is_async(self._fn):
            return self._fn(*self._args)
        return self._once(effect)

    async def _retried(self, effect: Effect, retry: Retry) -> Any:
        attempt = 1
        while True:
            try:
                return await self._once(effect)
            except (BudgetExhaustedError, StoreError):
                raise
            except retry.only as error:
                if attempt >= retry.attempts:
                    raise
                wait = retry.wait(attempt)
                spent, effect.charge = effect.charge, NOTHING
                message = describe(error)
                effect.emit(StepRetried(attempt=attempt, error=message, wait_s=round(wait, 3), charge=spent))
                await effect.backoff(wait)
                attempt += 1

    async def _once(self, effect: Effect) -> Any:
        if self._cost is None:
            return await self._call()
        async with CallAttempt(effect, self._cost) as attempt:
            await attempt.begin()
            try:
                value = await self._call()
            except Exception:
                attempt.spend(self._cost)
                raise
            attempt.spend(self._cost)
            return value

    async def _call(self) -> Any:
        if _is_async(self._fn):
            return await self._fn(*self._args)
        value = await asyncio.to_thread(call_in_thread, self._fn, *self._args)
        return await value if inspect.isawaitable(value) else value


def _is_async(fn: Callable[..., Any]) -> bool:
    code = getattr(fn, "__code__", None)
    if code is not None:
        return bool(code.co_flags & inspect.CO_COROUTINE)
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004


def returned_type(fn: Callable[..., Any]) -> Any:
    """Return the return annotation of a function, or `None` if there is none that can be resolved."""
    annotations = getattr(fn, "__annotations__", None)
    if not annotations or "return" not in annotations:
        return None
    declared = annotations["return"]
    simple = _SIMPLE.get(declared) if isinstance(declared, (str, type)) else None
    if simple is not None:
        return simple
    code = getattr(fn, "__code__", None)
    if code is None:
        return None
    cached = _hints.get(id(code))
    if cached is None or cached[0] is not code:
        cached = _hints[id(code)] = (code, _resolve(fn))
    return cached[1]


def _resolve(fn: Callable[..., Any]) -> Any:
    try:
        hint = typing.get_type_hints(fn).get("return")
    except (NameError, TypeError, AttributeError):
        return None  # an annotation that only a type checker can resolve
    return None if hint is type(None) else hint
