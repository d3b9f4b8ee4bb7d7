"""One step while it runs: the effect in a task of its own, its calls, and how it enters the log.

The caller only waits for a future. If the caller is cancelled, the effect still finishes (or is
stopped by the driver, after a moment of grace), so a reply that was paid for is never lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from podium.engine.branch import Branch
from podium.engine.budget import Reservation
from podium.engine.codec import Raw, decode, encode
from podium.engine.core import Core
from podium.engine.events import (
    NOTHING,
    BudgetOverrun,
    BudgetSettled,
    Charge,
    ChargedData,
    EventData,
    StepCompleted,
    StepFailed,
)
from podium.errors import (
    FAILURES,
    BudgetExhaustedError,
    NotEncodableError,
    StepFailedError,
    StepTimeoutError,
    StoreError,
)

if TYPE_CHECKING:
    from podium.engine.run import Run

BLOB_BYTES = 32_768
"""Results above this size are stored as blobs."""

Read = Callable[[Any], Any]


class Raised(NamedTuple):
    """A failure on its way to the caller, where it is raised."""

    error: StepFailedError


class Effect:
    """A step under way; what its function may use."""

    __slots__ = (
        "_expired", "_fingerprint", "_read", "_timer",
        "branch", "calling", "charge", "core", "path", "run", "task", "waiter",
    )  # fmt: skip

    def __init__(self, run: Run, core: Core, branch: Branch, path: str, fingerprint: str, read: Read) -> None:
        self.run = run
        self.core = core
        self.branch = branch
        self.path = path
        """The step's key."""
        self.calling = True
        """It may be in the middle of something that is paid for; false while it only waits its turn."""
        self.charge = NOTHING
        """Spent by this step and not yet told by an event of its own."""
        self.task: asyncio.Task[None] | None = None
        self.waiter: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._fingerprint = fingerprint
        self._read = read
        self._timer: asyncio.TimerHandle | None = None
        self._expired: str = ""

    # ── for the function that runs ──

    def emit(self, data: EventData) -> None:
        """Log an event at the step's path."""
        self.core.journal.append(self.path, data)

    def attempt(self, worst: Charge) -> Attempt:
        """Around one call: `async with effect.attempt(worst) as attempt: …; attempt.settle(event)`."""
        return Attempt(self, worst)

    async def backoff(self, seconds: float) -> None:
        """Wait before another attempt. Holds no slot and no money, and ends when the run is stopped."""
        self.calling = False
        try:
            await asyncio.sleep(seconds)
            self.core.check()
        finally:
            self.calling = True

    # ── for the engine ──

    def start(
        self, work: Callable[[Effect], Awaitable[Any]], timeout: float | None, time_left: float | None
    ) -> None:
        loop = asyncio.get_running_loop()
        self.core.journal.store.live += 1
        self.core.effects.add(self)
        self.task = loop.create_task(self._run(work), name=self.path)
        if timeout is not None and (time_left is None or timeout < time_left):
            self._timer = loop.call_later(timeout, self._expire, "timeout")
        elif time_left is not None:
            self._timer = loop.call_later(time_left, self._expire, "budget")

    def _expire(self, why: str) -> None:
        self._expired = why
        if self.task is not None:
            self.task.cancel()

    async def _run(self, work: Callable[[Effect], Awaitable[Any]]) -> None:
        """Do the work and record what came of it. One coroutine: every layer costs each step."""
        try:
            try:
                value = await work(self)
                raw = self.core.journal.redact(encode(value))
                self._record(self._read(raw), "step.completed", encode(self._completed(raw)))
            except asyncio.CancelledError:
                self._stopped()
            except (BudgetExhaustedError, StoreError) as error:
                self._fail(error)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a step raises is its outcome
                self._record_failure(error)
        except Exception as error:  # noqa: BLE001 - a fault of ours: never leave the caller waiting
            self._fail(error)
        finally:
            self.core.journal.store.live -= 1
            self.core.effects.discard(self)
            if self._timer is not None:
                self._timer.cancel()

    def _completed(self, raw: bytes) -> StepCompleted:
        if len(raw) > BLOB_BYTES:
            blob = self.core.journal.put_blob(raw)
            return StepCompleted(fingerprint=self._fingerprint, blob=blob, charge=self.charge)
        return StepCompleted(fingerprint=self._fingerprint, result=Raw(raw), charge=self.charge)

    def _record_failure(self, error: Exception | SystemExit) -> None:
        journal = self.core.journal
        details: dict[str, Any] = {}
        if isinstance(error, StepFailedError):
            details = decode(journal.redact(encode(_loggable(error.details))))
            failure = type(error)(self.path, error.error_type, journal.cleaned(error.reason), **details)
        else:
            said = journal.cleaned(str(error) or type(error).__name__)
            failure = StepFailedError(self.path, type(error).__name__, said)
        failure.__cause__ = error
        data = StepFailed(
            fingerprint=self._fingerprint,
            kind=failure.kind,
            error_type=failure.error_type,
            error=failure.reason,
            details=details,
            charge=self.charge,
        )
        self._record(Raised(failure), "step.failed", journal.redact(encode(data)))

    def _stopped(self) -> None:
        if self._expired == "timeout":
            self._record_failure(StepTimeoutError(self.path, "TimeoutError", "the step's time-out passed"))
        elif self._expired == "budget":
            deadline = self.core.nearest_deadline(self.branch)
            self._fail(self.core.ran_out(self.path, self.core.out_of_time(deadline)))
        elif not self.waiter.done():
            self.waiter.cancel()

    def _record(self, outcome: Any, event_type: str, data: bytes) -> None:
        """Append a result; the caller gets it when it is durable."""
        try:
            self.core.journal.append_raw(self.path, event_type, data)
            durable = self.core.journal.commit(self.waiter, outcome)
        except StoreError as error:
            self._fail(error)
            return
        if durable is None and not self.waiter.done():
            self.waiter.set_result(outcome)

    def _fail(self, error: Exception) -> None:
        if not self.waiter.done():
            self.waiter.set_exception(error)


