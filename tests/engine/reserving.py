"""A reservation as a call gets it: asked for, and waited for if it does not fit yet."""

from __future__ import annotations

from podium.engine.budget import Ledger, Reservation, Scope
from podium.engine.events import Charge


async def reserved(ledger: Ledger, scopes: tuple[Scope, ...], worst: Charge) -> Reservation:
    wanted = ledger.reserve(scopes, worst, closing=False)
    await ledger.granted(wanted)
    return wanted
