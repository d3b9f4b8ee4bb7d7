"""Stop orders, draining, recorded endings."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import msgspec

from podium.engine.budget import KINDS
from podium.engine.codec import decode, encode
from podium.engine.core import Core
from podium.engine.effect import BLOB_BYTES
from podium.engine.events import RunCancelled, RunCompleted, RunEnded, RunFailed, RunPartial, RunPaused
from podium.engine.failure import describe
from podium.engine.result import RunResult
from podium.engine.workflow import Outcome, Partial
from podium.errors import (
    BudgetExhaustedError,
    FencedError,
    GaveUpError,
    PodiumError,
    RunCancelledError,
    RunInterrupted,
    RunPausedError,
    StepFailedError,
    StoreError,
    StoreFullError,
)

_PODIUM = str(Path(__file__).parents[1])
_ASYNCIO = str(Path(asyncio.__file__).parent)

MAX_CAUSES = 10_000
ASLEEP = "asleep until "
"""How the reason begins why a run is paused that sleeps."""


class Ending(msgspec.Struct):
    """One of the ways in which a stretch can end."""

    status: str
    """`completed, partial, failed, cancelled, paused` or `waiting`."""
    reason: str = ""
    output: Any = None
    quality: float | None = None
    missing: list[str] = []
    error: Exception | None = None
    wake_at: float | None = None

    def fill(self, result: RunResult, core: Core) -> None:
        """Tell the caller. The output is what the log will hold, not the object that was returned."""
        result.quality = self.quality
        result.wake_at = self.wake_at
        if self.error is not None:
            result.error = core.clean(_said(self.error))
            result.hint = core.clean(getattr(self.error, "hint", "") or where(self.error))
        if self.output is not None:
            result.output = decode(core.journal.redact(encode(self.output)))
        if self.status == "waiting":
            result.questions = dict(core.asked)

    def write(self, core: Core, result: RunResult) -> None:
        """Append the last events of the stretch."""
        data = self._event(core, result)
        if data is not None:
            core.emit("", data)
        core.journal.update(
            status=self.status, stop_reason=self.reason, usage=core.ledger.spent, driven_s=core.clock.now()
        )

    def _event(self, core: Core, result: RunResult) -> RunEnded | None:
        usage, driven = core.ledger.spent, round(core.clock.now(), 6)
        output, blob = _inline_or_blob(core, result.output)
        if self.status == "completed":
            return RunCompleted(usage=usage, driven_s=driven, output=output, blob=blob, quality=self.quality)
        if self.status == "partial":
            return RunPartial(
                usage=usage, driven_s=driven, stop_reason=self.reason, output=output, blob=blob,
                quality=self.quality, missing=self.missing, error=result.error,
            )  # fmt: skip
        if self.status == "failed":
            return RunFailed(
                usage=usage, driven_s=driven, error=result.error, error_type=type(self.error).__name__,
                hint=result.hint, cause=causes_of(self.error), output=output, blob=blob,
            )  # fmt: skip
        if self.status == "cancelled":
            return RunCancelled(usage=usage, driven_s=driven, reason=self.reason)
        if self.status == "paused":
            return RunPaused(usage=usage, driven_s=driven, reason=self.reason)
        return None

    @staticmethod
    def not_written(result: RunResult, error: StoreError) -> None:
        """The end itself could not be logged; what was committed before is safe."""
        if isinstance(error, FencedError):
            raise error
        result.status = "paused"
        result.stop_reason = _trouble(error)
        result.error, result.hint = error.message, error.hint


def ending_of(main: asyncio.Task[Any], core: Core) -> Ending:
    """What a workflow that has come to its end amounts to."""
    if main.cancelled():
        return Ending("failed", error=cancelled_inside())
    error = main.exception()
    if error is None:
        return _ending_of_value(main.result(), core)
    exhausted = _exhaustion_behind(error)
    if exhausted is not None:
        return Ending("partial", reason=_stop_reason(exhausted), error=_as_spent(exhausted, core))
    if isinstance(error, GaveUpError):
        return _given_up(error)
    if isinstance(error, Exception):
        return Ending("failed", error=error)
    raise error


def _given_up(error: GaveUpError) -> Ending:
    """The run fails with what the workflow has; what cannot be logged must not hide why it failed."""
    try:
        encode(error.output)
    except PodiumError:
        return Ending("failed", error=error)
    return Ending("failed", error=error, output=error.output)


def ending_of_broken(error: StoreError) -> Ending:
    """The log took no more, so nothing else counts: the run can be taken up where the log ends."""
    if isinstance(error, FencedError):
        raise error
    return Ending("paused", reason=_trouble(error), error=error)


def overrun_warnings(core: Core) -> list[str]:
    """Say which ceilings were passed, because calls cost more than their worst case."""
    overruns = core.overruns
    if not overruns.calls:
        return []
    calls = "1 call" if overruns.calls == 1 else f"{overruns.calls:,} calls"
    why = f"{calls} used more than the most that was asked for"
    if not overruns.passed:
        return [f"{why[0].upper()}{why[1:]}. No ceiling was passed."] if core.root_scope.limited else []
    return [f"{scope.passed()}: {why}." for scope in overruns.passed.values()]


def _trouble(error: StoreError) -> str:
    return "disk full" if isinstance(error, StoreFullError) else "store error"


def ending_asleep(until: float) -> Ending:
    """Nobody is busy before a moment that is far: no process has to wait for it."""
    moment = datetime.fromtimestamp(until, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Ending("paused", reason=f"{ASLEEP}{moment}", wake_at=until)


def cancelled_inside() -> PodiumError:
    """Nobody ordered a stop, and yet a cancellation came out of the workflow's own code."""
    return PodiumError(
        "Something that the workflow waited for was cancelled.",
        hint="Catch asyncio.CancelledError where the workflow cancels something itself.",
    )


