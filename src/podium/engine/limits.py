"""Limits that processes on many machines keep together, because they share one store.

Two things are lent in small parts, so that nobody has to ask for each call: time on a provider's pace, and
money of the owner of runs. What is lent counts as used until it is given back.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from podium.engine.log import Lease


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What an owner of runs may have, and what of it is taken."""

    usd: float | None = None
    """What all runs together may cost; `None`: no limit."""
    taken_usd: float = 0.0
    """Spent, or lent to runs that are driven or whose driver died."""


class Drawn(NamedTuple):
    """The answer to a wish for money, in nano-dollars."""

    granted: int
    """What may be spent beyond what was told; 0: not enough is free."""
    most: int
    """The most that could still be had, if everybody gave back what they have not spent."""
    limit: int | None
    """What all runs of the owner may cost together; `None`: whatever they like."""


class Limits(Protocol):
    """The half of a shared store that keeps limits."""

    async def lend_pace(self, name: str, span_s: float, burst_s: float) -> float:
        """Take the next `span_s` seconds of a pace, after those that others have. Returns in how many seconds
        they begin; negative, at most by `burst_s`: they have begun. A negative span gives back."""
        ...

    async def hold_pace(self, name: str, seconds: float) -> None:
        """Nobody gets a part of this pace that begins earlier."""
        ...

    async def set_account(self, owner: str, usd: float | None) -> Account:
        """Say what all runs of an owner, the past ones included, may cost; `None`: whatever they like."""
        ...

    async def draw(self, lease: Lease, spent: int, held: int, need: int, want: int) -> Drawn:
        """Ask for money for a run that has spent so much so far, and may spend `held` by calls in flight.
        What it was lent beyond these is given back; then it gets between `need` and `want`, or nothing.
        `want` 0 only gives back. Money that nobody limits is granted as wanted. Durable when this
        returns."""
        ...

    def settle(self, lease: Lease, spent: int) -> None:
        """The run is left in order and has spent so much. Queued, and durable with the release of the run."""
        ...
