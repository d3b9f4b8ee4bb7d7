"""The guards of a process: runs that share a provider share its limits. Where the store is shared by many
machines, so is the pace."""

from __future__ import annotations

import time
from hashlib import sha256
from weakref import WeakKeyDictionary

from podium.engine.limits import Limits
from podium.models.guard import Guard
from podium.models.share import FleetPace

Key = tuple[str, str, int | None, int | None]


class Guards:
    """By provider, address and limits."""

    def __init__(self) -> None:
        self._alone: dict[Key, Guard] = {}
        self._shared: WeakKeyDictionary[Limits, dict[Key, Guard]] = WeakKeyDictionary()

    def of(
        self,
        provider: str,
        address: str,
        requests: int | None,
        tokens: int | None,
        limits: Limits | None = None,
    ) -> Guard:
        """`limits` is where a fleet keeps its pace; `None`: this process is alone. Without any limit there is
        nothing to keep together."""
        key = (provider, address, requests, tokens)
        if limits is None or not (requests or tokens):
            if key not in self._alone:
                self._alone[key] = Guard(provider, requests, tokens)
            return self._alone[key]
        known = self._shared.setdefault(limits, {})
        if key not in known:
            place = sha256(address.encode()).hexdigest()[:16]  # an address may hold a password
            pace = FleetPace(limits, f"{provider} {place}", requests, tokens, time.monotonic)
            known[key] = Guard(provider, pace=pace)
        return known[key]


GUARDS = Guards()
"""Shared by everything in this process."""
