"""Ceilings, scopes, reservations, ledger.

A `Scope` is a place with a ceiling: the run itself, or a branch that was given a budget. A reservation
counts in every scope from its branch up to the run. It exists only around one call, so a parent that
waits for its children holds nothing and nothing can deadlock.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import Any

import msgspec

from podium.engine.events import NOTHING, Charge
from podium.errors import BudgetExhaustedError, UsageError, budget_amount, budget_name

KINDS = ("usd", "tokens", "calls")
"""What can be reserved, in the order in which amounts are kept."""
NANO = 1_000_000_000

Amount = tuple[int, int, int]
"""Nano-dollars, tokens, calls: integers, so that ten times a tenth is one."""

_ZERO: Amount = (0, 0, 0)


class Budget(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Ceilings for a run or a branch. What is `None` is not limited."""

    usd: float | None = None
    tokens: int | None = None
    """Input and output together."""
    calls: int | None = None
    """Requests that reach a provider, failed ones included."""
    seconds: float | None = None
    """Time that the run is driven; waiting for a person or sleeping does not count."""
    depth: int | None = None
    """How deep branches may be nested."""

    def __post_init__(self) -> None:
        for name in ("usd", "seconds", "tokens", "calls", "depth"):
            value: object = getattr(self, name)
            if value is None:
                continue
            whole = name in {"tokens", "calls", "depth"}
            kinds = int if whole else (int, float)
            if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= value < math.inf:
                number = "whole number" if whole else "number"
                raise UsageError(f"The budget {name} must be a {number} from 0 on, not {value!r}.")

    def merged(self, newer: Budget) -> Budget:
        """These ceilings, with those replaced that `newer` sets."""
        return Budget(
            usd=self.usd if newer.usd is None else newer.usd,
            tokens=self.tokens if newer.tokens is None else newer.tokens,
            calls=self.calls if newer.calls is None else newer.calls,
            seconds=self.seconds if newer.seconds is None else newer.seconds,
            depth=self.depth if newer.depth is None else newer.depth,
        )

    def raised_to(self, wanted: Budget) -> Budget:
        """Of the new totals, those of what can be reserved that are higher than these; what has no ceiling
        has nothing to raise."""
        found: dict[str, Any] = {}
        for kind in KINDS:
            now, new = getattr(self, kind), getattr(wanted, kind)
            if now is not None and new is not None and new > now:
                found[kind] = new
        return Budget(**found)

    def to_dict(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)


def amount_of(charge: Charge) -> Amount:
    return (round(charge.usd * NANO), charge.input_tokens + charge.output_tokens, charge.calls)


def _shown(kind: int, value: int) -> float:
    return value / NANO if kind == 0 else value


def _reserve(closing: float, limit: int | None) -> int:
    """At least one call of a few, but never the only one: what a run costs must be enough to run it."""
    if not closing or limit is None or limit < 2:
        return 0
    return max(1, math.floor(closing * limit))


