"""What all parts of one driven run share: log, memo, budget, clock, slots, and the order to stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from podium.engine.branch import CURRENT, Branch, Deadline
from podium.engine.budget import NANO, Budget, Ledger, Overruns, Scope
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
    """What a person said, and which inbox message brought it."""

    value: Any
    by: str = ""
    message: int = 0
    asked: int = 0
    """Where in the log the question stands that is answered; 0: whichever is open."""


class Asking(NamedTuple):
    """A question that waits for a person."""

    seq: int
    """Where in the log it stands."""
    future: asyncio.Future[PersonAnswer]

    def takes(self, answer: PersonAnswer) -> bool:
        return not self.future.done() and answer.asked in (0, self.seq)


class Core:
    """The shared state of one driven stretch of a run."""

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
        """Nothing may run: every step must be in the log."""
        self.clock = RecordedClock(memo.driven_s)
        self.root_scope = Scope("", budget, closing)
        self.ledger = Ledger()
        self.purse: OwnerBudget | None = None
        """What the run draws from its owner's account; `None`: nothing limits the owner."""
        self._restore_spending()
        self.closing_share = closing
        self.slots = Slots(concurrency) if concurrency else None
        self.effects: set[Effect] = set()
        """What is under way now."""
        self.exhausted: BudgetExhaustedError | None = None
        """Set when the run's own ceiling stopped something: it can only end as partial."""
        self.stop: RunInterrupted | None = None
        """Set when nothing may start any more."""
        self.questions: dict[str, Asking] = {}
        """Who waits for a person, by path."""
        self.asked: dict[str, RunWaiting] = {}
        """What they want to know."""
        self.early_answers: dict[str, list[PersonAnswer]] = {}
        """Answers that came before (or without) their question."""
        self.handled: list[int] = []
        """Inbox messages that were dealt with."""
        self.divergence: ReplayDivergedError | None = None
        """Where a replay first met something that the log does not hold, whoever swallowed the error."""
        self.broken: StoreError | None = None
        """Why nothing more can be logged."""
        self.wake_driver: Callable[[], None] = _nothing
        """Called when every branch waits for a person, and when the log takes no more."""
        self.attempts: set[CallAttempt] = set()
        """Calls that are reserved, waiting or on the wire now."""
        self.rehearsed = memo.rehearsed
        """Something in the run was answered by a model that makes its answers up."""
        self.saved = memo.saved
        """What the run did not have to spend, because a cache held the answer."""
        self.overruns = Overruns()
        self.warnings: list[str] = []
        self.notes = list(memo.notes)
        self.artifacts: dict[str, ArtifactCreated] = {}
        self.viewers: set[Callable[[Delta], None]] = set()
        self._told_spending = time.monotonic()
        self._active = 1
        self._wakes: list[float] = []
        """When those wake up who sleep."""

    def root_branch(self, task: asyncio.Task[Any] | None) -> Branch:
        branch = Branch("", task, None, self.journal.redact)
        if self.root_scope.limited:
            branch.scopes = (self.root_scope,)
        if self.purse is not None:
            branch.scopes += (self.purse,)
        branch.depth_limit = self.budget.depth
        seconds = self.budget.seconds
        if seconds is not None:
            branch.deadline = [Deadline("", seconds, seconds, seconds * self.closing_share)]
        return branch

    # ── where are we, and may we go on ──

    def enter(self) -> Branch:
        """The current branch, if the caller may use it now."""
        if self.stop is not None:
            self.check()
        branch = CURRENT.get()
        if branch.task is not asyncio.current_task(self._loop):
            raise ConcurrentBranchError(branch.path)
        return branch

    def check(self) -> None:
        """Raise the order to stop, if there is one."""
        if self.stop is not None:
            raise type(self.stop)(*self.stop.args)

    def emit(self, path: str, data: EventData) -> None:
        self.journal.append(path, data)

    def as_logged(self, data: D) -> D:
        """An event as a later reader will see it: without keys, without lone surrogates."""
        return msgspec.json.decode(self.journal.redact(encode(data)), type=type(data))

    def clean(self, text: str) -> str:
        """The same for a text that stands in no event of its own."""
        return str(decode(self.journal.redact(encode(text))))

    async def committed(self) -> None:
        """Wait until everything so far is durable."""
        try:
            await self.journal.committed()
        except StoreError as error:
            raise self.broke(error) from None

    def broke(self, error: StoreError) -> StoreError:
        """The log takes no more: nothing may start whose outcome would be lost."""
        if self.broken is None:
            self.broken = error
            self.stop = self.stop or RunPausedError(error.message)
            self.wake_driver()
        return error

    def diverged(self, path: str, reason: str) -> ReplayDivergedError:
        """A replay asked for something that the log does not hold."""
        error = ReplayDivergedError(path, reason)
        self.divergence = self.divergence or error
        return error

    async def result_of(self, done: Done) -> bytes:
        """The recorded bytes of a finished step, from memory or from the store."""
        if done.result is not None:
            return done.result
        if done.blob:
            return await self.journal.store.get_blob(done.blob)
        rows = await self.journal.store.read(self.journal.lease.run_id, after=done.seq - 1, limit=1)
        return bytes(msgspec.json.decode(rows[0].data, type=StepCompleted).result)

    # ── budgets ──

    async def open_purse(self, limits: SharedLimits) -> None:
        """Where the run's owner has a limit for all runs together, this one draws on it."""
        lease, spent = self.journal.lease, self.root_scope.spent[0]
        purse = OwnerBudget(limits, lease, spent, changed=self.ledger.pump, broke=self.broke)
        limit = await purse.open()
        if limit is None:
            return
        self.purse = purse
        if self.budget.usd is None:
            self.budget = self.budget.merged(Budget(usd=limit / NANO))
            self.root_scope.limit = (2 * limit + 1, *self.root_scope.limit[1:])  # the purse ends first

    def remaining_time(self, branch: Branch, path: str) -> float | None:
        """Seconds until the nearest time budget of a branch is used up; raises when one is."""
        if not branch.deadline:
            return None
        now, nearest = self.clock.now(), None
        for deadline in branch.deadline:
            left = deadline.ends(closing=branch.closing) - now
            if left <= 0:
                raise self.ran_out(path, self.out_of_time(deadline))
            nearest = left if nearest is None else min(nearest, left)
        return nearest

    def out_of_time(self, deadline: Deadline) -> BudgetExhaustedError:
        used = deadline.limit - (deadline.at - self.clock.now())
        return BudgetExhaustedError("seconds", deadline.scope, deadline.limit, round(used, 3), 0)

    def nearest_deadline(self, branch: Branch) -> Deadline:
        return min(branch.deadline, key=lambda deadline: deadline.ends(closing=branch.closing))

    def ran_out(self, path: str, error: BudgetExhaustedError) -> BudgetExhaustedError:
        """Log an exhausted budget, and remember it if it is the run's own."""
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
        """Let a run that is under way spend more. Its time is another matter: that is fixed for a stretch."""
        more = self.budget.raised_to(wanted)
        if more == Budget() or self.journal.closed:
            return
        self.budget = self.budget.merged(more)
        self.root_scope.raise_to(self.budget, self.closing_share)
        self.emit("", BudgetRaised(budget=more.to_dict()))
        self.journal.update(budget=more)
        self.journal.commit()
        self.ledger.pump()  # those who waited may fit now

    def note(self, message: str) -> None:
        """Warn of something that the workflow does not know; once."""
        message = self.clean(message)
        if message not in self.notes:
            self.notes.append(message)
            if not self.replaying and not self.journal.closed:
                self.emit("", RunWarned(message=message, engine=True))

    def note_rehearsal(self) -> None:
        """From now on every list and result says that this run is a rehearsal."""
        if not self.rehearsed:
            self.rehearsed = True
            self.journal.update(rehearsal=True)

    def tell_spending(self) -> None:
        """Keep the spending that lists show fresh, at most once a second."""
        now = time.monotonic()
        if now - self._told_spending > 1.0 and not self.journal.closed:
            self._told_spending = now
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

    # ── who is busy: an idle run is one that only waits for people ──

    def split(self, branches: int) -> None:
        """A branch waits for this many others from now on."""
        self._active += branches - 1

    def branch_ended(self) -> None:
        self._active -= 1
        self._look_idle()

    def joined(self) -> None:
        self._active += 1

    def rest(self, *, until: float | None = None) -> None:
        """The current branch waits for a person, or for a moment."""
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
        """When the first of those wakes up who sleep; `None`: somebody is busy, or nobody sleeps."""
        return min(self._wakes) if self._active == 0 and self._wakes else None

    @property
    def is_idle(self) -> bool:
        """Nothing is left to do before a person answers."""
        waiting = bool(self.questions) and not any(q.future.done() for q in self.questions.values())
        return waiting and self._active == 0 and not self._wakes

    # ── answers ──

    def answer(self, path: str, answer: PersonAnswer) -> None:
        """Hand an answer to the question that waits for it, or keep it until that question is asked.
        One that comes too late, or that was meant for an earlier question, is dropped."""
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