def _exhaustion_behind(error: BaseException) -> BudgetExhaustedError | None:
    """The exhausted budget that an error stands for: itself, what it was raised from, one of its group."""
    for cause in _chain(error):
        if isinstance(cause, BudgetExhaustedError):
            return cause
        if isinstance(cause, BaseExceptionGroup):
            parts = cast("BaseExceptionGroup[BaseException]", cause).exceptions
            return next((found for part in parts if (found := _exhaustion_behind(part))), None)
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, what it was raised from, and so on; a chain that bites its tail ends there."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__


def _ending_of_value(value: Any, core: Core) -> Ending:
    quality = value.quality if isinstance(value, (Outcome, Partial)) else None
    output = value.output if isinstance(value, (Outcome, Partial)) else value
    try:
        encode(output)
    except PodiumError as error:
        return Ending("failed", error=error)
    missing = value.missing if isinstance(value, Partial) else []
    if core.exhausted is not None:
        reason = _stop_reason(core.exhausted)
        return Ending("partial", reason, output, quality, missing, _as_spent(core.exhausted, core))
    if isinstance(value, Partial):
        return Ending("partial", value.reason, output, quality, missing)
    return Ending("completed", "", output, quality)


def _as_spent(error: BudgetExhaustedError, core: Core) -> BudgetExhaustedError:
    """The error with what was spent in the end, where that is more than the ceiling."""
    scope = core.overruns.passed.get(error.scope)
    if scope is None or error.kind not in KINDS:
        return error
    spent = scope.amount_spent(error.kind)
    if spent <= max(error.spent, error.limit):
        return error
    return BudgetExhaustedError(error.kind, error.scope, error.limit, spent, error.needed, error.kept)


def _stop_reason(error: BudgetExhaustedError) -> str:
    return "time" if error.kind == "seconds" else "budget"


def _inline_or_blob(core: Core, output: Any) -> tuple[Any, str]:
    raw = encode(output)
    if len(raw) <= BLOB_BYTES:
        return msgspec.Raw(raw), ""
    return None, core.journal.put_blob(raw)


def _said(error: Exception) -> str:
    if isinstance(error, PodiumError):
        return str(error)
    return describe(error)


def where(error: BaseException) -> str:
    """Which line of the user's own code raised an error, for somebody who is still writing it."""
    for cause in _chain(error):
        error = cause
        if not isinstance(cause, StepFailedError):
            break
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((_PODIUM, _ASYNCIO))
    ]
    if not own:
        return ""
    return f"Raised in {own[-1].name}, {Path(own[-1].filename).name} line {own[-1].lineno}."


def causes_of(error: BaseException | None) -> list[str]:
    """Paths of the failed steps behind an error: those that a resume runs again."""
    found: dict[str, None] = {}
    todo, seen = [error], set[int]()
    while todo and len(found) < MAX_CAUSES:
        current = todo.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, StepFailedError) and current.path:
            found[current.path] = None
        todo += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            todo += list(cast("BaseExceptionGroup[BaseException]", current).exceptions)
    return list(found)