class Scope:
    """One ceiling and what counts against it."""

    __slots__ = ("closing", "limit", "path", "reserved", "spent", "withheld")

    def __init__(self, path: str, budget: Budget, closing: float = 0.0) -> None:
        self.path = path
        usd = None if budget.usd is None else round(budget.usd * NANO)
        self.limit: tuple[int | None, int | None, int | None] = (usd, budget.tokens, budget.calls)
        self.withheld: list[int] = [_reserve(closing, limit) for limit in self.limit]
        """The closing reserve: only steps inside `run.closing()` draw on it."""
        self.spent = [0, 0, 0]
        self.reserved = [0, 0, 0]

    def raise_to(self, budget: Budget, closing: float) -> None:
        """New totals of what has a ceiling already."""
        usd = None if budget.usd is None else round(budget.usd * NANO)
        self.limit = (usd, budget.tokens, budget.calls)
        self.withheld = [_reserve(closing, limit) for limit in self.limit]

    @property
    def limited(self) -> bool:
        return self.limit != (None, None, None)

    def lacks(self, amount: Amount, closing: bool, *, counting_reserved: bool) -> int:
        """Which kind does not fit (its index), or -1. Without reservations: could it ever fit?"""
        for kind in (0, 1, 2):
            limit = self.limit[kind]
            if limit is None or amount[kind] == 0:
                continue
            room = limit - self.spent[kind] - (0 if closing else self.withheld[kind])
            if counting_reserved:
                room -= self.reserved[kind]
            if amount[kind] > room:
                return kind
        return -1

    @property
    def overrun(self) -> int:
        """Which kind's ceiling was passed (its index), or -1."""
        for kind in (0, 1, 2):
            limit = self.limit[kind]
            if limit is not None and self.spent[kind] > limit:
                return kind
        return -1

    def amount_spent(self, kind: str) -> float:
        """What was spent of a kind, in the unit that people use."""
        index = KINDS.index(kind)
        return _shown(index, self.spent[index])

    def passed(self) -> str:
        """Say that the ceiling was passed, and by how much."""
        kind = max(self.overrun, 0)
        where = budget_name(KINDS[kind], self.path)
        limit = _shown(kind, self.limit[kind] or 0)
        return (
            f"{where} was passed: {budget_amount(KINDS[kind], self.amount_spent(KINDS[kind]))} "
            f"of {budget_amount(KINDS[kind], limit)} spent"
        )

    def lacking(self, amount: Amount) -> None:
        """Somebody waits because this does not fit now."""

    def exhausted(self, kind: int, amount: Amount, closing: bool) -> BudgetExhaustedError:
        limit = self.limit[kind] or 0
        kept = 0 if closing else min(self.withheld[kind], limit - self.spent[kind])
        return BudgetExhaustedError(
            KINDS[kind],
            self.path,
            _shown(kind, limit),
            _shown(kind, self.spent[kind]),
            _shown(kind, amount[kind]),
            _shown(kind, max(kept, 0)),
        )


class Reservation:
    """What a call in flight may cost at most, until it is settled."""

    __slots__ = ("amount", "closing", "granted", "scopes")

    def __init__(self, scopes: tuple[Scope, ...], amount: Amount, closing: bool) -> None:
        self.scopes = scopes
        self.amount = amount
        self.closing = closing
        self.granted: asyncio.Future[None] | None = None


class Overruns:
    """Calls of one stretch that cost more than their worst case, and the ceilings that they passed."""

    def __init__(self) -> None:
        self.calls = 0
        self.passed: dict[str, Scope] = {}
        """By path."""

    def add(self, scopes: tuple[Scope, ...]) -> None:
        """Count one more such call and note which of its ceilings are passed now."""
        self.calls += 1
        self.passed |= {scope.path: scope for scope in scopes if scope.overrun >= 0}


