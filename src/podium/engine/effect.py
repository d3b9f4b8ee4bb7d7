"""Execution of one step: its task, its calls and its entry in the log.

The caller only waits for a future. If the run is stopped, the effect still finishes (or the driver cancels it
after a grace period), so a reply that was paid for is never lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from podium.engine.branch import Branch
from podium.engine.budget import Reservation
from podium.engine.codec import Raw, decode, encode
from podium.engine.core import Core
from podium.engine.events import (
    NOTHING,
    BudgetOverrun,
    BudgetReserved,
    BudgetSettled,
    Charge,
    EventData,
    StepCompleted,
    StepFailed,
)
from podium.engine.failure import is_close, reason_of
from podium.errors import (
    FAILURES,
    BudgetExhaustedError,
    NotEncodableError,
    RunInterrupted,
    StepFailedError,
    StepTimeoutError,
    StoreError,
)

if TYPE_CHECKING:
    from podium.engine.run import Run


BLOB_BYTES = 32_768
"""Results above this size are stored as blobs."""

Read = Callable[[Any], Any]

_NULL = StepCompleted().result


class Raised(NamedTuple):
    """A failure that is passed to the caller and raised there."""

    error: StepFailedError


class DecodedResult(NamedTuple):
    """A result that is already decoded. It is decoded again only if redaction changed its bytes."""

    data: bytes
    value: Any


class Effect:
    """A step under way, passed to the step's function."""

    __slots__ = (
        "_expired",
        "_read",
        "_timer",
        "branch",
        "calling",
        "charge",
        "core",
        "cut",
        "fingerprint",
        "given_up",
        "holds_slot",
        "made_calls",
        "path",
        "run",
        "task",
        "waiter",
    )

    def __init__(self, run: Run, core: Core, branch: Branch, path: str, fingerprint: str, read: Read) -> None:
        self.run = run
        self.core = core
        self.branch = branch
        self.path = path
        """The step's path."""
        self.calling = True
        """A paid call may be in progress; false while the step waits for a slot, a reservation or a retry."""
        self.holds_slot = False
        """A call has ended, but its outcome is not durable yet. After a crash it would be made again, so it
        still occupies its concurrency slot."""
        self.made_calls = 0
        self.cut = False
        """The result ends where a model's reply was cut off."""
        self.charge = NOTHING
        """Spent by this step and not yet recorded by an event of its own."""
        self.task: asyncio.Task[None] | None = None
        self.waiter: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.fingerprint = fingerprint
        self._read = read
        self._timer: asyncio.TimerHandle | None = None
        self._expired: str = ""
        self.given_up = False
        """The workflow has stopped waiting for the step, which was cancelled for that."""

    # ── used by the step's function ──

    def emit(self, data: EventData) -> None:
        """Log an event at the step's path."""
        self.core.journal.append(self.path, data)

    def emit_clean(self, data: EventData) -> None:
        """Log an event whose text is already redacted."""
        self.core.journal.append_raw(self.path, data.type, encode(data))

    async def backoff(self, seconds: float) -> None:
        """Wait before a retry. Holds no slot and no reservation, and ends when the run is stopped."""
        if self.holds_slot:
            await self.free_slot()
        self.calling = False
        try:
            await asyncio.sleep(seconds)
            self.core.check()
        finally:
            self.calling = True

    # ── used by the engine ──

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

    async def free_slot(self) -> None:
        """Make the outcome of the last call durable, then release its slot. Only if the step holds one."""
        if (durable := self.core.journal.commit()) is not None:
            await asyncio.shield(durable)
        self.give_back()

    def give_back(self) -> None:
        """Release the slot."""
        if self.holds_slot and self.core.slots is not None:
            self.core.slots.give()
        self.holds_slot = False

    def give_up(self) -> None:
        """Cancel the step because the workflow stopped waiting for it (`asyncio.timeout`)."""
        self.given_up = True
        if self.task is not None:
            self.task.cancel()

    def _expire(self, why: str) -> None:
        self._expired = why
        if self.task is not None:
            self.task.cancel()

    async def _run(self, work: Callable[[Effect], Awaitable[Any]]) -> None:
        """Run the step's function and record the outcome. One coroutine, because each extra layer slows every
        step."""
        journal = self.core.journal
        try:
            try:
                value = await work(self)
                if type(value) is DecodedResult:
                    raw = journal.redact(value.data)
                    outcome = value.value if raw == value.data else self._read(raw)
                else:
                    raw = journal.redact(encode(value))
                    outcome = self._read(raw)
                blob = journal.put_blob(raw) if len(raw) > BLOB_BYTES else ""
                completed = StepCompleted(
                    fingerprint=self.fingerprint,
                    result=_NULL if blob else Raw(raw),
                    blob=blob,
                    charge=self.charge,
                    cut=self.cut,
                )
                self._record(outcome, "step.completed", encode(completed))
            except asyncio.CancelledError as error:
                self._stopped(error)
            except (BudgetExhaustedError, StoreError) as error:
                self._fail(error)
            except KeyboardInterrupt:  # ends the event loop, so the exception is never retrieved
                if self.task is not None:
                    self.task.add_done_callback(_retrieve_exception)
                raise
            except BaseException as error:  # any exception is the step's outcome
                if is_close(error, self.task):
                    raise
                self._record_failure(error)
        except Exception as error:  # noqa: BLE001 - a fault of ours: never leave the caller waiting
            self._fail(error)
        finally:
            journal.store.live -= 1
            self.core.effects.discard(self)
            if self.waiter.done():  # the caller is gone, or the outcome is durable already
                self.give_back()
            if self._timer is not None:
                self._timer.cancel()

    def _record_failure(self, error: BaseException) -> None:
        kind, name, message, details = "error", type(error).__name__, reason_of(error), dict[str, Any]()
        if isinstance(error, StepFailedError):
            kind, name, message, details = error.kind, error.error_type, error.reason, error.details
        data = self.core.as_logged(
            StepFailed(
                fingerprint=self.fingerprint,
                kind=kind,
                error_type=name,
                error=message or name,
                details=_loggable(details),
                charge=self.charge,
            )
        )
        failure = failure_from(self.path, data)
        failure.__cause__ = error
        self._record(Raised(failure), "step.failed", encode(data))

    def _stopped(self, error: asyncio.CancelledError) -> None:
        if self._expired == "timeout":
            self._record_failure(StepTimeoutError(self.path, "TimeoutError", "the step's time-out passed"))
        elif self._expired == "budget":
            deadline = self.core.nearest_deadline(self.branch)
            self._fail(self.core.ran_out(self.path, self.core.out_of_time(deadline)))
        elif self._failed_by(error):
            self._record_failure(error)
        elif not self.waiter.done():
            self.waiter.cancel()

    def _failed_by(self, error: asyncio.CancelledError) -> bool:
        """Return whether the cancellation came from the step's own function, rather than from a cancelled
        task or a stop order raised just before a call."""
        ordered = isinstance(error, RunInterrupted) and self.core.stop is not None
        return not ordered and self.task is not None and not self.task.cancelling()

    def _record(self, outcome: Any, event_type: str, data: bytes) -> None:
        """Append an outcome; the caller gets it when it is durable."""
        try:
            self.core.journal.append_raw(self.path, event_type, data)
            free = self.give_back if self.holds_slot else None
            durable = self.core.journal.commit(self.waiter, outcome, free)
        except StoreError as error:
            self._fail(error)
            return
        if durable is None and not self.waiter.done():
            self.waiter.set_result(outcome)

    def _fail(self, error: Exception) -> None:
        if not self.waiter.done():
            self.waiter.set_exception(error)


