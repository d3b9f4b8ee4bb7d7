"""What a fleet wants of a store beyond what one machine needs."""

from __future__ import annotations

from typing import Any, Protocol, cast

from podium.engine.log import RunRow, Store
from podium.errors import UsageError
from podium.stores import is_postgres


class SharedStore(Store, Protocol):
    """A store that many machines use."""

    async def list_unattended(
        self, stop_reason: str, *, limit: int, owner: str | None = None, after: str = ""
    ) -> list[RunRow]:
        """Runs that want to be driven and that nobody drives, the oldest first: `queued` ones, those whose
        driver is gone, those paused for `stop_reason`, those that have got an answer. Of an owner whose runs
        are limited, not more than there is room for. `after` is the run at which the page before ended."""
        ...

    async def claim_sweep(self, seconds: float) -> bool:
        """Whether nobody has looked for such runs for so long; then it is the caller's turn."""
        ...

    async def count_open(self, owner: str | None) -> tuple[int, int]:
        """How many runs of an owner (`None`: of all) are driven, and how many wait for their turn."""
        ...

    async def set_limit(self, owner: str, max_runs: int) -> None:
        """How many runs of an owner may be driven at once, on all machines together."""
        ...

    async def take_place(self, run_id: str, owner: str) -> bool:
        """Whether there is room for one more run of this owner; then it has the place until `leave_place`, or
        until this process is gone."""
        ...

    async def leave_place(self, run_id: str) -> None: ...


def shared(store: Store) -> SharedStore:
    """The store as one for many machines; `UsageError` if it is none."""
    if not is_postgres(store.url):
        raise UsageError(
            "Workers on several machines need a store that all of them reach.",
            hint="Name it with --store postgresql://HOST/DATABASE.",
        )
    return cast("SharedStore", cast("Any", store))
