"""One step while it runs: the effect in a task of its own, its calls, and how it enters the log.

The caller only waits for a future. If the run is stopped, the effect still finishes (or is stopped by the
driver, after a moment of grace), so a reply that was paid for is never lost.
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
    BudgetReserved,
    BudgetSettled,
    Charge,
    ChargedData,
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


class Raised(NamedTuple):
    """A failure on its way to the caller, where it is raised."""

    error: StepFailedError


class DecodedResult(NamedTuple):
    """A result that was read already: it is not read again if nothing in it has to be redacted."""

    data: bytes
    value: Any


class Effect:
    """A step under way; what its function may use."""

    __slots__ = (
        "_expired", "_fingerprint", "_read", "_timer",
        "branch", "calling", "charge", "core", "cut", "holds_slot", "made_calls", "path", "run", "task",
        "waiter",
    )  # fmt: skip

    def __init__(self, run: Run, core: Core, branch: Branch, path: str, fingerprint: str, read: Read) -> None:
        self.run = run
        self.core = core
        self.branch = branch
        self.path = path
        """The step's key."""
        self.calling = True
        """It may be in the middle of something that is paid for; false while it only waits its turn."""
        self.holds_slot = False
        """A call has ended and what came of it is not durable yet: a crash would make it again, so it still
        counts as one of those that may be under way."""
        self.made_calls = 0
        self.cut = False
        """Its result ends where a reply was cut off."""
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

    def emit_clean(self, data: EventData) -> None:
        """The same for an event all of whose text was redacted already."""
        self.core.journal.append_raw(self.path, data.type, encode(data))

    def progress(self) -> list[EventData]:
        """What earlier lives of the run have paid for in this step, in order; it can be asked once."""
        return self.core.memo.progress_of(self.path, self._fingerprint)

    def attempt(self, worst: Charge) -> CallAttempt:
        """Around one call: `async with effect.attempt(worst) as attempt: await attempt.begin(); …;
        attempt.settle(event)`."""
        return CallAttempt(self, worst)

    async def backoff(self, seconds: float) -> None:
        """Wait before another attempt. Holds no slot and no money, and ends when the run is stopped."""
        await self.free_slot()
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

    async def free_slot(self) -> None:
        """Make the outcome of the last call durable, then let another call take its slot."""
        if self.holds_slot:
            if (durable := self.core.journal.commit()) is not None:
                await asyncio.shield(durable)
            self.give_back()

    def give_back(self) -> None:
        """Another call may take the slot."""
        if self.holds_slot and self.core.slots is not None:
            self.core.slots.give()
        self.holds_slot = False

    def give_up(self) -> None:
        """The workflow itself waits no longer (`asyncio.timeout`), so nobody would read the outcome."""
        if self.task is not None:
            self.task.cancel()

    def _expire(self, why: str) -> None:
        self._expired = why
        if self.task is not None:
            self.task.cancel()

    async def _run(self, work: Callable[[Effect], Awaitable[Any]]) -> None:
        """Do the work and record what came of it. One coroutine: every layer costs each step."""
        try:
            try:
                value = await work(self)
                if type(value) is DecodedResult:
                    raw = self.core.journal.redact(value.data)
                    outcome = value.value if raw == value.data else self._read(raw)
                else:
                    raw = self.core.journal.redact(encode(value))
                    outcome = self._read(raw)
                self._record(outcome, "step.completed", encode(self._completed(raw)))
            except asyncio.CancelledError as error:
                self._stopped(error)
            except (BudgetExhaustedError, StoreError) as error:
                self._fail(error)
            except KeyboardInterrupt:  # it ends the event loop itself, so nobody comes to ask this task
                if self.task is not None:
                    self.task.add_done_callback(_looked_at)
                raise
            except BaseException as error:  # whatever a step raises is its outcome
                if is_close(error, self.task):
                    raise
                self._record_failure(error)
        except Exception as error:  # noqa: BLE001 - a fault of ours: never leave the caller waiting
            self._fail(error)
        finally:
            self.core.journal.store.live -= 1
            self.core.effects.discard(self)
            if self.waiter.done():  # nobody waits for the outcome, or it is durable already
                self.give_back()
            if self._timer is not None:
                self._timer.cancel()

    def _completed(self, raw: bytes) -> StepCompleted:
        if len(raw) > BLOB_BYTES:
            blob = self.core.journal.put_blob(raw)
            return StepCompleted(fingerprint=self._fingerprint, blob=blob, charge=self.charge, cut=self.cut)
        return StepCompleted(fingerprint=self._fingerprint, result=Raw(raw), charge=self.charge, cut=self.cut)

    def _record_failure(self, error: BaseException) -> None:
        kind, name, said, details = "error", type(error).__name__, reason_of(error), dict[str, Any]()
        if isinstance(error, StepFailedError):
            kind, name, said, details = error.kind, error.error_type, error.reason, error.details
        data = self.core.as_logged(
            StepFailed(
                fingerprint=self._fingerprint,
                kind=kind,
                error_type=name,
                error=said or name,
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
        """It came out of the step's own function: nobody stopped the step, and the run is not being stopped
        (an order that is found just before a call is nothing that came of the step)."""
        ordered = isinstance(error, RunInterrupted) and self.core.stop is not None
        return not ordered and self.task is not None and not self.task.cancelling()

    def _record(self, outcome: Any, event_type: str, data: bytes) -> None:
        """Append a result; the caller gets it when it is durable."""
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


class CallAttempt:
    """One call: reserve its worst case, take a slot, call, settle. The slot is given back when the step's
    outcome is durable, so that a crash repeats no more calls than may be under way at once."""

    __slots__ = ("_effect", "_held", "_logged", "_reservation", "_worst")

    def __init__(self, effect: Effect, worst: Charge) -> None:
        self._effect = effect
        self._worst = worst
        self._reservation: Reservation | None = None
        self._held = False
        self._logged = False
        """The log knows of the call, so it must be told what came of it."""

    async def __aenter__(self) -> Self:
        effect, core = self._effect, self._effect.core
        core.check()
        await effect.free_slot()
        effect.calling = False
        core.attempts.add(self)
        try:
            branch, ledger = effect.branch, core.ledger
            reservation = ledger.reserve(branch.scopes, self._worst, branch.closing)
            if reservation.granted is not None:
                await ledger.granted(reservation)
            self._reservation = reservation
            if core.slots is not None:
                if (turn := core.slots.take()) is not None:
                    await core.slots.taken(turn)
                self._held = True
            core.check()
            if core.overruns.passed:
                ledger.recheck(reservation)
        except BudgetExhaustedError as error:
            self._settle(NOTHING)
            self._release()
            raise core.ran_out(effect.path, error) from None
        except BaseException:
            self._settle(NOTHING)
            self._release()
            raise
        finally:
            effect.calling = True
        return self

    async def begin(self) -> None:
        """Log that the call is made now. Under a ceiling this is durable before the call, so that after a
        crash each call that was under way is counted, and no other. It is also durable before a step's second
        call, with what came of the first."""
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

    def settle(self, event: ChargedData, *, log: bool = True) -> None:
        """Log what the call came to; its `charge` replaces the reservation. Without `log` the caller emits
        the event itself."""
        self._settle(event.charge)
        if log:
            self._effect.emit(event)

    def withdraw(self) -> None:
        """The call is not made after all: nothing is spent."""
        if self._logged and self._reservation is not None and not self._effect.core.journal.closed:
            self._effect.emit(BudgetSettled())
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
            core.overruns.add(reservation.scopes)
            self._effect.emit(BudgetOverrun(reserved=self._worst, actual=charge))
        core.tell_spending()

    def _release(self) -> None:
        self._effect.core.attempts.discard(self)
        slots = self._effect.core.slots
        if self._held and slots is not None:
            self._held = False
            slots.give()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut_off()
        if self._held and self._logged and (error is None or isinstance(error, Exception)):
            self._held, self._effect.holds_slot = False, True
        self._release()

    def cut_off(self) -> None:
        """A call whose end nobody told, or will wait for: all that it may have cost counts."""
        if self._reservation is not None and not self._effect.core.journal.closed:
            self._effect.emit(BudgetSettled(charge=self._worst, estimated=True))
        self._settle(self._worst)


def _looked_at(task: asyncio.Task[None]) -> None:
    """What a task raised is known elsewhere."""
    if not task.cancelled():
        task.exception()


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