class Ledger:
    """All reservations of one run: who may call now, who waits, who cannot be paid for any more."""

    def __init__(self) -> None:
        self.spent = NOTHING
        """Everything spent in the run, also what no ceiling counts."""
        self._waiting: deque[Reservation] = deque()

    def reserve(self, scopes: tuple[Scope, ...], worst: Charge, closing: bool) -> Reservation:
        """Ask for the worst case in every scope. What does not fit now has to be `granted` first."""
        wanted = Reservation(scopes, amount_of(worst), closing)
        for scope in scopes:
            kind = scope.lacks(wanted.amount, closing, counting_reserved=False)
            if kind >= 0:
                raise scope.exhausted(kind, wanted.amount, closing)
        if scopes and (self._waiting or not self._fits(wanted)):
            self._queue(wanted)
        else:
            self._take(wanted)
        return wanted

    def recheck(self, reservation: Reservation) -> None:
        """Raise if the reservation no longer fits, because another call cost more than its worst case
        while this one waited for a slot."""
        for scope in reservation.scopes:
            for kind in (0, 1, 2):
                limit = scope.limit[kind]
                if limit is None or not reservation.amount[kind]:
                    continue
                if scope.spent[kind] + scope.reserved[kind] > limit:
                    raise scope.exhausted(kind, reservation.amount, reservation.closing)

    def settle(self, reservation: Reservation, actual: Charge) -> bool:
        """Replace the reservation by what was spent. True if it was more than was reserved."""
        spent = amount_of(actual)
        for scope in reservation.scopes:
            for kind in (0, 1, 2):
                scope.reserved[kind] -= reservation.amount[kind]
                scope.spent[kind] += spent[kind]
        self.spent += actual
        if self._waiting:
            self.pump()
        usd, tokens, calls = reservation.amount
        return spent[0] > usd or spent[1] > tokens or spent[2] > calls

    def spend(self, scopes: tuple[Scope, ...], charge: Charge) -> None:
        """Count something that was spent without a reservation, or in an earlier life of the run."""
        self.spent += charge
        self.spend_before(scopes, charge)

    @staticmethod
    def spend_before(scopes: tuple[Scope, ...], charge: Charge) -> None:
        """Count against ceilings only: spending that the run's total already holds or never will."""
        spent = amount_of(charge)
        for scope in scopes:
            for kind in (0, 1, 2):
                scope.spent[kind] += spent[kind]

    def _queue(self, wanted: Reservation) -> None:
        wanted.granted = asyncio.get_running_loop().create_future()
        self._waiting.append(wanted)
        self.pump()

    async def granted(self, wanted: Reservation) -> None:
        """Wait until a reservation that did not fit fits in every scope."""
        future = wanted.granted
        if future is None:
            return
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.settle(wanted, NOTHING)
            elif wanted in self._waiting:
                self._waiting.remove(wanted)
                self.pump()
            raise

    def pump(self) -> None:
        """Let those in who fit, first come first served. Only a scope that is really full blocks the
        ones behind, so a tight branch does not hold up its neighbours."""
        full: set[int] = set()
        still: deque[Reservation] = deque()
        for wanted in self._waiting:
            future = wanted.granted
            if future is None or future.done():
                continue
            hopeless = self._hopeless(wanted)
            if hopeless is not None:
                future.set_exception(hopeless)
            elif not any(id(scope) in full for scope in wanted.scopes) and self._fits(wanted):
                self._take(wanted)
                future.set_result(None)
            else:
                lacking = [
                    s
                    for s in wanted.scopes
                    if s.lacks(wanted.amount, wanted.closing, counting_reserved=True) >= 0
                ]
                full.update(map(id, lacking))
                for scope in lacking:
                    scope.lacking(wanted.amount)
                still.append(wanted)
        self._waiting = still

    def _fits(self, wanted: Reservation) -> bool:
        return all(s.lacks(wanted.amount, wanted.closing, counting_reserved=True) < 0 for s in wanted.scopes)

    @staticmethod
    def _hopeless(wanted: Reservation) -> BudgetExhaustedError | None:
        for scope in wanted.scopes:
            kind = scope.lacks(wanted.amount, wanted.closing, counting_reserved=False)
            if kind >= 0:
                return scope.exhausted(kind, wanted.amount, wanted.closing)
        return None

    @staticmethod
    def _take(wanted: Reservation) -> None:
        for scope in wanted.scopes:
            for kind in (0, 1, 2):
                scope.reserved[kind] += wanted.amount[kind]


LARGEST = 2**63 - 1
"""The largest integer that a database column holds."""
MOST_TOKENS = 100_000_000
"""More tokens than any model reads or writes in one call."""
MOST_CALLS = 10_000
"""More requests than one call to a model can make."""
MOST_USD = 1_000_000.0
"""More US dollars than one call costs."""


def is_count(value: object, most: int) -> bool:
    """Return whether a value is a whole number from 0 to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def is_cost(value: object) -> bool:
    """Return whether a value is a finite amount of US dollars that one call can cost."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and 0 <= value <= MOST_USD


def problem_with(charge: Charge) -> str:
    """Return the first figure of a charge that cannot be true, as `name value`; empty if all can."""
    if not is_cost(charge.usd):
        return f"usd {charge.usd!r}"
    for name, most in (
        ("input_tokens", MOST_TOKENS),
        ("output_tokens", MOST_TOKENS),
        ("calls", MOST_CALLS),
        ("unpriced_calls", MOST_CALLS),
    ):
        value: object = getattr(charge, name)
        if not is_count(value, most):
            return f"{name} {value!r}"
    return ""
