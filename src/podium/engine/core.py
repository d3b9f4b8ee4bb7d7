"""Shared state of one driven run: log, memo, budget, clock, slots and stop order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from podium.engine.branch import CURRENT, Branch, Deadline
from podium.engine.budget import NANO, USD, Budget, Ledger, Overruns, Scope
from podium.engine.codec import decode, encode
from podium.engine.events import (
    NOTHING,
    ArtifactCreated,
    BudgetExhausted,
    BudgetRaised,
    EventData,
    RunWaiting,
    RunWarned,
    StepCompleted,
)
from podium.engine.journal import Done, Journal, Memo
from podium.engine.owner_budget import OwnerBudget, SharedLimits
from podium.engine.pacing import RecordedClock, Slots, turns_of
from podium.errors import (
    OWNER,
    BudgetExhaustedError,
    ConcurrentBranchError,
    ReplayDivergedError,
    RunInterrupted,
    RunPausedError,
    StoreError,
)

if TYPE_CHECKING:
    from podium.engine.effect import CallAttempt, Effect


D = TypeVar("D", bound=EventData)

Delta = tuple[str, int, int, str]
"""Path, attempt, offset, text: a piece of a reply that is still being generated."""


class PersonAnswer(NamedTuple):
    """A person's answer, and the inbox message that contained it."""

    value: Any
    by: str = ""
    message: int = 0
    asked: int = 0
    """Sequence number of the question that is answered; 0 answers whichever question is open."""


class Asking(NamedTuple):
    """A question that waits for a person's answer."""

    seq: int
    """Its sequence number in the log."""
    future: asyncio.Future[PersonAnswer]

    def takes(self, answer: PersonAnswer) -> bool:
        return not self.future.done() and answer.asked in (0, self.seq)


