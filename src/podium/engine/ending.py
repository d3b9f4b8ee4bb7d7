"""Stop orders, draining and the events that end a run."""

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
"""Prefix of the pause reason of a sleeping run."""


class Ending(msgspec.Struct):
    """The outcome of one stretch of a run."""

    status: str
    """`completed`, `partial`, `failed`, `cancelled`, `paused` or `waiting`."""
    reason: str = ""
    output: Any = None
    quality: float | None = None
    missing: list[str] = []
    error: Exception | None = None
    wake_at: float | None = None

    def fill(self, result: RunResult, core: Core) -> None:
        """Fill the result for the caller. The output is the redacted one of the log, not the returned
        object."""
        result.quality = self.quality
        result.wake_at = self.wake_at
        if self.error is not None:
            result.error = core.clean(_message(self.error))
            result.hint = core.clean(getattr(self.error, "hint", "") or where(self.error))
        if self.output is not None:
            result.output = decode(core.journal.redact(encode(self.output)))
        if self.status == "waiting":
            result.questions = dict(core.asked)

    def write(self, core: Core, result: RunResult) -> None:
        """Append the final event of the stretch and update the summary."""
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
                usage=usage,
                driven_s=driven,
                stop_reason=self.reason,
                output=output,
                blob=blob,
                quality=self.quality,
                missing=self.missing,
                error=result.error,
            )
        if self.status == "failed":
            return RunFailed(
                usage=usage,
                driven_s=driven,
                error=result.error,
                error_type=type(self.error).__name__,
                hint=result.hint,
                cause=causes_of(self.error),
                output=output,
                blob=blob,
            )
        if self.status == "cancelled":
            return RunCancelled(usage=usage, driven_s=driven, reason=self.reason)
        if self.status == "paused":
            return RunPaused(usage=usage, driven_s=driven, reason=self.reason)
        return None

    @staticmethod
    def not_written(result: RunResult, error: StoreError) -> None:
        """Report a run whose final event could not be logged as paused; everything committed before is
        safe."""
        if isinstance(error, FencedError):
            raise error
        result.status = "paused"
        result.stop_reason = _trouble(error)
        result.error, result.hint = error.message, error.hint


def ending_of(main: asyncio.Task[Any], core: Core) -> Ending:
    """Return the ending for a workflow task that has finished."""
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
    """Fail with the workflow's output. An output that cannot be encoded is dropped, so that it does not hide
    the error."""
    try:
        encode(error.output)
    except PodiumError:
        return Ending("failed", error=error)
    return Ending("failed", error=error, output=error.output)


def ending_of_broken(error: StoreError) -> Ending:
    """Pause the run because the log could not be written; a resume continues where the log ends."""
    if isinstance(error, FencedError):
        raise error
    return Ending("paused", reason=_trouble(error), error=error)


def overrun_warnings(core: Core) -> list[str]:
    """Return warnings about exceeded ceilings and about calls that cost more than their worst case."""
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
    """Pause a run that sleeps for a long time, so that no process has to wait."""
    moment = datetime.fromtimestamp(until, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Ending("paused", reason=f"{ASLEEP}{moment}", wake_at=until)


def cancelled_inside() -> PodiumError:
    """Return the error for a cancellation that the workflow's own code caused."""
    return PodiumError(
        "Something that the workflow waited for was cancelled.",
        hint="Catch asyncio.CancelledError where the workflow cancels something itself.",
    )


def _exhaustion_behind(error: BaseException) -> BudgetExhaustedError | None:
    """Return the exhausted budget behind an error: the error itself, one of its causes, or a member of its
    group."""
    for cause in _chain(error):
        if isinstance(cause, BudgetExhaustedError):
            return cause
        if isinstance(cause, BaseExceptionGroup):
            parts = cast("BaseExceptionGroup[BaseException]", cause).exceptions
            return next((exhausted for part in parts if (exhausted := _exhaustion_behind(part))), None)
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes; stops at a cycle."""
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
    """Return the error with the final spending, if that exceeds the ceiling."""
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


def _message(error: Exception) -> str:
    if isinstance(error, PodiumError):
        return str(error)
    return describe(error)


def where(error: BaseException) -> str:
    """Return the file, function and line of the user's code that raised an error; empty if there is none."""
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
    """Return the paths of the failed steps behind an error, which a resume runs again."""
    paths: dict[str, None] = {}
    todo, seen = [error], set[int]()
    while todo and len(paths) < MAX_CAUSES:
        current = todo.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, StepFailedError) and current.path:
            paths[current.path] = None
        todo += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            todo += list(cast("BaseExceptionGroup[BaseException]", current).exceptions)
    return list(paths)


