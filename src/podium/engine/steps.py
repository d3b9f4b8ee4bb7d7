"""A plain step: a function of the user's, tried as often as its `Retry` says."""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Awaitable, Callable
from types import CodeType
from typing import Any

from podium.engine.effect import Effect
from podium.engine.events import NOTHING, Charge, StepRetried
from podium.engine.failure import call_in_thread, describe
from podium.engine.figures import problem_with
from podium.engine.retry import Retry
from podium.errors import BudgetExhaustedError, StoreError, UsageError

_SIMPLE: dict[Any, Any] = {t: t for t in (str, int, float, bool, bytes)} | {
    t.__name__: t for t in (str, int, float, bool, bytes)
}
_hints: dict[int, tuple[CodeType, Any]] = {}


class PlainStep:
    """What `run.step` runs. A synchronous function runs in a thread, so it does not stop the others."""

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
                said = describe(error)
                effect.emit(StepRetried(attempt=attempt, error=said, wait_s=round(wait, 3), charge=spent))
                await effect.backoff(wait)
                attempt += 1

    async def _once(self, effect: Effect) -> Any:
        if self._cost is None:
            return await self._call()
        async with effect.attempt(self._cost) as attempt:
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
    """The return annotation of a function, or `None` when there is none that can be resolved."""
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