CANCEL_GRACE_S = 0.5
"""How long a call in flight may still bring its reply after a cancel."""
PAUSE_GRACE_S = 10.0
"""How long calls in flight may take to be recorded when a run is paused, unless somebody says otherwise."""


class Orders:
    """What a driver was told from outside. The last word has a cancel; a second pause means: at once."""

    def __init__(self, pause_grace_s: float = PAUSE_GRACE_S) -> None:
        self.wake = asyncio.Event()
        """There is something for the driver to look at."""
        self.hurry = asyncio.Event()
        """What is in flight is not waited for any more."""
        self.given: RunInterrupted | None = None
        self.core: Core | None = None
        """The stretch that is under way: from an order on, nothing in it starts."""
        self._pause_grace_s = pause_grace_s

    @property
    def grace_s(self) -> float:
        """How long calls in flight may take to be recorded."""
        return CANCEL_GRACE_S if isinstance(self.given, RunCancelledError) else self._pause_grace_s

    @property
    def cancelled(self) -> Ending | None:
        """How the stretch ends if the run was cancelled."""
        given = self.given
        return Ending("cancelled", reason=str(given)) if isinstance(given, RunCancelledError) else None

    def cancel(self, reason: str = "") -> None:
        """End the run for good."""
        if isinstance(self.given, RunPausedError):  # what is in flight has less time now
            asyncio.get_running_loop().call_later(CANCEL_GRACE_S, self.hurry.set)
        self._give(RunCancelledError(reason or "cancelled"))

    def pause(self, reason: str = "paused", *, at_once: bool = False, grace_s: float | None = None) -> None:
        """Stop so that it can be resumed."""
        if at_once or grace_s == 0 or isinstance(self.given, RunPausedError):
            self.hurry.set()
        if grace_s is not None:
            self._pause_grace_s = grace_s
        if self.given is None:
            self._give(RunPausedError(reason))

    def _give(self, order: RunInterrupted) -> None:
        if self.given is None or isinstance(order, RunCancelledError):
            self.given = order
            if self.core is not None:
                self.core.stop = order
            self.wake.set()


CANCEL_LIMIT_S = 1.8
"""After this the run is ended, whatever still runs is cut off from the log."""


async def stop(core: Core, main: asyncio.Task[Any], orders: Orders, grace: float) -> Ending:
    """Nothing starts any more; calls in flight get a moment to be recorded; then all is ended."""
    began = time.monotonic()
    for effect in list(core.effects):
        if not effect.calling and effect.task is not None:
            effect.task.cancel()
    await _drain(core, orders.hurry, began + grace)
    await end_all(core, main, max(time.monotonic() + 0.3, began + CANCEL_LIMIT_S))
    if orders.cancelled is not None:
        return orders.cancelled
    if main.done() and not main.cancelled():
        return ending_of(main, core)
    return Ending("paused", reason=str(orders.given))


async def end_all(core: Core, main: asyncio.Task[Any], limit: float | None = None) -> None:
    """End the workflow and whatever it has under way."""
    limit = time.monotonic() + CANCEL_LIMIT_S if limit is None else limit
    if core.effects:
        await asyncio.sleep(0)  # one that was started just now has to begin before it can end
    effects = [effect.task for effect in core.effects if effect.task is not None]
    for task in effects:
        task.cancel()
    await _end_task(main, limit)
    if effects:
        await asyncio.wait(effects, timeout=max(0.0, limit - time.monotonic()))


async def _end_task(task: asyncio.Task[Any], limit: float) -> None:
    """Cancel a task until it gives in, or time is up."""
    while not task.done() and time.monotonic() < limit:
        task.cancel()
        await asyncio.wait([task], timeout=min(0.2, max(0.0, limit - time.monotonic())))


async def _drain(core: Core, hurried: asyncio.Event, until: float) -> None:
    """Wait until nothing is in flight, or there is no time for that any more."""
    hurry = asyncio.get_running_loop().create_task(hurried.wait())
    try:
        while not hurried.is_set():
            calling = [e.task for e in core.effects if e.calling and e.task is not None]
            left = until - time.monotonic()
            if not calling or left <= 0:
                return
            await asyncio.wait([*calling, hurry], timeout=left, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hurry.cancel()