class Core:
    """Shared state of a run during one stretch, the time from its start or resume until it stops."""

    def __init__(
        self,
        journal: Journal,
        memo: Memo,
        budget: Budget,
        *,
        closing: float = 0.0,
        concurrency: int = 0,
        replaying: bool = False,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.turns = turns_of(self._loop)
        self.journal = journal
        self.memo = memo
        self.budget = budget
        self.replaying = replaying
        """True in a replay: no step may run, each must be in the log."""
        self.clock = RecordedClock(memo.driven_s)
        self.root_scope = Scope("", budget, closing)
        self.ledger = Ledger()
        self.owner_budget: OwnerBudget | None = None
        """The run's share of its owner's budget; `None` if the owner has no limit."""
        self._restore_spending()
        self.closing_share = closing
        self.slots = Slots(concurrency) if concurrency else None
        self.effects: set[Effect] = set()
        """Steps under way."""
        self.exhausted: BudgetExhaustedError | None = None
        """Set when the run's own ceiling stopped a step; the run can then only end as partial."""
        self.stop: RunInterrupted | None = None
        """The stop order; once it is set, no step starts."""
        self.questions: dict[str, Asking] = {}
        """Futures of open questions, by path."""
        self.asked: dict[str, RunWaiting] = {}
        """The open questions, by path."""
        self.early_answers: dict[str, list[PersonAnswer]] = {}
        """Answers that arrived before their question, or without one, by path."""
        self.handled: list[int] = []
        """Ids of inbox messages that were processed and can be discarded."""
        self.divergence: ReplayDivergedError | None = None
        """The first divergence of a replay, kept even if the workflow caught the error."""
        self.broken: StoreError | None = None
        """The store error after which nothing can be logged."""
        self.wake_driver: Callable[[], None] = _nothing
        """Called when every branch waits, and when the log can no longer be written."""
        self.attempts: set[CallAttempt] = set()
        """Calls that are reserved, queued or in flight."""
        self.rehearsed = memo.rehearsed
        """A rehearsal model, which invents its replies, answered at least one call of the run."""
        self.saved = memo.saved
        """Cost that cached replies saved."""
        self.overruns = Overruns()
        self.warnings: list[str] = []
        self.notes = list(memo.notes)
        self.artifacts: dict[str, ArtifactCreated] = {}
        self.viewers: set[Callable[[Delta], None]] = set()
        self._spending_updated = time.monotonic()
        self._active = 1
        self._wakes: list[float] = []
        """Times at which sleeping branches wake up."""

    def root_branch(self, task: asyncio.Task[Any] | None) -> Branch:
        branch = Branch("", task, None, self.journal.redact)
        if self.root_scope.limited:
            branch.scopes = (self.root_scope,)
        if self.owner_budget is not None:
            branch.scopes += (self.owner_budget,)
        branch.depth_limit = self.budget.depth
        seconds = self.budget.seconds
        if seconds is not None:
            branch.deadline = [Deadline("", seconds, seconds, seconds * self.closing_share)]
        return branch

    # ── current branch, stop orders and the log ──

    def enter(self) -> Branch:
        """Return the current branch. Raises if the run is stopped or the caller is not the branch's own
        task."""
        if self.stop is not None:
            self.check()
        branch = CURRENT.get()
        if branch.task is not asyncio.current_task(self._loop):
            raise ConcurrentBranchError(branch.path)
        return branch

    def check(self) -> None:
        """Raise the stop order, if there is one."""
        if self.stop is not None:
            raise type(self.stop)(*self.stop.args)

    def emit(self, path: str, data: EventData) -> None:
        self.journal.append(path, data)

    def as_logged(self, data: D) -> D:
        """Return an event as a later reader decodes it: secrets redacted, lone surrogates replaced."""
        return msgspec.json.decode(self.journal.redact(encode(data)), type=type(data))

    def clean(self, text: str) -> str:
        """Apply the same redaction to text outside events."""
        return str(decode(self.journal.redact(encode(text))))

    async def committed(self) -> None:
        """Wait until all events so far are durable."""
        try:
            await self.journal.committed()
        except StoreError as error:
            raise self.broke(error) from None

    def broke(self, error: StoreError) -> StoreError:
        """Record that the log can no longer be written, and stop the run, so that no step starts whose
        outcome would be lost."""
        if self.broken is None:
            self.broken = error
            self.stop = self.stop or RunPausedError(error.message)
            self.wake_driver()
        return error

    def diverged(self, path: str, reason: str) -> ReplayDivergedError:
        """Return the error for a replay that needs something that the log does not hold, and keep the first
        one."""
        error = ReplayDivergedError(path, reason)
        self.divergence = self.divergence or error
        return error

    async def result_of(self, done: Done) -> bytes:
        """Return the recorded bytes of a finished step, from memory or from the store."""
        if done.result is not None:
            return done.result
        if done.blob:
            return await self.journal.store.get_blob(done.blob)
        rows = await self.journal.store.read(self.journal.lease.run_id, after=done.seq - 1, limit=1)
        return bytes(msgspec.json.decode(rows[0].data, type=StepCompleted).result)

    # ── budgets ──

    async def open_owner_budget(self, limits: SharedLimits) -> None:
        """Draw on the owner's budget, if the owner has a limit for all runs together."""
        lease, spent = self.journal.lease, self.root_scope.spent[USD]
        budget = OwnerBudget(limits, lease, spent, changed=self.ledger.pump, broke=self.broke)
        limit = await budget.open()
        if limit is None:
            return
        self.owner_budget = budget
        if self.budget.usd is None:
            self.budget = self.budget.merged(Budget(usd=limit / NANO))
            ceilings = list(self.root_scope.limit)
            ceilings[USD] = 2 * limit + 1  # the owner budget ends first
            self.root_scope.limit = tuple(ceilings)

    def remaining_time(self, branch: Branch, path: str) -> float | None:
        """Return the seconds until the nearest time budget of a branch is used up; raise if one is."""
        if not branch.deadline:
            return None
        now, nearest = self.clock.now(), None
        for deadline in branch.deadline:
            remaining = deadline.ends(closing=branch.closing) - now
            if remaining <= 0:
                raise self.ran_out(path, self.out_of_time(deadline))
            nearest = remaining if nearest is None else min(nearest, remaining)
        return nearest

    def out_of_time(self, deadline: Deadline) -> BudgetExhaustedError:
        used = deadline.limit - (deadline.at - self.clock.now())
        return BudgetExhaustedError("seconds", deadline.scope, deadline.limit, round(used, 3), 0)

    def nearest_deadline(self, branch: Branch) -> Deadline:
        return min(branch.deadline, key=lambda deadline: deadline.ends(closing=branch.closing))

    def ran_out(self, path: str, error: BudgetExhaustedError) -> BudgetExhaustedError:
        """Log an exhausted budget, and keep the error if the budget is the run's or its owner's."""
        if not self.replaying:
            self.emit(
                path,
                BudgetExhausted(
                    kind=error.kind,
                    scope=error.scope,
                    limit=error.limit,
                    spent=error.spent,
                    needed=error.needed,
                    kept=error.kept,
                ),
            )
        if error.scope in ("", OWNER):
            self.exhausted = error
        return error

    def raise_budget(self, wanted: Budget) -> None:
        """Raise the budget of a run under way. The time budget cannot change during a stretch."""
        more = self.budget.raised_to(wanted)
        if more == Budget() or self.journal.closed:
            return
        self.budget = self.budget.merged(more)
        self.root_scope.raise_to(self.budget, self.closing_share)
        self.emit("", BudgetRaised(budget=more.to_dict()))
        self.journal.update(budget=more)
        self.journal.commit()
        self.ledger.pump()  # queued reservations may fit now

    def note(self, message: str) -> None:
        """Log a warning of the engine, once per message."""
        message = self.clean(message)
        if message not in self.notes:
            self.notes.append(message)
            if not self.replaying and not self.journal.closed:
                self.emit("", RunWarned(message=message, engine=True))

    def note_rehearsal(self) -> None:
        """Mark the run as a rehearsal in lists and results."""
        if not self.rehearsed:
            self.rehearsed = True
            self.journal.update(rehearsal=True)

    def update_spending(self) -> None:
        """Update the spending in the run's summary, at most once a second."""
        now = time.monotonic()
        if now - self._spending_updated > 1.0 and not self.journal.closed:
            self._spending_updated = now
            self.journal.update(usage=self.ledger.spent, driven_s=self.clock.now())

    def open_scope(self, path: str, budget: Budget) -> Scope:
        scope = Scope(path, budget)
        spent = self.memo.spent_below(path)
        if spent != NOTHING:
            self.ledger.spend_before((scope,), spent)
        return scope

    def _restore_spending(self) -> None:
        for _, charge in self.memo.charges:
            self.ledger.spend((self.root_scope,), charge)
        self.ledger.spend_before((self.root_scope,), self.memo.forfeited.get("", NOTHING))

    # ── idle detection: an idle run only waits for people ───────────

    def split(self, branches: int) -> None:
        """Count the branches of a gather as active while their parent waits."""
        self._active += branches - 1

    def branch_ended(self) -> None:
        self._active -= 1
        self._look_idle()

    def joined(self) -> None:
        self._active += 1

    def rest(self, *, until: float | None = None) -> None:
        """Mark the current branch as waiting for a person, or as asleep until a time."""
        self._active -= 1
        if until is not None:
            self._wakes.append(until)
        if self._active == 0:
            self.clock.stop()
        self._look_idle()

    def wake(self, *, until: float | None = None) -> None:
        self._active += 1
        if until is not None:
            self._wakes.remove(until)
        self.clock.start()

    def _look_idle(self) -> None:
        if self.is_idle or self.asleep_until is not None:
            self.wake_driver()

    @property
    def asleep_until(self) -> float | None:
        """Time at which the first sleeping branch wakes up; `None` if a branch is active or none sleeps."""
        return min(self._wakes) if self._active == 0 and self._wakes else None

    @property
    def is_idle(self) -> bool:
        """Return whether the run can only continue after a person answers."""
        waiting = bool(self.questions) and not any(q.future.done() for q in self.questions.values())
        return waiting and self._active == 0 and not self._wakes

    # ── answers ──

    def answer(self, path: str, answer: PersonAnswer) -> None:
        """Pass an answer to the question that waits for it, or keep it until that question is asked. Drops an
        answer that comes too late or belongs to an earlier question."""
        asking = self.questions.get(path)
        if asking is None:
            self.early_answers.setdefault(path, []).append(answer)
        elif asking.takes(answer):
            asking.future.set_result(answer)
        else:
            self.handled.append(answer.message)
            self._look_idle()


def _nothing() -> None:
    return None
