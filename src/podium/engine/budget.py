"""Budgets, scopes, reservations and the ledger.

A `Scope` has a ceiling: the run itself, or a branch with a budget of its own. A reservation counts in every
scope from its branch up to the run. It exists only for the duration of one call, so a parent that waits for
its children holds none and cannot deadlock.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Mapping
from operator import attrgetter, gt, mul
from typing import Any

import msgspec

from podium.dimensions import DIMENSIONS, RESERVED, SETTABLE, Dimension
from podium.engine.events import NOTHING, Charge
from podium.errors import BudgetExhaustedError, UsageError, budget_name

KINDS = tuple(dimension.name for dimension in RESERVED)
"""Names of the dimensions that are reserved, in the order of `Amount`."""
USD = KINDS.index("usd")
NANO = DIMENSIONS["usd"].scale

Amount = tuple[int, ...]
"""An amount of each reserved dimension, in its scale: nano-dollars, tokens, calls."""
Limits = tuple[int | None, ...]
"""A ceiling for each reserved dimension; `None`: there is none."""

_INDEXES = range(len(KINDS))
_NO_LIMITS: Limits = (None,) * len(KINDS)
_scales = [dimension.scale for dimension in RESERVED]
_charged = attrgetter(*(dimension.charge for dimension in RESERVED))


def _is_limit(value: object, dimension: Dimension) -> bool:
    types = int if dimension.whole else (int, float)
    return isinstance(value, types) and not isinstance(value, bool) and 0 <= value < math.inf


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
        for name, dimension in DIMENSIONS.items():
            value: object = getattr(self, name)
            if value is not None and not _is_limit(value, dimension):
                number = "whole number" if dimension.whole else "number"
                raise UsageError(f"The budget {name} must be a {number} from 0 on, not {value!r}.")

    @classmethod
    def from_settings(cls, source: object) -> Budget:
        """Return the ceilings in the attributes of an object that are named like settings."""
        return cls(**{dimension.name: getattr(source, setting) for setting, dimension in SETTABLE.items()})

    @classmethod
    def shown(cls, logged: Mapping[str, Any]) -> Budget:
        """Return the ceilings of a log that this version knows. For display only: a run is never driven
        without one of its ceilings."""
        return cls(
            **{
                name: value
                for name, dimension in DIMENSIONS.items()
                if _is_limit(value := logged.get(name), dimension)
            }
        )

    def merged(self, newer: Budget) -> Budget:
        """Return these ceilings, replaced by those that `newer` sets."""
        return Budget(**{**self.to_dict(), **newer.to_dict()})

    def raised_to(self, wanted: Budget) -> Budget:
        """Return the ceilings of `wanted` that are higher than these, for quantities that can be reserved. A
        quantity without a ceiling cannot be raised."""
        raised: dict[str, Any] = {}
        for kind in KINDS:
            now, new = getattr(self, kind), getattr(wanted, kind)
            if now is not None and new is not None and new > now:
                raised[kind] = new
        return Budget(**raised)

    def affords(self, total: Charge) -> bool:
        """Return whether every ceiling allows a total charge."""
        limits = [getattr(self, kind) for kind in KINDS]
        return all(
            limit is None or value <= limit for limit, value in zip(limits, _charged(total), strict=True)
        )

    @property
    def limits_only_money(self) -> bool:
        """True if money is the only reserved dimension with a ceiling, which a model without a price cannot
        keep."""
        return [kind for kind in KINDS if getattr(self, kind) is not None] == ["usd"]

    def to_dict(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)


def amount_of(charge: Charge) -> Amount:
    return tuple(map(round, map(mul, _charged(charge), _scales)))


def _limits_of(budget: Budget) -> Limits:
    limits = [getattr(budget, kind) for kind in KINDS]
    return tuple(
        [
            None if limit is None else round(limit * scale)
            for limit, scale in zip(limits, _scales, strict=True)
        ]
    )


def only_usd(nano: int) -> Limits:
    """Return limits with a ceiling for money only."""
    return tuple(nano if kind == USD else None for kind in _INDEXES)


def _in_units(kind: int, value: int) -> float:
    return value if _scales[kind] == 1 else value / _scales[kind]


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
        self.limit = _limits_of(budget)
        self.withheld: list[int] = [_reserve(closing, limit) for limit in self.limit]
        """The closing reserve: only steps inside `run.closing()` may spend it."""
        self.spent = [0] * len(KINDS)
        self.reserved = [0] * len(KINDS)

    def raise_to(self, budget: Budget, closing: float) -> None:
        """Set new totals and recompute the closing reserve."""
        self.limit = _limits_of(budget)
        self.withheld = [_reserve(closing, limit) for limit in self.limit]

    @property
    def limited(self) -> bool:
        return self.limit != _NO_LIMITS

    def lacks(self, amount: Amount, closing: bool, *, counting_reserved: bool) -> int:
        """Return the index of the first kind that does not fit, or -1. Without `counting_reserved`: that
        cannot fit even after all reservations are settled."""
        for kind in _INDEXES:
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
        for kind in _INDEXES:
            limit = self.limit[kind]
            if limit is not None and self.spent[kind] > limit:
                return kind
        return -1

    def amount_spent(self, kind: str) -> float:
        """Return the spending of a kind in its display unit (US dollars, tokens or calls)."""
        index = KINDS.index(kind)
        return _in_units(index, self.spent[index])

    def passed(self) -> str:
        """Return a message that names the exceeded ceiling and the amount spent."""
        kind = max(self.overrun, 0)
        amount = RESERVED[kind].amount
        spent, limit = _in_units(kind, self.spent[kind]), _in_units(kind, self.limit[kind] or 0)
        where = budget_name(KINDS[kind], self.path)
        return f"{where} was passed: {amount(spent)} of {amount(limit)} spent"

    def lacking(self, amount: Amount) -> None:
        """Hook: a reservation waits because this amount does not fit now."""

    def exhausted(self, kind: int, amount: Amount, closing: bool) -> BudgetExhaustedError:
        limit = self.limit[kind] or 0
        withheld = 0 if closing else min(self.withheld[kind], limit - self.spent[kind])
        return BudgetExhaustedError(
            KINDS[kind],
            self.path,
            _in_units(kind, limit),
            _in_units(kind, self.spent[kind]),
            _in_units(kind, amount[kind]),
            _in_units(kind, max(withheld, 0)),
        )


class Reservation(msgspec.Struct, eq=False):
    """The worst-case cost of a call in flight, held until it is settled."""

    scopes: tuple[Scope, ...]
    amount: Amount
    closing: bool
    granted: asyncio.Future[None] | None = None


class Overruns:
    """Calls of one stretch that cost more than their worst case, and the ceilings that they exceeded."""

    def __init__(self) -> None:
        self.calls = 0
        self._scopes: dict[str, Scope] = {}
        """Ceilings of these calls, by path."""

    def add(self, scopes: tuple[Scope, ...]) -> None:
        """Count one more such call."""
        self.calls += 1
        self._scopes |= {scope.path: scope for scope in scopes}

    @property
    def passed(self) -> dict[str, Scope]:
        """Exceeded scopes, by path. A ceiling can be passed later than the call that is to blame settles:
        other calls were in flight with reservations of their own."""
        return {path: scope for path, scope in self._scopes.items() if scope.overrun >= 0}


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
        if not scopes:
            return wanted
        if (hopeless := self._hopeless(wanted)) is not None:
            raise hopeless
        if self._waiting or not self._fits(wanted):
            wanted.granted = asyncio.get_running_loop().create_future()
            self._waiting.append(wanted)
            self.pump()
        else:
            self._take(wanted)
        return wanted

    def recheck(self, reservation: Reservation) -> None:
        """Raise if the reservation no longer fits, because another call cost more than its worst case
        while this one waited for a slot."""
        for scope in reservation.scopes:
            for kind in _INDEXES:
                limit = scope.limit[kind]
                if limit is None or not reservation.amount[kind]:
                    continue
                if scope.spent[kind] + scope.reserved[kind] > limit:
                    raise scope.exhausted(kind, reservation.amount, reservation.closing)

    def settle(self, reservation: Reservation, actual: Charge) -> bool:
        """Replace the reservation by the actual cost. Return whether it exceeds the reservation."""
        spent = amount_of(actual)
        for scope in reservation.scopes:
            for kind in _INDEXES:
                scope.reserved[kind] -= reservation.amount[kind]
                scope.spent[kind] += spent[kind]
        self.spent += actual
        if self._waiting:
            self.pump()
        return any(map(gt, spent, reservation.amount))

    def spend(self, scopes: tuple[Scope, ...], charge: Charge) -> None:
        """Count a charge without a reservation, or one from before a resume."""
        self.spent += charge
        self.spend_before(scopes, charge)

    @staticmethod
    def spend_before(scopes: tuple[Scope, ...], charge: Charge) -> None:
        """Count a charge against ceilings only, not in the run's total."""
        spent = amount_of(charge)
        for scope in scopes:
            for kind in _INDEXES:
                scope.spent[kind] += spent[kind]

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
            for kind in _INDEXES:
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