CANCEL_GRACE_S = 0.5
"""Seconds that calls in flight have to finish after a cancel."""
PAUSE_GRACE_S = 10.0
"""Default seconds that calls in flight have to finish when a run is paused."""


class Orders:
    """Stop orders from outside. A cancel overrides a pause; a second pause stops at once."""

    def __init__(self, pause_grace_s: float = PAUSE_GRACE_S) -> None:
        self.wake = asyncio.Event()
        """Set when the driver has something to process."""
        self.hurry = asyncio.Event()
        """Set when calls in flight are no longer waited for."""
        self.given: RunInterrupted | None = None
        self.core: Core | None = None
        """The current stretch; after an order, no step starts in it."""
        self._pause_grace_s = pause_grace_s

    @property
    def grace_s(self) -> float:
        """Seconds that calls in flight have to finish."""
        return CANCEL_GRACE_S if isinstance(self.given, RunCancelledError) else self._pause_grace_s

    @property
    def cancelled(self) -> Ending | None:
        """The ending if the run was cancelled, else `None`."""
        orders = self.given
        return Ending("cancelled", reason=str(orders)) if isinstance(orders, RunCancelledError) else None

    def cancel(self, reason: str = "") -> None:
        """End the run permanently."""
        if isinstance(self.given, RunPausedError):  # shortens the grace period of the pause
            asyncio.get_running_loop().call_later(CANCEL_GRACE_S, self.hurry.set)
        self._give(RunCancelledError(reason or "cancelled"))

    def pause(self, reason: str = "paused", *, at_once: bool = False, grace_s: float | None = None) -> None:
        """Stop the run so that it can be resumed."""
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
"""Seconds after which a cancelled run is ended; steps that still run can no longer write to the log."""


async def stop(core: Core, main: asyncio.Task[Any], orders: Orders, grace: float) -> Ending:
    """Start no more steps, give calls in flight `grace` seconds to be recorded, then end everything."""
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
    """Cancel the workflow and its steps."""
    limit = time.monotonic() + CANCEL_LIMIT_S if limit is None else limit
    if core.effects:
        await asyncio.sleep(0)  # a task that was just created must start before it can be cancelled cleanly
    effects = [effect.task for effect in core.effects if effect.task is not None]
    for task in effects:
        task.cancel()
    await _end_task(main, limit)
    if effects:
        await asyncio.wait(effects, timeout=max(0.0, limit - time.monotonic()))


async def _end_task(task: asyncio.Task[Any], limit: float) -> None:
    """Cancel a task repeatedly until it ends or `limit` is reached."""
    while not task.done() and time.monotonic() < limit:
        task.cancel()
        await asyncio.wait([task], timeout=min(0.2, max(0.0, limit - time.monotonic())))


async def _drain(core: Core, hurried: asyncio.Event, until: float) -> None:
    """Wait until no call is in flight, `until` is reached or `hurried` is set."""
    hurry = asyncio.get_running_loop().create_task(hurried.wait())
    try:
        while not hurried.is_set():
            calling = [e.task for e in core.effects if e.calling and e.task is not None]
            remaining = until - time.monotonic()
            if not calling or remaining <= 0:
                return
            await asyncio.wait([*calling, hurry], timeout=remaining, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hurry.cancel()