class CallAttempt(msgspec.Struct, eq=False):
    """One call: reserves its worst case, takes a slot, calls and settles. The slot is released when the
    step's outcome is durable, so that a crash repeats no more calls than may run at once.

        async with CallAttempt(effect, worst) as attempt:
            await attempt.begin()
            …
            attempt.settle(charge)
    """

    _effect: Effect
    _worst: Charge
    _takes_slot: bool = True
    """Calls of tools take no slot of the models."""
    _reservation: Reservation | None = None
    _held: bool = False
    _logged: bool = False
    """The reservation is in the log, so its outcome must be logged too."""

    async def __aenter__(self) -> Self:
        effect, core = self._effect, self._effect.core
        if core.stop is not None:
            core.check()
        if effect.holds_slot:
            await effect.free_slot()
        effect.calling = False
        core.attempts.add(self)
        try:
            branch, ledger = effect.branch, core.ledger
            reservation = ledger.reserve(branch.scopes, self._worst, branch.closing)
            if reservation.granted is not None:
                await ledger.granted(reservation)
            self._reservation = reservation
            if core.slots is not None and self._takes_slot:
                if (turn := core.slots.take()) is not None:
                    await core.slots.taken(turn)
                self._held = True
            if core.stop is not None:
                core.check()
            if core.overruns.calls and core.overruns.passed:
                ledger.recheck(reservation)
        except BudgetExhaustedError as error:
            self.settle(NOTHING)
            self._release()
            raise core.ran_out(effect.path, error) from None
        except BaseException:
            self.settle(NOTHING)
            self._release()
            raise
        finally:
            effect.calling = True
        return self

    async def begin(self) -> None:
        """Log that the call is about to be made. Under a ceiling the event is durable before the call, so
        that after a crash exactly the calls in flight are counted. It is also durable before a step's second
        call, together with the outcome of the first."""
        effect, core = self._effect, self._effect.core
        effect.emit(BudgetReserved(reserved=self._worst))
        self._logged = True
        effect.made_calls += 1
        if not effect.branch.scopes and effect.made_calls == 1:
            core.journal.store.hasten()
            return
        try:
            if (durable := core.journal.commit()) is not None:
                await asyncio.shield(durable)
                core.check()
        except BaseException:
            self.withdraw()
            raise

    def withdraw(self) -> None:
        """Cancel the reservation: the call is not made and costs nothing."""
        if self._logged and self._reservation is not None and not self._effect.core.journal.closed:
            self._effect.emit(BudgetSettled())
        self.settle(NOTHING)

    def spend(self, charge: Charge) -> None:
        """Settle with a charge that the step's final event will record."""
        self.settle(charge)
        self._effect.charge += charge

    def settle(self, charge: Charge) -> None:
        """Replace the reservation by the real charge. The caller logs an event with it."""
        reservation, self._reservation = self._reservation, None
        if reservation is None:
            return
        core = self._effect.core
        if core.ledger.settle(reservation, charge):
            core.overruns.add(reservation.scopes)
            self._effect.emit(BudgetOverrun(reserved=self._worst, actual=charge))
        core.update_spending()

    def _release(self) -> None:
        self._effect.core.attempts.discard(self)
        slots = self._effect.core.slots
        if self._held and slots is not None:
            self._held = False
            slots.give()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reservation is not None:
            self.cut_off()
        if self._held and self._logged and (error is None or isinstance(error, Exception)):
            self._held, self._effect.holds_slot = False, True
        self._release()

    def cut_off(self) -> None:
        """Settle a call whose outcome is unknown with its worst case."""
        if self._reservation is not None and not self._effect.core.journal.closed:
            self._effect.emit(BudgetSettled(charge=self._worst, estimated=True))
        self.settle(self._worst)


def _retrieve_exception(task: asyncio.Task[None]) -> None:
    """Retrieve the exception of a task, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


def _loggable(details: dict[str, Any]) -> dict[str, Any]:
    """Return failure details as they will be decoded; values that cannot be encoded become text."""
    try:
        return decode(encode(details))
    except NotEncodableError:
        return {name: str(value) for name, value in details.items()}


def failure_from(path: str, record: StepFailed) -> StepFailedError:
    """Return the exception for a recorded failure."""
    cls = FAILURES.get(record.kind, StepFailedError)
    return cls(path, record.error_type, record.error, **record.details)
