"""Budgets, scopes, reservations and the ledger.

A `Scope` has a ceiling: the run itself, or a branch with a budget of its own. A reservation counts in every
scope from its branch up to the run. It exists only for the duration of one call, so a parent that waits for
its children holds none and cannot deadlock.
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
"""Quantities that can be reserved, in the order of `Amount`."""
NANO = 1_000_000_000

Amount = tuple[int, int, int]
"""Nano-dollars, tokens, calls. Integers, so that sums are exact."""

_ZERO: Amount = (0, 0, 0)


class Budget(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Ceilings for a run or a branch. `None` means no limit."""

    usd: float | None = None
    tokens: int | None = None
    """Input and output tokens together."""
    calls: int | None = None
    """Requests that reach a provider, failed ones included."""
    seconds: float | None = None
    """Seconds that the run is driven; waiting for a person and sleeping do not count."""
    depth: int | None = None
    """Maximum nesting depth of branches."""

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
        """Return these ceilings, replaced by those that `newer` sets."""
        return Budget(
            usd=self.usd if newer.usd is None else newer.usd,
            tokens=self.tokens if newer.tokens is None else newer.tokens,
            calls=self.calls if newer.calls is None else newer.calls,
            seconds=self.seconds if newer.seconds is None else newer.seconds,
            depth=self.depth if newer.depth is None else newer.depth,
        )

    def raised_to(self, wanted: Budget) -> Budget:
        """Return the ceilings of `wanted` that are higher than these, for quantities that can be reserved. A
        quantity without a ceiling cannot be raised."""
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
    """Return the closing reserve: at least 1, but 0 for a limit below 2, so that a run with one call can make
    it."""
    if not closing or limit is None or limit < 2:
        return 0
    return max(1, math.floor(closing * limit))


class Scope:
    """One ceiling, and the reservations and spending that count against it."""

    __slots__ = ("closing", "limit", "path", "reserved", "spent", "withheld")

    def __init__(self, path: str, budget: Budget, closing: float = 0.0) -> None:
        self.path = path
        usd = None if budget.usd is None else round(budget.usd * NANO)
        self.limit: tuple[int | None, int | None, int | None] = (usd, budget.tokens, budget.calls)
        self.withheld: list[int] = [_reserve(closing, limit) for limit in self.limit]
        """The closing reserve: only steps inside `run.closing()` may spend it."""
        self.spent = [0, 0, 0]
        self.reserved = [0, 0, 0]

    def raise_to(self, budget: Budget, closing: float) -> None:
        """Set new totals and recompute the closing reserve."""
        usd = None if budget.usd is None else round(budget.usd * NANO)
        self.limit = (usd, budget.tokens, budget.calls)
        self.withheld = [_reserve(closing, limit) for limit in self.limit]

    @property
    def limited(self) -> bool:
        return self.limit != (None, None, None)

    def lacks(self, amount: Amount, closing: bool, *, counting_reserved: bool) -> int:
        """Return the index of the first kind that does not fit, or -1. Without `counting_reserved`: that
        cannot fit even after all reservations are settled."""
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
        """Index of the first kind whose ceiling was exceeded, or -1."""
        for kind in (0, 1, 2):
            limit = self.limit[kind]
            if limit is not None and self.spent[kind] > limit:
                return kind
        return -1

    def amount_spent(self, kind: str) -> float:
        """Return the spending of a kind in its display unit (US dollars, tokens or calls)."""
        index = KINDS.index(kind)
        return _shown(index, self.spent[index])

    def passed(self) -> str:
        """Return a message that names the exceeded ceiling and the amount spent."""
        kind = max(self.overrun, 0)
        where = budget_name(KINDS[kind], self.path)
        limit = _shown(kind, self.limit[kind] or 0)
        return (
            f"{where} was passed: {budget_amount(KINDS[kind], self.amount_spent(KINDS[kind]))} "
            f"of {budget_amount(KINDS[kind], limit)} spent"
        )

    def lacking(self, amount: Amount) -> None:
        """Hook: a reservation waits because this amount does not fit now."""

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
    """The worst-case cost of a call in flight, held until it is settled."""

    __slots__ = ("amount", "closing", "granted", "scopes")

    def __init__(self, scopes: tuple[Scope, ...], amount: Amount, closing: bool) -> None:
        self.scopes = scopes
        self.amount = amount
        self.closing = closing
        self.granted: asyncio.Future[None] | None = None


class Overruns:
    """Calls of one stretch that cost more than their worst case, and the ceilings that they exceeded."""

    def __init__(self) -> None:
        self.calls = 0
        self.passed: dict[str, Scope] = {}
        """Exceeded scopes, by path."""

    def add(self, scopes: tuple[Scope, ...]) -> None:
        """Count one more such call and record which of its ceilings are exceeded now."""
        self.calls += 1
        self.passed |= {scope.path: scope for scope in scopes if scope.overrun >= 0}


class Ledger:
    """All reservations of one run: grants them, queues them, or rejects them when the budget is exhausted."""

    def __init__(self) -> None:
        self.spent = NOTHING
        """Total spending of the run, including calls outside any ceiling."""
        self._waiting: deque[Reservation] = deque()

    def reserve(self, scopes: tuple[Scope, ...], worst: Charge, closing: bool) -> Reservation:
        """Reserve the worst case in every scope. Raises if it can never fit; if it does not fit now, await
        `granted`."""
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
        """Replace the reservation by the actual cost. Return whether it exceeds the reservation."""
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
        """Count a charge without a reservation, or one from before a resume."""
        self.spent += charge
        self.spend_before(scopes, charge)

    @staticmethod
    def spend_before(scopes: tuple[Scope, ...], charge: Charge) -> None:
        """Count a charge against ceilings only, not in the run's total."""
        spent = amount_of(charge)
        for scope in scopes:
            for kind in (0, 1, 2):
                scope.spent[kind] += spent[kind]

    def _queue(self, wanted: Reservation) -> None:
        wanted.granted = asyncio.get_running_loop().create_future()
        self._waiting.append(wanted)
        self.pump()

    async def granted(self, wanted: Reservation) -> None:
        """Wait until a queued reservation fits in every scope."""
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
        """Grant queued reservations in order (FIFO). A reservation that does not fit blocks only later ones
        that share a full scope, so a tight branch does not hold up its siblings."""
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
"""The largest integer of a database column."""
MOST_TOKENS = 100_000_000
"""Upper bound for the tokens of one call; larger figures are rejected."""
MOST_CALLS = 10_000
"""Upper bound for the requests of one model call."""
MOST_USD = 1_000_000.0
"""Upper bound for the cost of one call, in US dollars."""


def is_count(value: object, most: int) -> bool:
    """Return whether a value is a whole number from 0 to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def is_cost(value: object) -> bool:
    """Return whether a value is a finite amount of US dollars that one call can cost."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and 0 <= value <= MOST_USD


def problem_with(charge: Charge) -> str:
    """Return the first implausible figure of a charge as `name value`; empty if there is none."""
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