class Attempt:
    """One call: reserve its worst case, take a slot, call, settle, give the slot back."""

    __slots__ = ("_effect", "_held", "_reservation", "_worst")

    def __init__(self, effect: Effect, worst: Charge) -> None:
        self._effect = effect
        self._worst = worst
        self._reservation: Reservation | None = None
        self._held = False

    async def __aenter__(self) -> Self:
        effect, core = self._effect, self._effect.core
        core.check()
        effect.calling = False
        try:
            await self._reserve(core)
            if core.slots is not None:
                await core.slots.acquire()
                self._held = True
            core.check()
        except BudgetExhaustedError as error:
            raise core.ran_out(effect.path, error) from None
        except BaseException:
            self._settle(NOTHING)
            self._release()
            raise
        finally:
            effect.calling = True
        return self

    async def _reserve(self, core: Core) -> None:
        scopes = self._effect.branch.scopes
        self._reservation, grown = await core.ledger.reserve(scopes, self._worst, self._effect.branch.closing)
        if grown:
            core.lease_commit = core.journal.commit()
        pending = core.lease_commit
        if pending is not None and not pending.done():
            await asyncio.shield(pending)

    def settle(self, event: ChargedData) -> None:
        """Log what the call came to; its `charge` replaces the reservation."""
        self._settle(event.charge)
        self._effect.emit(event)

    def withdraw(self) -> None:
        """The call is not made after all: nothing is spent and nothing is told."""
        self._settle(NOTHING)

    def spend(self, charge: Charge) -> None:
        """Like `settle`, for a charge that the step's own last event will tell."""
        self._settle(charge)
        self._effect.charge += charge

    def _settle(self, charge: Charge) -> None:
        reservation, self._reservation = self._reservation, None
        if reservation is None:
            return
        core = self._effect.core
        if core.ledger.settle(reservation, charge):
            self._effect.emit(BudgetOverrun(reserved=self._worst, actual=charge))
        core.tell_spending()

    def _release(self) -> None:
        slots = self._effect.core.slots
        if self._held and slots is not None:
            self._held = False
            slots.release()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reservation is not None:
            self._settle(self._worst)
            if not self._effect.core.journal.closed:
                self._effect.emit(BudgetSettled(charge=self._worst, estimated=True))
        self._release()


def _loggable(details: dict[str, Any]) -> dict[str, Any]:
    """Details of a failure as they will be read back; what cannot be logged is described."""
    try:
        return decode(encode(details))
    except NotEncodableError:
        return {name: str(value) for name, value in details.items()}


def failure_from(path: str, record: StepFailed) -> StepFailedError:
    """The error that a recorded failure stands for."""
    cls = FAILURES.get(record.kind, StepFailedError)
    return cls(path, record.error_type, record.error, **record.details)
